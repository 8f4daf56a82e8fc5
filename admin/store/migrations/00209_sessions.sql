-- Entry to the console: sessions of browsers, links that open one, and passwords.

-- +goose Up

-- A session is of a member or, when member_id is empty, of an API token. idle_at is when it
-- ends if nothing more is asked, expires_at when it ends in any case.
CREATE TABLE sessions (
    workspace_id  TEXT    NOT NULL REFERENCES workspaces (id),
    id            TEXT    NOT NULL,
    hash          BYTEA   NOT NULL UNIQUE,
    member_id     TEXT    NOT NULL,
    token_id      TEXT    NOT NULL,
    opened_by     TEXT    NOT NULL,
    sets_password BOOLEAN NOT NULL,
    address       TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    created_at    BIGINT  NOT NULL,
    seen_at       BIGINT  NOT NULL,
    idle_at       BIGINT  NOT NULL,
    expires_at    BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX sessions_by_member ON sessions (workspace_id, member_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE login_links (
    workspace_id  TEXT    NOT NULL REFERENCES workspaces (id),
    id            TEXT    NOT NULL,
    hash          BYTEA   NOT NULL UNIQUE,
    member_id     TEXT    NOT NULL,
    token_id      TEXT    NOT NULL,
    sets_password BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    expires_at    BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE passwords (
    workspace_id TEXT   NOT NULL,
    member_id    TEXT   NOT NULL,
    hash         TEXT   NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, member_id),
    FOREIGN KEY (workspace_id, member_id) REFERENCES members (workspace_id, id) ON DELETE CASCADE
);
