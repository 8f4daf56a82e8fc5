-- The newest revisions of all toolsets are found without reading the others.

-- +goose Up

CREATE INDEX revisions_by_time ON revisions (workspace_id, created_at, toolset_id, n);
