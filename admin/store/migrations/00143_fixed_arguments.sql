-- Values of arguments that the model does not see.

-- +goose Up
ALTER TABLE toolsets ADD COLUMN connector_fixed TEXT NOT NULL DEFAULT '';
ALTER TABLE toolset_connectors ADD COLUMN fixed TEXT NOT NULL DEFAULT '';
ALTER TABLE tool_edits ADD COLUMN fixed TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE tool_edits DROP COLUMN fixed;
ALTER TABLE toolset_connectors DROP COLUMN fixed;
ALTER TABLE toolsets DROP COLUMN connector_fixed;
