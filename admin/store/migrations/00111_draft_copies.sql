-- Copies of the drafts of toolsets: one of each published digest, for a roll-back, and
-- those that a roll-back kept aside under a name.

-- +goose Up
CREATE TABLE draft_copies (
    workspace_id TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    document     TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, kind, name),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE draft_copies;
