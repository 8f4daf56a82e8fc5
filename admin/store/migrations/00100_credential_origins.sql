-- Where a credential may be sent: JSON {"call": [origin], "token": [origin]}. '' is a
-- credential from before this was kept: it gets the origin of the live revision that
-- uses it when it is first read.

-- +goose Up
ALTER TABLE credentials ADD COLUMN origins TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE credentials DROP COLUMN origins;
