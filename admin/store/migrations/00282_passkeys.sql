-- Passkeys (WebAuthn), with which members sign in to the console.

-- +goose Up

-- credential is the id that the authenticator gave it, the same nowhere else. public_key is a
-- COSE key. host is the name of the console that it was made at. doubted_at is when its
-- counter went back, as that of a copy does; 0: never.
CREATE TABLE passkeys (
    workspace_id TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    version      BIGINT  NOT NULL,
    member_id    TEXT    NOT NULL,
    credential   BYTEA   NOT NULL UNIQUE,
    public_key   BYTEA   NOT NULL,
    host         TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    transports   TEXT    NOT NULL,
    sign_count   BIGINT  NOT NULL,
    syncs        BOOLEAN NOT NULL,
    synced       BOOLEAN NOT NULL,
    created_at   BIGINT  NOT NULL,
    used_at      BIGINT  NOT NULL,
    doubted_at   BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, member_id) REFERENCES members (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX passkeys_by_member ON passkeys (workspace_id, member_id);
