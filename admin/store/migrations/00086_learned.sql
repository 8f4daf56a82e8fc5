-- Requests that tools were seen to serve, of toolsets that learn. uses is in
-- thousandths, as of last_at; it halves with time. A request that the operator deleted
-- stays without its text, blocked, so that it is not learned again.

-- +goose Up
CREATE TABLE learned_requests (
    workspace_id TEXT    NOT NULL,
    toolset_id   TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    query        TEXT    NOT NULL,
    uses         BIGINT  NOT NULL,
    first_at     BIGINT  NOT NULL,
    last_at      BIGINT  NOT NULL,
    blocked      BOOLEAN NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, method, path, digest)
);

-- +goose Down
DROP TABLE learned_requests;
