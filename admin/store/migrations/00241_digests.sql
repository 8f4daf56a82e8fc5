-- Deliveries that wait for the next digest of their channel.

-- +goose Up

ALTER TABLE deliveries ADD COLUMN digest BOOLEAN NOT NULL DEFAULT FALSE;
-- The message that it went with; '' it went with none.
ALTER TABLE deliveries ADD COLUMN digest_id TEXT NOT NULL DEFAULT '';
