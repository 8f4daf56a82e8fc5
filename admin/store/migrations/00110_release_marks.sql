-- The newest release of each group of edges that this control plane began to publish,
-- written before the release: a registry that has a newer one tells of lost records.

-- +goose Up
CREATE TABLE release_marks (
  group_name TEXT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  noted_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE release_marks;
