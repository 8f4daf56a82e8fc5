-- What happens when the MCP server of a toolset changes its tools: pin, warn, follow;
-- empty: pin.

-- +goose Up
ALTER TABLE toolsets ADD COLUMN upstream_policy TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE toolsets DROP COLUMN upstream_policy;
