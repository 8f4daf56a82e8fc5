-- Rules over usage, and which minutes of usage changed.

-- +goose Up

-- Rules that people added, and their settings of the presets. toolset_id '': of all toolsets.
CREATE TABLE alert_rules (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    version      BIGINT NOT NULL,
    name         TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    document     TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name, toolset_id)
);
CREATE INDEX alert_rules_by_toolset ON alert_rules (workspace_id, toolset_id);

-- How many reports were added to a minute of usage: who remembers the minute reads it again
-- when the number is another one.
CREATE TABLE usage_marks (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    reports      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute)
);
