-- People who confirmed an e-mail address on the public page of connector requests.

-- +goose Up

-- sealed is the address. Votes and requests name the id.
CREATE TABLE request_people (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    sealed       BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
