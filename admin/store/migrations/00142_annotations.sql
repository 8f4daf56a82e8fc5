-- +goose Up

-- What an operator says of what a tool does, instead of what was generated: JSON,
-- empty for nothing.
ALTER TABLE tool_edits ADD COLUMN annotations TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tool_edits DROP COLUMN annotations;
