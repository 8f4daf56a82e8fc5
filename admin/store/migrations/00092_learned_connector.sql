-- What was learned is of a tool of one connector: toolsets of several may have the same
-- operation twice. '' is of a report of a node that did not say; it is the first
-- connector's that has the operation.

-- +goose Up
CREATE TABLE learned_requests_of (
    workspace_id TEXT    NOT NULL,
    toolset_id   TEXT    NOT NULL,
    connector    TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    query        TEXT    NOT NULL,
    uses         BIGINT  NOT NULL,
    first_at     BIGINT  NOT NULL,
    last_at      BIGINT  NOT NULL,
    blocked      BOOLEAN NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, connector, method, path, digest)
);
INSERT INTO learned_requests_of
SELECT l.workspace_id, l.toolset_id, COALESCE((
    SELECT t.connector_name FROM toolsets t WHERE t.workspace_id = l.workspace_id AND t.id = l.toolset_id
    AND NOT EXISTS (SELECT 1 FROM toolset_connectors c WHERE c.workspace_id = t.workspace_id AND c.toolset_id = t.id)
), ''), l.method, l.path, l.digest, l.query, l.uses, l.first_at, l.last_at, l.blocked
FROM learned_requests l;
DROP TABLE learned_requests;
ALTER TABLE learned_requests_of RENAME TO learned_requests;

-- +goose Down
CREATE TABLE learned_requests_of (
    workspace_id TEXT    NOT NULL,
    toolset_id   TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    query        TEXT    NOT NULL,
    uses         BIGINT  NOT NULL,
    first_at     BIGINT  NOT NULL,
    last_at      BIGINT  NOT NULL,
    blocked      BOOLEAN NOT NULL,
    PRIMARY KEY (workspace_id, toolset_id, method, path, digest)
);
INSERT INTO learned_requests_of
SELECT workspace_id, toolset_id, method, path, digest, query, uses, first_at, last_at, blocked FROM learned_requests
WHERE connector = (SELECT MIN(o.connector) FROM learned_requests o WHERE o.workspace_id = learned_requests.workspace_id AND o.toolset_id = learned_requests.toolset_id
    AND o.method = learned_requests.method AND o.path = learned_requests.path AND o.digest = learned_requests.digest);
DROP TABLE learned_requests;
ALTER TABLE learned_requests_of RENAME TO learned_requests;
