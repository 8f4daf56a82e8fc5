-- A toolset may have several connectors. Its first is in its own record, as ever;
-- the others are here. Each has a name inside the toolset that never changes.

-- +goose Up
ALTER TABLE toolsets ADD COLUMN connector_name TEXT NOT NULL DEFAULT '';
ALTER TABLE toolsets ADD COLUMN connector_answers TEXT NOT NULL DEFAULT '';
UPDATE toolsets SET connector_name = connector;

CREATE TABLE toolset_connectors (
    workspace_id     TEXT   NOT NULL,
    toolset_id       TEXT   NOT NULL,
    name             TEXT   NOT NULL,
    position         BIGINT NOT NULL,
    source_kind      TEXT   NOT NULL,
    source_url       TEXT   NOT NULL,
    source_title     TEXT   NOT NULL,
    connector        TEXT   NOT NULL,
    connector_digest TEXT   NOT NULL,
    base_url         TEXT   NOT NULL,
    answers          TEXT   NOT NULL,
    upstream_policy  TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, name),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, connector, connector_digest)
        REFERENCES connector_versions (workspace_id, connector, digest)
);

-- SQLite cannot change a primary key, so the table is made anew.
CREATE TABLE toolset_sources_next (
    workspace_id  TEXT   NOT NULL,
    toolset_id    TEXT   NOT NULL,
    connector     TEXT   NOT NULL,
    etag          TEXT   NOT NULL,
    last_modified TEXT   NOT NULL,
    overlays      TEXT   NOT NULL,
    checked_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, connector),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
INSERT INTO toolset_sources_next
SELECT s.workspace_id, s.toolset_id, t.connector, s.etag, s.last_modified, s.overlays, s.checked_at
FROM toolset_sources s JOIN toolsets t ON t.workspace_id = s.workspace_id AND t.id = s.toolset_id;
DROP TABLE toolset_sources;
ALTER TABLE toolset_sources_next RENAME TO toolset_sources;

ALTER TABLE toolset_changes ADD COLUMN connector TEXT NOT NULL DEFAULT '';
UPDATE toolset_changes SET connector = (
    SELECT t.connector FROM toolsets t WHERE t.workspace_id = toolset_changes.workspace_id AND t.id = toolset_changes.toolset_id
);

-- +goose Down
ALTER TABLE toolset_changes DROP COLUMN connector;
CREATE TABLE toolset_sources_before (
    workspace_id  TEXT   NOT NULL,
    toolset_id    TEXT   NOT NULL,
    etag          TEXT   NOT NULL,
    last_modified TEXT   NOT NULL,
    overlays      TEXT   NOT NULL,
    checked_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
INSERT INTO toolset_sources_before
SELECT s.workspace_id, s.toolset_id, s.etag, s.last_modified, s.overlays, s.checked_at
FROM toolset_sources s JOIN toolsets t ON t.workspace_id = s.workspace_id AND t.id = s.toolset_id AND t.connector_name = s.connector;
DROP TABLE toolset_sources;
ALTER TABLE toolset_sources_before RENAME TO toolset_sources;
DROP TABLE toolset_connectors;
ALTER TABLE toolsets DROP COLUMN connector_answers;
ALTER TABLE toolsets DROP COLUMN connector_name;
