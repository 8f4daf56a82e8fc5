-- The entry of the catalog that a connector of a toolset was made of, as JSON; empty: none.

-- +goose Up

ALTER TABLE toolsets ADD COLUMN connector_entry TEXT NOT NULL DEFAULT '';
ALTER TABLE toolset_connectors ADD COLUMN entry TEXT NOT NULL DEFAULT '';
