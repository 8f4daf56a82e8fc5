-- Usage of callers, for rules over it. Usage itself says nothing of single callers, and the
-- call log keeps as many calls as it has room for.

-- +goose Up

-- caller_kind 'other': the callers beyond those that are told apart.
CREATE TABLE caller_minutes (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    toolset_id   TEXT   NOT NULL,
    tool         TEXT   NOT NULL,
    caller_kind  TEXT   NOT NULL,
    caller       TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    errors       BIGINT NOT NULL,
    tokens       BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, caller_kind, caller)
);

-- tool is empty: of all.
CREATE TABLE caller_hours (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    toolset_id   TEXT   NOT NULL,
    tool         TEXT   NOT NULL,
    caller_kind  TEXT   NOT NULL,
    caller       TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    errors       BIGINT NOT NULL,
    tokens       BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, caller_kind, caller)
);
