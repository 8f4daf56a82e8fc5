-- Events, alerts and how they are delivered.

-- +goose Up

-- The connector that served a call; '' is of a call before this column, or of a workflow.
ALTER TABLE calls ADD COLUMN connector TEXT NOT NULL DEFAULT '';

-- What happened, written in the transaction of what happened. routed_at 0: still to be given
-- to the channels of the workspace.
CREATE TABLE events (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    seq          BIGINT NOT NULL,
    id           TEXT   NOT NULL UNIQUE,
    at           BIGINT NOT NULL,
    type         TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    severity     TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    alert_id     TEXT   NOT NULL,
    channel_id   TEXT   NOT NULL,
    document     TEXT   NOT NULL,
    routed_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE INDEX events_to_route ON events (workspace_id, seq) WHERE routed_at = 0;
CREATE INDEX events_by_alert ON events (workspace_id, alert_id, seq);
CREATE INDEX events_by_time ON events (at);

-- resolved_at 0: the alert is open, and there is one open alert of a key.
CREATE TABLE alerts (
    workspace_id  TEXT   NOT NULL REFERENCES workspaces (id),
    id            TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    dedup_key     TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    severity      TEXT   NOT NULL,
    state         TEXT   NOT NULL,
    stage         TEXT   NOT NULL,
    toolset_id    TEXT   NOT NULL,
    title         TEXT   NOT NULL,
    document      TEXT   NOT NULL,
    since         BIGINT NOT NULL,
    fired_at      BIGINT NOT NULL,
    absent_at     BIGINT NOT NULL,
    linger        BIGINT NOT NULL,
    handled_by    TEXT   NOT NULL,
    handled_at    BIGINT NOT NULL,
    note          TEXT   NOT NULL,
    snoozed_until BIGINT NOT NULL,
    resolved_at   BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX alerts_open ON alerts (workspace_id, dedup_key) WHERE resolved_at = 0;
CREATE INDEX alerts_resolved ON alerts (resolved_at);

-- How far a source of alerts has read what it reads in order.
CREATE TABLE alert_cursors (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    source       TEXT   NOT NULL,
    position     TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, source)
);

CREATE TABLE channels (
    workspace_id   TEXT    NOT NULL REFERENCES workspaces (id),
    id             TEXT    NOT NULL,
    version        BIGINT  NOT NULL,
    name           TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    settings       TEXT    NOT NULL,
    secret_version BIGINT  NOT NULL,
    sealed         BYTEA   NOT NULL,
    disabled       TEXT    NOT NULL,
    created_at     BIGINT  NOT NULL,
    updated_at     BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, name)
);

-- One event on its way to one channel. The id is the message's: it is the same in every
-- attempt.
CREATE TABLE deliveries (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    channel_id   TEXT   NOT NULL,
    event_seq    BIGINT NOT NULL,
    alert_id     TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    attempts     BIGINT NOT NULL,
    next_at      BIGINT NOT NULL,
    status       BIGINT NOT NULL,
    fault        TEXT   NOT NULL,
    log          TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, channel_id) REFERENCES channels (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX deliveries_due ON deliveries (workspace_id, channel_id, next_at) WHERE state = 'pending';
CREATE INDEX deliveries_in_order ON deliveries (workspace_id, channel_id, alert_id, event_seq) WHERE state = 'pending';
CREATE INDEX deliveries_ended ON deliveries (ended_at);
