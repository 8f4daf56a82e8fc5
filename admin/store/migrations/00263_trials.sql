-- Roll-outs of candidates beside live toolsets, and what nodes counted of them.

-- +goose Up

-- digest is of the candidate's bundle, live_digest of the one it is compared with. thresholds
-- and counts are JSON; times of 0 are none.
CREATE TABLE trials (
    workspace_id     TEXT   NOT NULL REFERENCES workspaces (id),
    id               TEXT   NOT NULL,
    toolset_id       TEXT   NOT NULL,
    mode             TEXT   NOT NULL,
    percent          BIGINT NOT NULL,
    repository       TEXT   NOT NULL,
    digest           TEXT   NOT NULL,
    connector_digest TEXT   NOT NULL,
    live_digest      TEXT   NOT NULL,
    live_revision    BIGINT NOT NULL,
    test_run_id      TEXT   NOT NULL,
    changes          TEXT   NOT NULL,
    thresholds       TEXT   NOT NULL,
    promote_at       BIGINT NOT NULL,
    state            TEXT   NOT NULL,
    reason           TEXT   NOT NULL,
    revision         BIGINT NOT NULL,
    counts           TEXT   NOT NULL,
    started_by       TEXT   NOT NULL,
    started_at       BIGINT NOT NULL,
    ended_at         BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX trials_running ON trials (workspace_id, toolset_id) WHERE state = 'running';
CREATE INDEX trials_by_toolset ON trials (workspace_id, toolset_id, started_at);
