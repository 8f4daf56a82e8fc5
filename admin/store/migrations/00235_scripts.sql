-- Runs of scripts, and calls that other tools make.

-- +goose Up

-- Of the calls, those that a workflow, a script or a batch made.
ALTER TABLE usage_minutes ADD COLUMN inner_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_hours ADD COLUMN inner_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN inner_call BOOLEAN NOT NULL DEFAULT FALSE;
-- Digest of the script that ran; '' none did.
ALTER TABLE calls ADD COLUMN script TEXT NOT NULL DEFAULT '';
-- The run of a script that succeeded, sealed; '' none was kept.
ALTER TABLE calls ADD COLUMN run BYTEA NOT NULL DEFAULT '';
