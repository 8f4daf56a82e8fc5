-- The operator's word that an MCP server keeps nothing of a caller between calls, so
-- that all callers of the toolset share one session.

-- +goose Up
ALTER TABLE toolsets ADD COLUMN stateless BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE toolset_connectors ADD COLUMN stateless BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE toolset_connectors DROP COLUMN stateless;
ALTER TABLE toolsets DROP COLUMN stateless;
