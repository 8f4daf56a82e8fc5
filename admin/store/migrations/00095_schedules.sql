-- When specifications are read again by themselves, and how that went.

-- +goose Up
ALTER TABLE toolset_sources ADD COLUMN every_seconds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE toolset_sources ADD COLUMN tried_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE toolset_sources ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE toolset_sources ADD COLUMN fault TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE toolset_sources DROP COLUMN fault;
ALTER TABLE toolset_sources DROP COLUMN failures;
ALTER TABLE toolset_sources DROP COLUMN tried_at;
ALTER TABLE toolset_sources DROP COLUMN every_seconds;
