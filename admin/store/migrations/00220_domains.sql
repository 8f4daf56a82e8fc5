-- Domains of toolsets and workspaces, and what the certificates of them are kept in.

-- +goose Up

-- toolset_id is NULL for a domain of the workspace. token is public: it is in DNS. Several
-- workspaces may say that a host is theirs; one can prove it.
CREATE TABLE domains (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    host         TEXT   NOT NULL,
    toolset_id   TEXT,
    version      BIGINT NOT NULL,
    token        TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    cause        TEXT   NOT NULL,
    issuer       TEXT   NOT NULL,
    not_before   BIGINT NOT NULL,
    not_after    BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    next_at      BIGINT NOT NULL,
    checked_at   BIGINT NOT NULL,
    verified_at  BIGINT NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, host),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX domains_proven ON domains (host) WHERE verified_at > 0;
CREATE INDEX domains_by_toolset ON domains (workspace_id, toolset_id, host);
CREATE INDEX domains_by_turn ON domains (next_at);

-- What the client of the certificate authority keeps: accounts, keys, certificates and
-- challenges, by path.
CREATE TABLE acme_values (
    path        TEXT   PRIMARY KEY,
    version     BIGINT NOT NULL,
    sealed      BYTEA  NOT NULL,
    size        BIGINT NOT NULL,
    modified_at BIGINT NOT NULL
);

-- A lock is free when its time is over. Each holder has a name of its own.
CREATE TABLE acme_locks (
    name       TEXT   PRIMARY KEY,
    holder     TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
