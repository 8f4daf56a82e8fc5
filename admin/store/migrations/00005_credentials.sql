-- +goose Up

-- A connector may be called with several credentials: one unique row becomes an
-- ordered list. SQLite cannot drop a constraint, so the table is made anew.
CREATE TABLE credentials_next (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    connector    TEXT   NOT NULL,
    position     BIGINT NOT NULL,
    auth_type    TEXT   NOT NULL,
    shape        TEXT   NOT NULL,
    sealed       BYTEA  NOT NULL,
    version      BIGINT NOT NULL,
    last4        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    rotated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
INSERT INTO credentials_next
SELECT workspace_id, id, toolset_id, connector, 0, auth_type, shape, sealed, version, last4, created_at, rotated_at FROM credentials;
DROP TABLE credentials;
ALTER TABLE credentials_next RENAME TO credentials;
CREATE INDEX credentials_by_toolset ON credentials (workspace_id, toolset_id, connector, position);

CREATE TABLE oauth_tokens (
    workspace_id  TEXT   NOT NULL,
    credential_id TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    expires_at    BIGINT NOT NULL,
    error         TEXT   NOT NULL,
    error_at      BIGINT NOT NULL,
    login         BYTEA  NOT NULL,
    login_expires BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, credential_id),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX oauth_tokens_by_expiry ON oauth_tokens (expires_at);

-- +goose Down
DROP TABLE oauth_tokens;
CREATE TABLE credentials_before (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    connector    TEXT   NOT NULL,
    auth_type    TEXT   NOT NULL,
    shape        TEXT   NOT NULL,
    sealed       BYTEA  NOT NULL,
    version      BIGINT NOT NULL,
    last4        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    rotated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, toolset_id, connector),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
INSERT INTO credentials_before
SELECT workspace_id, id, toolset_id, connector, auth_type, shape, sealed, version, last4, created_at, rotated_at FROM credentials WHERE position = 0;
DROP TABLE credentials;
ALTER TABLE credentials_before RENAME TO credentials;
