-- Workflow documents of toolsets.

-- +goose Up

-- JSON of the workflows that are tools, in their order; '' none.
ALTER TABLE toolsets ADD COLUMN workflows TEXT NOT NULL DEFAULT '';
