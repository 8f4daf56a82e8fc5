-- Which keys the records belong to, so that a start with other ones is refused, and one
-- row that is written to see whether the database can be written.

-- +goose Up
CREATE TABLE control_keys (
    key_use    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (key_use, id)
);

CREATE TABLE write_probe (
    id         BIGINT NOT NULL PRIMARY KEY,
    written_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE write_probe;
DROP TABLE control_keys;
