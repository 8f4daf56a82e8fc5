-- The call log. seq is 1, 2, … in its workspace in the order in which calls arrived;
-- call_counters holds the last one, so that none is used twice when old ones are gone.
-- Times of day are milliseconds, durations microseconds.

-- +goose Up
CREATE TABLE calls (
    workspace_id  TEXT   NOT NULL,
    seq           BIGINT NOT NULL,
    node          TEXT   NOT NULL,
    at            BIGINT NOT NULL,
    toolset_id    TEXT   NOT NULL,
    tool          TEXT   NOT NULL,
    revision      BIGINT NOT NULL,
    outcome       TEXT   NOT NULL,
    cause         TEXT   NOT NULL,
    credential    TEXT   NOT NULL,
    status        BIGINT NOT NULL,
    cached        BOOLEAN NOT NULL,
    caller_kind   TEXT   NOT NULL,
    caller        TEXT   NOT NULL,
    request       TEXT   NOT NULL,
    trace         TEXT   NOT NULL,
    duration      BIGINT NOT NULL,
    prepare       BIGINT NOT NULL,
    upstream      BIGINT NOT NULL,
    shape         BIGINT NOT NULL,
    encode        BIGINT NOT NULL,
    bytes_before  BIGINT NOT NULL,
    bytes_after   BIGINT NOT NULL,
    tokens_before BIGINT NOT NULL,
    tokens_after  BIGINT NOT NULL,
    captured      BOOLEAN NOT NULL,
    arguments     TEXT   NOT NULL,
    answer        TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE INDEX calls_by_time ON calls (workspace_id, at, seq);

CREATE TABLE call_counters (
    workspace_id TEXT   NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL
);

CREATE TABLE calls_omitted (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    toolset_id   TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id)
);

ALTER TABLE toolset_access ADD COLUMN capture TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE toolset_access DROP COLUMN capture;
DROP TABLE calls_omitted;
DROP TABLE call_counters;
DROP TABLE calls;
