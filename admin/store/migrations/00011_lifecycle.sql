-- The state of each published revision (see lifecycle.go), and which one a
-- rollback brought back: 0 is none.

-- +goose Up
ALTER TABLE revisions ADD COLUMN state TEXT NOT NULL DEFAULT 'superseded';
ALTER TABLE revisions ADD COLUMN restores BIGINT NOT NULL DEFAULT 0;
UPDATE revisions SET state = 'published' WHERE EXISTS (
    SELECT 1 FROM toolsets t WHERE t.workspace_id = revisions.workspace_id AND t.id = revisions.toolset_id AND t.live_revision = revisions.n
);

-- +goose Down
ALTER TABLE revisions DROP COLUMN restores;
ALTER TABLE revisions DROP COLUMN state;
