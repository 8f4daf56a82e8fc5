-- The descriptions of a tool's arguments, as a JSON object by name; empty: as generated.

-- +goose Up

ALTER TABLE tool_edits ADD COLUMN texts TEXT NOT NULL DEFAULT '';
