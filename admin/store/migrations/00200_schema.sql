-- The schema. Portable SQL: the same text runs on SQLite and PostgreSQL. Times are Unix
-- milliseconds (BIGINT), documents are JSON in TEXT, bytes are BYTEA (which SQLite stores as
-- they are). Every table of a workspace carries workspace_id, and its keys start with it.

-- +goose Up

CREATE TABLE workspaces (
    id         TEXT   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- People of a workspace. A token with a member_id belongs to that member and never does more
-- than they may; '' is a token of the workspace itself.
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

CREATE TABLE api_tokens (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    hash         BYTEA  NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    member_id    TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX api_tokens_by_member ON api_tokens (workspace_id, member_id);

CREATE TABLE specifications (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    digest       TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    url          TEXT   NOT NULL,
    format       TEXT   NOT NULL,
    spec_version TEXT   NOT NULL,
    size_bytes   BIGINT NOT NULL,
    content      BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, digest)
);

CREATE TABLE connectors (
    workspace_id  TEXT   NOT NULL REFERENCES workspaces (id),
    name          TEXT   NOT NULL,
    title         TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    source        TEXT   NOT NULL,
    latest_digest TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

CREATE TABLE connector_versions (
    workspace_id TEXT   NOT NULL,
    connector    TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    manifest     TEXT   NOT NULL,
    repository   TEXT   NOT NULL,
    tag          TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    spec_digest  TEXT   NOT NULL,
    tools        BIGINT NOT NULL,
    report       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, connector, digest),
    FOREIGN KEY (workspace_id, connector) REFERENCES connectors (workspace_id, name),
    FOREIGN KEY (workspace_id, spec_digest) REFERENCES specifications (workspace_id, digest)
);

CREATE TABLE toolsets (
    workspace_id      TEXT    NOT NULL REFERENCES workspaces (id),
    id                TEXT    NOT NULL,
    version           BIGINT  NOT NULL,
    slug              TEXT    NOT NULL UNIQUE,
    name              TEXT    NOT NULL,
    description       TEXT    NOT NULL,
    instructions      TEXT    NOT NULL,
    source_kind       TEXT    NOT NULL,
    source_url        TEXT    NOT NULL,
    source_title      TEXT    NOT NULL,
    connector         TEXT    NOT NULL,
    connector_digest  TEXT    NOT NULL,
    base_url          TEXT    NOT NULL,
    profile           TEXT    NOT NULL,
    cache_seconds     BIGINT  NOT NULL,
    enabled_tools     BIGINT  NOT NULL,
    draft_digest      TEXT    NOT NULL,
    live_digest       TEXT    NOT NULL,
    live_repository   TEXT    NOT NULL,
    live_revision     BIGINT  NOT NULL,
    created_at        BIGINT  NOT NULL,
    updated_at        BIGINT  NOT NULL,
    labels            TEXT    NOT NULL DEFAULT '',
    answers           TEXT    NOT NULL DEFAULT '',
    selection         TEXT    NOT NULL DEFAULT '',
    plugins           TEXT    NOT NULL DEFAULT '',
    upstream_policy   TEXT    NOT NULL DEFAULT '',
    connector_name    TEXT    NOT NULL DEFAULT '',
    connector_answers TEXT    NOT NULL DEFAULT '',
    stateless         BOOLEAN NOT NULL DEFAULT FALSE,
    connector_fixed   TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, connector, connector_digest) REFERENCES connector_versions (workspace_id, connector, digest)
);

CREATE TABLE toolset_connectors (
    workspace_id     TEXT    NOT NULL,
    toolset_id       TEXT    NOT NULL,
    name             TEXT    NOT NULL,
    position         BIGINT  NOT NULL,
    source_kind      TEXT    NOT NULL,
    source_url       TEXT    NOT NULL,
    source_title     TEXT    NOT NULL,
    connector        TEXT    NOT NULL,
    connector_digest TEXT    NOT NULL,
    base_url         TEXT    NOT NULL,
    answers          TEXT    NOT NULL,
    upstream_policy  TEXT    NOT NULL,
    stateless        BOOLEAN NOT NULL DEFAULT FALSE,
    fixed            TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, toolset_id, name),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, connector, connector_digest) REFERENCES connector_versions (workspace_id, connector, digest)
);

-- Where a specification comes from, beyond its URL, when it is read again, and how that went.
CREATE TABLE toolset_sources (
    workspace_id  TEXT   NOT NULL,
    toolset_id    TEXT   NOT NULL,
    connector     TEXT   NOT NULL,
    etag          TEXT   NOT NULL,
    last_modified TEXT   NOT NULL,
    overlays      TEXT   NOT NULL,
    checked_at    BIGINT NOT NULL,
    every_seconds BIGINT NOT NULL DEFAULT 0,
    tried_at      BIGINT NOT NULL DEFAULT 0,
    failures      BIGINT NOT NULL DEFAULT 0,
    fault         TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, toolset_id, connector),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

-- What became of a toolset each time its specification was read again.
CREATE TABLE toolset_changes (
    workspace_id TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    from_digest  TEXT   NOT NULL,
    to_digest    TEXT   NOT NULL,
    from_version TEXT   NOT NULL,
    to_version   TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    report       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    connector    TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX toolset_changes_by_toolset ON toolset_changes (workspace_id, toolset_id, id);

CREATE TABLE tool_edits (
    workspace_id TEXT    NOT NULL,
    toolset_id   TEXT    NOT NULL,
    connector    TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    name         TEXT,
    title        TEXT,
    description  TEXT,
    disabled     BOOLEAN NOT NULL,
    answers      TEXT    NOT NULL DEFAULT '',
    annotations  TEXT    NOT NULL DEFAULT '',
    fixed        TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, toolset_id, connector, method, path),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

-- Copies of drafts: one of each published digest, for a roll-back, and those that a roll-back
-- set aside under a name.
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

CREATE TABLE test_runs (
    workspace_id       TEXT    NOT NULL,
    id                 TEXT    NOT NULL,
    toolset_id         TEXT    NOT NULL,
    digest             TEXT    NOT NULL,
    credential_version BIGINT  NOT NULL,
    tool               TEXT    NOT NULL,
    arguments_hash     TEXT    NOT NULL,
    passed             BOOLEAN NOT NULL,
    outcome            TEXT    NOT NULL,
    answer_hash        TEXT    NOT NULL,
    created_at         BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX test_runs_by_digest ON test_runs (workspace_id, toolset_id, digest, id);

CREATE TABLE revisions (
    workspace_id     TEXT   NOT NULL,
    toolset_id       TEXT   NOT NULL,
    n                BIGINT NOT NULL,
    digest           TEXT   NOT NULL,
    repository       TEXT   NOT NULL,
    connector_digest TEXT   NOT NULL,
    author           TEXT   NOT NULL,
    reason           TEXT   NOT NULL,
    test_run_id      TEXT   NOT NULL,
    created_at       BIGINT NOT NULL,
    state            TEXT   NOT NULL DEFAULT 'superseded',
    restores         BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, toolset_id, n),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

-- A preview is a signed release of one draft with a time limit, one for each toolset. Its id
-- is in the URL of the preview.
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

-- origins is where a credential may be sent: JSON {"call": [origin], "token": [origin]}; '' gets
-- the origin of the live revision that uses it when it is first read.
CREATE TABLE credentials (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    connector    TEXT   NOT NULL,
    position     BIGINT NOT NULL,
    auth_type    TEXT   NOT NULL,
    shape        TEXT   NOT NULL,
    sealed       BYTEA  NOT NULL,
    version      BIGINT NOT NULL,
    last4        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    rotated_at   BIGINT NOT NULL,
    origins      TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX credentials_by_toolset ON credentials (workspace_id, toolset_id, connector, position);

-- OAuth clients that were found or registered, not configured.
CREATE TABLE oauth_clients (
    workspace_id  TEXT   NOT NULL,
    credential_id TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, credential_id),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);

-- What authorization servers gave for a credential: '' of user_key is what all calls of
-- the toolset use, every other row belongs to one caller.
CREATE TABLE oauth_tokens (
    workspace_id  TEXT   NOT NULL,
    credential_id TEXT   NOT NULL,
    user_key      TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    issuer        TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    expires_at    BIGINT NOT NULL,
    error         TEXT   NOT NULL,
    error_at      BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, credential_id, user_key),
    UNIQUE (workspace_id, id),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX oauth_tokens_by_expiry ON oauth_tokens (user_key, expires_at);

-- Logins that a person begins and finishes in a browser: for a credential, for a server
-- that is no toolset yet (credential_id is NULL), or for one caller of a toolset.
CREATE TABLE oauth_logins (
    workspace_id  TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    purpose       TEXT   NOT NULL,
    credential_id TEXT,
    version       BIGINT NOT NULL,
    sealed        BYTEA  NOT NULL,
    state         TEXT   NOT NULL,
    error         TEXT   NOT NULL,
    expires_at    BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, credential_id) REFERENCES credentials (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX oauth_logins_by_credential ON oauth_logins (workspace_id, credential_id, purpose);
CREATE INDEX oauth_logins_by_expiry ON oauth_logins (expires_at);

CREATE TABLE toolset_access (
    workspace_id TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    version      BIGINT NOT NULL,
    mode         TEXT   NOT NULL,
    settings     TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    updated_at   BIGINT NOT NULL,
    capture      TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, toolset_id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE access_tokens (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    hash         BYTEA  NOT NULL UNIQUE,
    last4        TEXT   NOT NULL,
    grants       TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX access_tokens_by_toolset ON access_tokens (workspace_id, toolset_id, id);

-- A grant lets one toolset call one private address.
CREATE TABLE grants (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    address      TEXT   NOT NULL,
    host         TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, toolset_id, address),
    FOREIGN KEY (workspace_id, toolset_id) REFERENCES toolsets (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE jobs (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    phase        TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    result       TEXT   NOT NULL,
    error        TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

-- Answers kept for repeated requests, sealed.
CREATE TABLE idempotency_keys (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    token_id     TEXT   NOT NULL,
    key          TEXT   NOT NULL,
    fingerprint  TEXT   NOT NULL,
    state        TEXT   NOT NULL,
    status       BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    sealed       BYTEA  NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, token_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE TABLE audit_records (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    seq          BIGINT NOT NULL,
    id           TEXT   NOT NULL UNIQUE,
    at           BIGINT NOT NULL,
    actor_type   TEXT   NOT NULL,
    actor_id     TEXT   NOT NULL,
    actor_ip     TEXT   NOT NULL,
    action       TEXT   NOT NULL,
    resource     TEXT   NOT NULL,
    before_json  TEXT   NOT NULL,
    after_json   TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    request_id   TEXT   NOT NULL,
    outcome      TEXT   NOT NULL,
    previous     BYTEA  NOT NULL,
    hash         BYTEA  NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);

-- Edges are nodes that follow this control plane. labels are JSON objects of text; '' is none.
CREATE TABLE edges (
    workspace_id   TEXT    NOT NULL REFERENCES workspaces (id),
    id             TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    labels         TEXT    NOT NULL,
    all_workspaces BOOLEAN NOT NULL,
    group_name     TEXT    NOT NULL,
    seal_key       BYTEA   NOT NULL,
    sign_key       BYTEA   NOT NULL,
    token_hash     BYTEA   NOT NULL UNIQUE,
    token_expires  BIGINT  NOT NULL,
    renewed_at     BIGINT  NOT NULL,
    status         TEXT    NOT NULL,
    seen_at        BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL,
    revoked_at     BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX edges_by_group ON edges (group_name);

-- Tokens that edges join with.
CREATE TABLE edge_join_tokens (
    workspace_id   TEXT    NOT NULL REFERENCES workspaces (id),
    id             TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    hash           BYTEA   NOT NULL UNIQUE,
    labels         TEXT    NOT NULL,
    all_workspaces BOOLEAN NOT NULL,
    max_uses       BIGINT  NOT NULL,
    uses           BIGINT  NOT NULL,
    created_at     BIGINT  NOT NULL,
    expires_at     BIGINT  NOT NULL,
    revoked_at     BIGINT  NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE usage_minutes (
    workspace_id     TEXT   NOT NULL,
    minute           BIGINT NOT NULL,
    toolset_id       TEXT   NOT NULL,
    tool             TEXT   NOT NULL,
    outcome          TEXT   NOT NULL,
    credential       TEXT   NOT NULL,
    calls            BIGINT NOT NULL,
    cached           BIGINT NOT NULL,
    bytes_before     BIGINT NOT NULL,
    bytes_after      BIGINT NOT NULL,
    tokens_before    BIGINT NOT NULL,
    tokens_after     BIGINT NOT NULL,
    duration         BIGINT NOT NULL,
    upstream         BIGINT NOT NULL,
    plugins          BIGINT NOT NULL,
    latency          BYTEA  NOT NULL,
    upstream_latency BYTEA  NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, outcome, credential)
);

CREATE TABLE usage_hours (
    workspace_id     TEXT   NOT NULL,
    minute           BIGINT NOT NULL,
    toolset_id       TEXT   NOT NULL,
    tool             TEXT   NOT NULL,
    outcome          TEXT   NOT NULL,
    credential       TEXT   NOT NULL,
    calls            BIGINT NOT NULL,
    cached           BIGINT NOT NULL,
    bytes_before     BIGINT NOT NULL,
    bytes_after      BIGINT NOT NULL,
    tokens_before    BIGINT NOT NULL,
    tokens_after     BIGINT NOT NULL,
    duration         BIGINT NOT NULL,
    upstream         BIGINT NOT NULL,
    plugins          BIGINT NOT NULL,
    latency          BYTEA  NOT NULL,
    upstream_latency BYTEA  NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, outcome, credential)
);

CREATE TABLE usage_causes (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    toolset_id   TEXT   NOT NULL,
    tool         TEXT   NOT NULL,
    cause        TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id, tool, cause)
);

CREATE TABLE usage_samples (
    workspace_id TEXT   NOT NULL,
    id           TEXT   NOT NULL,
    node         TEXT   NOT NULL,
    toolset_id   TEXT   NOT NULL,
    tool         TEXT   NOT NULL,
    outcome      TEXT   NOT NULL,
    cause        TEXT   NOT NULL,
    status       BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    text         TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX usage_samples_by_time ON usage_samples (workspace_id, at);

CREATE TABLE usage_nodes (
    node       TEXT   NOT NULL,
    epoch      TEXT   NOT NULL,
    floor      BIGINT NOT NULL,
    ahead      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (node, epoch)
);

CREATE TABLE publisher_keys (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    id           TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    public_key   BYTEA  NOT NULL,
    algorithm    TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    reason       TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE plugin_versions (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    name         TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    description  TEXT   NOT NULL,
    repository   TEXT   NOT NULL,
    tag          TEXT   NOT NULL,
    manifest     TEXT   NOT NULL,
    digest       TEXT   NOT NULL,
    config       TEXT   NOT NULL,
    size_bytes   BIGINT NOT NULL,
    document     TEXT   NOT NULL,
    key_id       TEXT   NOT NULL,
    cases        BYTEA  NOT NULL,
    report       TEXT   NOT NULL,
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    yanked_at    BIGINT NOT NULL,
    yank_reason  TEXT   NOT NULL,
    PRIMARY KEY (workspace_id, name, version),
    FOREIGN KEY (workspace_id, key_id) REFERENCES publisher_keys (workspace_id, id)
);
CREATE INDEX plugin_versions_by_key ON plugin_versions (workspace_id, key_id);

CREATE TABLE plugin_usage (
    workspace_id TEXT   NOT NULL REFERENCES workspaces (id),
    name         TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    errors       BIGINT NOT NULL,
    traps        BIGINT NOT NULL,
    deadlines    BIGINT NOT NULL,
    unbound      BIGINT NOT NULL,
    micros       BIGINT NOT NULL,
    bytes_in     BIGINT NOT NULL,
    bytes_out    BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name, version)
);

CREATE TABLE calls (
    workspace_id  TEXT    NOT NULL,
    seq           BIGINT  NOT NULL,
    node          TEXT    NOT NULL,
    at            BIGINT  NOT NULL,
    toolset_id    TEXT    NOT NULL,
    tool          TEXT    NOT NULL,
    revision      BIGINT  NOT NULL,
    outcome       TEXT    NOT NULL,
    cause         TEXT    NOT NULL,
    credential    TEXT    NOT NULL,
    status        BIGINT  NOT NULL,
    cached        BOOLEAN NOT NULL,
    caller_kind   TEXT    NOT NULL,
    caller        TEXT    NOT NULL,
    request       TEXT    NOT NULL,
    trace         TEXT    NOT NULL,
    duration      BIGINT  NOT NULL,
    prepare       BIGINT  NOT NULL,
    upstream      BIGINT  NOT NULL,
    shape         BIGINT  NOT NULL,
    encode        BIGINT  NOT NULL,
    bytes_before  BIGINT  NOT NULL,
    bytes_after   BIGINT  NOT NULL,
    tokens_before BIGINT  NOT NULL,
    tokens_after  BIGINT  NOT NULL,
    captured      BOOLEAN NOT NULL,
    arguments     TEXT    NOT NULL,
    answer        TEXT    NOT NULL,
    PRIMARY KEY (workspace_id, seq)
);
CREATE INDEX calls_by_time ON calls (workspace_id, at, seq);

CREATE TABLE call_counters (
    workspace_id TEXT   NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL
);

CREATE TABLE calls_omitted (
    workspace_id TEXT   NOT NULL,
    minute       BIGINT NOT NULL,
    toolset_id   TEXT   NOT NULL,
    calls        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, minute, toolset_id)
);

-- The newest release of each group of edges that this control plane began to publish, written
-- before the release: a registry that has a newer one shows that records were lost.
CREATE TABLE release_marks (
    group_name TEXT   PRIMARY KEY,
    epoch      BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    noted_at   BIGINT NOT NULL
);

-- Requests that tools were seen to serve, of toolsets that learn. uses is in thousandths, as
-- of last_at; it halves with time. A deleted request stays without its text, blocked, so that
-- it is not learned again. connector '' is of a report of a node that did not say.
CREATE TABLE learned_requests (
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

-- Which keys the records belong to, so that a start with other ones is refused.
CREATE TABLE control_keys (
    key_use    TEXT   NOT NULL,
    id         TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (key_use, id)
);

-- One row that is written to see whether the database can be written.
CREATE TABLE write_probe (
    id         BIGINT NOT NULL PRIMARY KEY,
    written_at BIGINT NOT NULL
);
