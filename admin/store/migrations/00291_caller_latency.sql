-- How long the calls of single callers took, for rules over it: minutes only, because latencies
-- are looked at over an hour at most.

-- +goose Up

ALTER TABLE caller_minutes ADD COLUMN duration BIGINT NOT NULL DEFAULT 0;
ALTER TABLE caller_minutes ADD COLUMN upstream BIGINT NOT NULL DEFAULT 0;
ALTER TABLE caller_minutes ADD COLUMN latency BYTEA NOT NULL DEFAULT '';
ALTER TABLE caller_minutes ADD COLUMN upstream_latency BYTEA NOT NULL DEFAULT '';
