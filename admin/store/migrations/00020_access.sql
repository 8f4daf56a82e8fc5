-- +goose Up
CREATE TABLE toolset_access (
    workspace_id TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    version      BIGINT NOT NULL,
    mode         TEXT   NOT NULL,
    settings     TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE access_tokens (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    hash         BYTEA  NOT NULL UNIQUE,
    last4        TEXT   NOT NULL,
    grants       TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX access_tokens_by_toolset ON access_tokens (workspace_id, toolset_id, id);

-- +goose Down
DROP TABLE access_tokens;
DROP TABLE toolset_access;
