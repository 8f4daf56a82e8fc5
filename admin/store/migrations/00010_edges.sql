-- Edges: nodes that follow this control plane, and the tokens they join with.
-- labels are JSON objects of text; '' is none.

-- +goose Up
CREATE TABLE edges (
    workspace_id   TEXT    NOT NULL REFERENCES workspaces (id),
    id             TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    labels         TEXT    NOT NULL,
    all_workspaces BOOLEAN NOT NULL,
    group_name     TEXT    NOT NULL,
    seal_key       BYTEA   NOT NULL,
    sign_key       BYTEA   NOT NULL,
    token_hash     BYTEA   NOT NULL UNIQUE,
    token_expires  BIGINT  NOT NULL,
    renewed_at     BIGINT  NOT NULL,
    status         TEXT    NOT NULL,
    seen_at        BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL,
    revoked_at     BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX edges_by_group ON edges (group_name);

CREATE TABLE edge_join_tokens (
    workspace_id   TEXT    NOT NULL REFERENCES workspaces (id),
    id             TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    hash           BYTEA   NOT NULL UNIQUE,
    labels         TEXT    NOT NULL,
    all_workspaces BOOLEAN NOT NULL,
    max_uses       BIGINT  NOT NULL,
    uses           BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL,
    expires_at     BIGINT  NOT NULL,
    revoked_at     BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

ALTER TABLE toolsets ADD COLUMN labels TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE toolsets DROP COLUMN labels;
DROP TABLE edge_join_tokens;
DROP TABLE edges;
