-- Grants of private addresses are of one toolset and of an address that was seen. Those
-- from before were of a name and of every toolset: whose they are is not known, so they
-- are not kept.

-- +goose Up
DROP TABLE grants;
CREATE TABLE grants (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    address      TEXT   NOT NULL,
    host         TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, toolset_id, address),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE grants;
CREATE TABLE grants (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    host_port    TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, host_port)
);
