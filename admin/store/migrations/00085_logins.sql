-- OAuth towards upstreams beyond one configured client: clients that were found or
-- registered, logins before there is a toolset, and logins of single callers.

-- +goose Up
CREATE TABLE oauth_clients (
    workspace_id  TEXT   NOT NULL,
    credential_id TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, credential_id),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);

-- A login has no credential yet when it is for a server that is no toolset.
CREATE TABLE oauth_logins (
    workspace_id  TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    credential_id TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    state         TEXT   NOT NULL,
    error         TEXT   NOT NULL,
    expires_at    BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX oauth_logins_by_expiry ON oauth_logins (expires_at);

CREATE TABLE user_tokens (
    workspace_id  TEXT   NOT NULL,
    credential_id TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    user_key      TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    issuer        TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    expires_at    BIGINT NOT NULL,
    error         TEXT   NOT NULL,
    error_at      BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, credential_id, user_key),
    UNIQUE (workspace_id, id),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE user_tokens;
DROP TABLE oauth_logins;
DROP TABLE oauth_clients;
