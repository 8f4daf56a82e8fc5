-- Usage: what nodes counted, by minute and by hour, and which of their reports were
-- applied. minute is its beginning in seconds since 1970; times are microseconds;
-- the histograms are those of package rollup.

-- +goose Up
CREATE TABLE usage_minutes (
    workspace_id     TEXT   NOT NULL,
    minute           BIGINT NOT NULL,
    toolset_id       TEXT   NOT NULL,
    tool             TEXT   NOT NULL,
    outcome          TEXT   NOT NULL,
    credential       TEXT   NOT NULL,
    calls            BIGINT NOT NULL,
    cached           BIGINT NOT NULL,
    bytes_before     BIGINT NOT NULL,
    bytes_after      BIGINT NOT NULL,
    tokens_before    BIGINT NOT NULL,
    tokens_after     BIGINT NOT NULL,
    duration         BIGINT NOT NULL,
    upstream         BIGINT NOT NULL,
    plugins          BIGINT NOT NULL,
    latency          BYTEA  NOT NULL,
    upstream_latency BYTEA  NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, outcome, credential)
);

CREATE TABLE usage_hours (
    workspace_id     TEXT   NOT NULL,
    minute           BIGINT NOT NULL,
    toolset_id       TEXT   NOT NULL,
    tool             TEXT   NOT NULL,
    outcome          TEXT   NOT NULL,
    credential       TEXT   NOT NULL,
    calls            BIGINT NOT NULL,
    cached           BIGINT NOT NULL,
    bytes_before     BIGINT NOT NULL,
    bytes_after      BIGINT NOT NULL,
    tokens_before    BIGINT NOT NULL,
    tokens_after     BIGINT NOT NULL,
    duration         BIGINT NOT NULL,
    upstream         BIGINT NOT NULL,
    plugins          BIGINT NOT NULL,
    latency          BYTEA  NOT NULL,
    upstream_latency BYTEA  NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, outcome, credential)
);

CREATE TABLE usage_causes (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    toolset_id   TEXT   NOT NULL,
    tool         TEXT   NOT NULL,
    cause        TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, cause)
);

CREATE TABLE usage_samples (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    node         TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    tool         TEXT   NOT NULL,
    outcome      TEXT   NOT NULL,
    cause        TEXT   NOT NULL,
    status       BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    text         TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX usage_samples_by_time ON usage_samples (workspace_id, at);

CREATE TABLE usage_nodes (
    node       TEXT   NOT NULL,
    epoch      TEXT   NOT NULL,
    floor      BIGINT NOT NULL,
    ahead      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (node, epoch)
);

-- +goose Down
DROP TABLE usage_nodes;
DROP TABLE usage_samples;
DROP TABLE usage_causes;
DROP TABLE usage_hours;
DROP TABLE usage_minutes;
