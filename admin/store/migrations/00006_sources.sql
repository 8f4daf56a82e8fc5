-- Where a toolset's specification comes from, beyond its URL, and what became of
-- the toolset each time it was read again.

-- +goose Up
CREATE TABLE toolset_sources (
    workspace_id  TEXT   NOT NULL,
    toolset_id    TEXT   NOT NULL,
    etag          TEXT   NOT NULL,
    last_modified TEXT   NOT NULL,
    overlays      TEXT   NOT NULL,
    checked_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE toolset_changes (
    workspace_id TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    from_digest  TEXT   NOT NULL,
    to_digest    TEXT   NOT NULL,
    from_version TEXT   NOT NULL,
    to_version   TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    report       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX toolset_changes_by_toolset ON toolset_changes (workspace_id, toolset_id, id);

-- +goose Down
DROP TABLE toolset_changes;
DROP TABLE toolset_sources;
