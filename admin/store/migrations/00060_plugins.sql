-- Third-party plugins: who may publish, what was published, and which plugins a
-- toolset binds (JSON).

-- +goose Up
CREATE TABLE publisher_keys (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    public_key   BYTEA  NOT NULL,
    algorithm    TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    reason       TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE plugin_versions (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    name         TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    description  TEXT   NOT NULL,
    repository   TEXT   NOT NULL,
    tag          TEXT   NOT NULL,
    manifest     TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    config       TEXT   NOT NULL,
    size_bytes   BIGINT NOT NULL,
    document     TEXT   NOT NULL,
    key_id       TEXT   NOT NULL,
    cases        BYTEA  NOT NULL,
    report       TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    yanked_at    BIGINT NOT NULL,
    yank_reason  TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, name, version),
    FOREIGN KEY (workspace_id, key_id) REFERENCES publisher_keys (workspace_id, id)
);
CREATE INDEX plugin_versions_by_key ON plugin_versions (workspace_id, key_id);

CREATE TABLE plugin_usage (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    name         TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    errors       BIGINT NOT NULL,
    traps        BIGINT NOT NULL,
    deadlines    BIGINT NOT NULL,
    unbound      BIGINT NOT NULL,
    micros       BIGINT NOT NULL,
    bytes_in     BIGINT NOT NULL,
    bytes_out    BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name, version)
);

ALTER TABLE toolsets ADD COLUMN plugins TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE toolsets DROP COLUMN plugins;
DROP TABLE plugin_usage;
DROP TABLE plugin_versions;
DROP TABLE publisher_keys;
