-- People of a workspace and what they may do. A token with a member_id belongs to that
-- member and may never do more than they may; '' is a token of the workspace itself.

-- +goose Up
CREATE TABLE members (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    version      BIGINT NOT NULL,
    email        TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, email)
);
ALTER TABLE api_tokens ADD COLUMN member_id TEXT NOT NULL DEFAULT '';
CREATE INDEX api_tokens_by_member ON api_tokens (workspace_id, member_id);

-- +goose Down
DROP INDEX api_tokens_by_member;
ALTER TABLE api_tokens DROP COLUMN member_id;
DROP TABLE members;
