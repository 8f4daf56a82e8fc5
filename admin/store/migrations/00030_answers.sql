-- +goose Up

-- What an operator makes of answers: JSON, empty for nothing.
ALTER TABLE toolsets ADD COLUMN answers TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_edits ADD COLUMN answers TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tool_edits DROP COLUMN answers;
ALTER TABLE toolsets DROP COLUMN answers;
