-- When those who asked and voted were last told that a connector is there; 0: never.

-- +goose Up

ALTER TABLE connector_requests ADD COLUMN told_at BIGINT NOT NULL DEFAULT 0;
UPDATE connector_requests SET told_at = updated_at WHERE state = 'published';
