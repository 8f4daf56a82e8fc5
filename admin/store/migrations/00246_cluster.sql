-- Control planes that share a database.

-- +goose Up

-- The one that leads, in one row: number grows with each that takes over, and a write that
-- began under an older number is refused. url is empty until it serves.
CREATE TABLE cluster_leader (
    id         BIGINT PRIMARY KEY,
    number     BIGINT NOT NULL,
    member     TEXT   NOT NULL,
    url        TEXT   NOT NULL,
    pin        TEXT   NOT NULL,
    keys       TEXT   NOT NULL,
    sealed     BYTEA,
    since      BIGINT NOT NULL
);

-- Those that were seen lately, the leader among them.
CREATE TABLE cluster_members (
    name       TEXT   PRIMARY KEY,
    url        TEXT   NOT NULL,
    version    TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);
