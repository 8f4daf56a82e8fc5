-- Why, since when and by whom a toolset is paused, as JSON; empty: it serves.

-- +goose Up

ALTER TABLE toolset_access ADD COLUMN paused TEXT NOT NULL DEFAULT '';
