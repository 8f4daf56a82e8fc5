-- Portable SQL: the same text runs on SQLite and PostgreSQL. Times are Unix
-- milliseconds (BIGINT), documents are JSON in TEXT, bytes are BYTEA (which
-- SQLite stores as they are). Every table but workspaces carries workspace_id,
-- and its keys start with it.

-- +goose Up
CREATE TABLE workspaces (
    id         TEXT   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE api_tokens (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    hash         BYTEA  NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE specifications (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    digest       TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    url          TEXT   NOT NULL,
    format       TEXT   NOT NULL,
    spec_version TEXT   NOT NULL,
    size_bytes   BIGINT NOT NULL,
    content      BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, digest)
);

CREATE TABLE connectors (
    workspace_id  TEXT   NOT NULL REFERENCES workspaces (id),
    name          TEXT   NOT NULL,
    title         TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    source        TEXT   NOT NULL,
    latest_digest TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

CREATE TABLE connector_versions (
    workspace_id TEXT   NOT NULL,
    connector    TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    manifest     TEXT   NOT NULL,
    repository   TEXT   NOT NULL,
    tag          TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    spec_digest  TEXT   NOT NULL,
    tools        BIGINT NOT NULL,
    report       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, connector, digest),
    FOREIGN KEY (workspace_id, connector) REFERENCES connectors (workspace_id, name),
    FOREIGN KEY (workspace_id, spec_digest) REFERENCES specifications (workspace_id, digest)
);

CREATE TABLE toolsets (
    workspace_id     TEXT   NOT NULL REFERENCES workspaces (id),
    id               TEXT   NOT NULL,
    version          BIGINT NOT NULL,
    slug             TEXT   NOT NULL UNIQUE,
    name             TEXT   NOT NULL,
    description      TEXT   NOT NULL,
    instructions     TEXT   NOT NULL,
    source_kind      TEXT   NOT NULL,
    source_url       TEXT   NOT NULL,
    source_title     TEXT   NOT NULL,
    connector        TEXT   NOT NULL,
    connector_digest TEXT   NOT NULL,
    base_url         TEXT   NOT NULL,
    profile          TEXT   NOT NULL,
    cache_seconds    BIGINT NOT NULL,
    enabled_tools    BIGINT NOT NULL,
    draft_digest     TEXT   NOT NULL,
    live_digest      TEXT   NOT NULL,
    live_repository  TEXT   NOT NULL,
    live_revision    BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, connector, connector_digest)
        REFERENCES connector_versions (workspace_id, connector, digest)
);

CREATE TABLE tool_edits (
    workspace_id TEXT    NOT NULL,
    toolset_id   TEXT    NOT NULL,
    connector    TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    name         TEXT,
    title        TEXT,
    description  TEXT,
    disabled     BOOLEAN NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, connector, method, path),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE credentials (
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

CREATE TABLE test_runs (
    workspace_id       TEXT    NOT NULL,
    id                 TEXT    NOT NULL,
    toolset_id         TEXT    NOT NULL,
    digest             TEXT    NOT NULL,
    credential_version BIGINT  NOT NULL,
    tool               TEXT    NOT NULL,
    arguments_hash     TEXT    NOT NULL,
    passed             BOOLEAN NOT NULL,
    outcome            TEXT    NOT NULL,
    answer_hash        TEXT    NOT NULL,
    created_at         BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX test_runs_by_digest ON test_runs (workspace_id, toolset_id, digest, id);

CREATE TABLE revisions (
    workspace_id     TEXT   NOT NULL,
    toolset_id       TEXT   NOT NULL,
    n                BIGINT NOT NULL,
    digest           TEXT   NOT NULL,
    repository       TEXT   NOT NULL,
    connector_digest TEXT   NOT NULL,
    author           TEXT   NOT NULL,
    reason           TEXT   NOT NULL,
    test_run_id      TEXT   NOT NULL,
    created_at       BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, n),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE jobs (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    phase        TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    result       TEXT   NOT NULL,
    error        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE idempotency_keys (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    token_id     TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    fingerprint  TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    status       BIGINT NOT NULL,
    headers      TEXT   NOT NULL,
    body         BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, token_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE TABLE audit_records (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    seq          BIGINT NOT NULL,
    id           TEXT   NOT NULL UNIQUE,
    at           BIGINT NOT NULL,
    actor_type   TEXT   NOT NULL,
    actor_id     TEXT   NOT NULL,
    actor_ip     TEXT   NOT NULL,
    action       TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    before_json  TEXT   NOT NULL,
    after_json   TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    request_id   TEXT   NOT NULL,
    outcome      TEXT   NOT NULL,
    previous     BYTEA  NOT NULL,
    hash         BYTEA  NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);

CREATE TABLE grants (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    host_port    TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, host_port)
);

-- +goose Down
DROP TABLE grants;
DROP TABLE audit_records;
DROP TABLE idempotency_keys;
DROP TABLE jobs;
DROP TABLE revisions;
DROP TABLE test_runs;
DROP TABLE credentials;
DROP TABLE tool_edits;
DROP TABLE toolsets;
DROP TABLE connector_versions;
DROP TABLE connectors;
DROP TABLE specifications;
DROP TABLE api_tokens;
DROP TABLE workspaces;
