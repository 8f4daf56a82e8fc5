-- How a toolset chooses the tools that clients list: a JSON document.

-- +goose Up
ALTER TABLE toolsets ADD COLUMN selection TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE toolsets DROP COLUMN selection;
