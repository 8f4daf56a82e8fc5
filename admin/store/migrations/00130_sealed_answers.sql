-- +goose Up
-- Answers kept for repeated requests are sealed from now on. What is there is in
-- plain and is good for another day at most, so it goes.
DELETE FROM idempotency_keys;
ALTER TABLE idempotency_keys DROP COLUMN headers;
ALTER TABLE idempotency_keys DROP COLUMN body;
ALTER TABLE idempotency_keys ADD COLUMN sealed BYTEA NOT NULL DEFAULT '';

-- +goose Down
DELETE FROM idempotency_keys;
ALTER TABLE idempotency_keys DROP COLUMN sealed;
ALTER TABLE idempotency_keys ADD COLUMN headers TEXT NOT NULL DEFAULT '{}';
ALTER TABLE idempotency_keys ADD COLUMN body BYTEA NOT NULL DEFAULT '';
