-- Connectors that people ask for, and their votes.

-- +goose Up

-- votes is the number of rows in connector_votes, for lists in their order. comments is JSON.
CREATE TABLE connector_requests (
    workspace_id  TEXT   NOT NULL REFERENCES workspaces (id),
    id            TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    name          TEXT   NOT NULL,
    website       TEXT   NOT NULL,
    documentation TEXT   NOT NULL,
    use_case      TEXT   NOT NULL,
    volume        TEXT   NOT NULL,
    state         TEXT   NOT NULL,
    entry         TEXT   NOT NULL,
    reason        TEXT   NOT NULL,
    comments      TEXT   NOT NULL,
    votes         BIGINT NOT NULL,
    requested_by  TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX connector_requests_by_votes ON connector_requests (workspace_id, votes DESC, id);
CREATE INDEX connector_requests_by_person ON connector_requests (workspace_id, requested_by, created_at);

CREATE TABLE connector_votes (
    workspace_id TEXT   NOT NULL,
    request_id   TEXT   NOT NULL,
    voter        TEXT   NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, request_id, voter),
    FOREIGN KEY (workspace_id, request_id) REFERENCES connector_requests (workspace_id, id) ON DELETE CASCADE
);
