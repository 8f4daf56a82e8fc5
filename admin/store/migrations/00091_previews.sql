-- Previews of drafts: a signed release of one draft with a time limit, one for each
-- toolset. id is in the URL of the preview and known to nobody who was not told.

-- +goose Up
CREATE TABLE previews (
    workspace_id TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    id           TEXT   NOT NULL UNIQUE,
    digest       TEXT   NOT NULL,
    repository   TEXT   NOT NULL,
    envelope     BYTEA  NOT NULL,
    actor        TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE previews;
