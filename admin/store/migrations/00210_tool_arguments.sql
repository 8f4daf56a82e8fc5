-- The arguments of a tool that clients list, as a JSON list of names; empty: all.

-- +goose Up

ALTER TABLE tool_edits ADD COLUMN arguments TEXT NOT NULL DEFAULT '';
