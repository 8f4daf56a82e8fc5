package store

import (
	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/secrets"
)

// What every table is made of.
type (
	// Time is a time in UTC, stored in whole milliseconds; the zero time is 0.
	Time = table.Time
	// InWorkspace is the first key column of every record but a workspace.
	InWorkspace = table.InWorkspace
	// Page says which part of a list is wanted.
	Page = table.Page
)

type workspaceRow struct {
	bun.BaseModel `bun:"table:workspaces"`
	ID            string `bun:"id,pk"`
	Name          string `bun:"name"`
	CreatedAt     Time   `bun:"created_at"`
}

// Token is an API token: its SHA-256, never itself.
type Token struct {
	bun.BaseModel `bun:"table:api_tokens"`
	InWorkspace
	ID        string `bun:"id,pk"` // tok_…
	Name      string `bun:"name"`
	Role      string `bun:"role"`      // RoleViewer …: the most it may do
	MemberID  string `bun:"member_id"` // whose it is; empty: the workspace's own
	Hash      []byte `bun:"hash"`      // SHA-256 of the token's text
	CreatedAt Time   `bun:"created_at"`
	ExpiresAt Time   `bun:"expires_at"` // zero: never
	RevokedAt Time   `bun:"revoked_at"` // zero: not
}

// Roles of members and tokens; each may do what those before it may.
const (
	RoleViewer    = "viewer"    // read
	RoleEditor    = "editor"    // change, test and deploy toolsets
	RolePublisher = "publisher" // publish connectors and plugins
	RoleAdmin     = "admin"     // everything in the workspace
)

var roleRank = map[string]int{RoleViewer: 1, RoleEditor: 2, RolePublisher: 3, RoleAdmin: 4}

// RoleAllows reports whether a role may do what needs another. A role that is not
// known may do nothing.
func RoleAllows(have, need string) bool {
	return roleRank[need] > 0 && roleRank[have] >= roleRank[need]
}

// lowerRole returns the one of two roles that may do less.
func lowerRole(a, b string) string {
	if RoleAllows(a, b) {
		return b
	}
	return a
}

// ValidRole reports whether a role is one of those above.
func ValidRole(r string) bool { return roleRank[r] > 0 }

// Specification is one version of a specification, named by its content.
type Specification struct {
	bun.BaseModel `bun:"table:specifications"`
	InWorkspace
	Digest      string `bun:"digest,pk"` // sha256:… of Content
	Name        string `bun:"name"`      // file name or URL for messages
	URL         string `bun:"url"`       // where it was fetched; empty: uploaded
	Format      string `bun:"format"`    // json, yaml
	SpecVersion string `bun:"spec_version"`
	SizeBytes   int64  `bun:"size_bytes"`
	Content     []byte `bun:"content"` // gzip in the database, plain here
	CreatedAt   Time   `bun:"created_at"`
}

// Connector is a connector by name; its content is in its versions.
type Connector struct {
	bun.BaseModel `bun:"table:connectors"`
	InWorkspace
	Name         string `bun:"name,pk"`
	Title        string `bun:"title"`
	Kind         string `bun:"kind"`   // custom
	Source       string `bun:"source"` // openapi
	LatestDigest string `bun:"latest_digest"`
	CreatedAt    Time   `bun:"created_at"`
	UpdatedAt    Time   `bun:"updated_at"`
}

// ConnectorVersion is one immutable connector.
type ConnectorVersion struct {
	bun.BaseModel `bun:"table:connector_versions"`
	InWorkspace
	Connector  string `bun:"connector,pk"`
	Digest     string `bun:"digest,pk"` // of the module (the OCI layer)
	Manifest   string `bun:"manifest"`  // of the OCI manifest
	Repository string `bun:"repository"`
	Tag        string `bun:"tag"`
	Version    string `bun:"version"` // info.version
	SpecDigest string `bun:"spec_digest"`
	Tools      int64  `bun:"tools"`
	Report     string `bun:"report"` // JSON: what the compiler said; its form is package admin's
	CreatedAt  Time   `bun:"created_at"`
}

// Toolset is the draft of a toolset and what of it is live.
type Toolset struct {
	bun.BaseModel `bun:"table:toolsets"`
	InWorkspace
	ID           string `bun:"id,pk"`   // ts_…
	Version      uint64 `bun:"version"` // raised by every write; the ETag
	Slug         string `bun:"slug"`    // unique in the whole store: it is in the toolset URL
	Name         string `bun:"name"`
	Description  string `bun:"description"`
	Instructions string `bun:"instructions"`
	// Of its first connector: see [Toolset.First].
	ConnectorName    string `bun:"connector_name"`    // in the toolset; it never changes
	ConnectorAnswers string `bun:"connector_answers"` // JSON: settings of its tools' answers; empty: the toolset's
	ConnectorFixed   string `bun:"connector_fixed"`   // JSON: values of arguments that the model does not see; empty: none
	ConnectorEntry   string `bun:"connector_entry"`   // JSON: the entry of the catalog that it was made of; empty: none
	SourceKind       string `bun:"source_kind"`       // openapi, mcp
	SourceURL        string `bun:"source_url"`        // empty: uploaded
	SourceTitle      string `bun:"source_title"`      // info.title, which identifies an uploaded source
	Connector        string `bun:"connector"`
	ConnectorDigest  string `bun:"connector_digest"`
	BaseURL          string `bun:"base_url"`        // empty: the specification's first server
	UpstreamPolicy   string `bun:"upstream_policy"` // of an MCP server that changes its tools; empty: pin
	Stateless        bool   `bun:"stateless"`       // an MCP server whose callers may share a session

	Profile        string `bun:"profile"`
	CacheSeconds   int64  `bun:"cache_seconds"` // 0: off
	Answers        string `bun:"answers"`       // JSON: settings of answers; empty: none
	Selection      string `bun:"selection"`     // JSON of how tools are chosen; empty: all
	Plugins        string `bun:"plugins"`       // JSON of the plugins it binds, in their order; empty: none
	Workflows      string `bun:"workflows"`     // JSON of its workflow documents; empty: none
	EnabledTools   int64  `bun:"enabled_tools"` // tools of the draft that agents would see
	DraftDigest    string `bun:"draft_digest"`  // of the bundle of the draft as it is now
	LiveDigest     string `bun:"live_digest"`   // of the bundle that is live; empty: none
	LiveRepository string `bun:"live_repository"`
	LiveRevision   uint64 `bun:"live_revision"` // 0: none
	LabelText      string `bun:"labels"`        // see [Toolset.Labels]
	CreatedAt      Time   `bun:"created_at"`
	UpdatedAt      Time   `bun:"updated_at"`
}

// ToolEdit changes one tool of a toolset. It is keyed by operation, so it
// outlives a new version of the specification.
type ToolEdit struct {
	bun.BaseModel `bun:"table:tool_edits"`
	InWorkspace
	ToolsetID   string  `bun:"toolset_id,pk"`
	Connector   string  `bun:"connector,pk"`
	Method      string  `bun:"method,pk"`
	Path        string  `bun:"path,pk"`
	Name        *string `bun:"name"`        // nil: as generated
	Title       *string `bun:"title"`       // nil: as generated
	Description *string `bun:"description"` // nil: as generated
	Disabled    bool    `bun:"disabled"`
	Answers     string  `bun:"answers"`     // JSON: settings of its answers; empty: none
	Annotations string  `bun:"annotations"` // JSON: what it does, as the operator says; empty: as generated
	Fixed       string  `bun:"fixed"`       // JSON: values of arguments that the model does not see; empty: none
	Texts       string  `bun:"texts"`       // JSON: descriptions of arguments by name; empty: as generated
	Arguments   string  `bun:"arguments"`   // JSON: names of the arguments that clients list; empty: all
}

// Credential is one item of the authentication configuration of a connector in a
// toolset. Sealed is opened by the keyring for [Credential.Record] only.
type Credential struct {
	bun.BaseModel `bun:"table:credentials"`
	InWorkspace
	ID        string `bun:"id,pk"` // cred_…
	ToolsetID string `bun:"toolset_id"`
	Connector string `bun:"connector"`
	Position  int64  `bun:"position"` // in the list of its toolset, from 0
	AuthType  string `bun:"auth_type"`
	Shape     string `bun:"shape"`   // JSON: the fields that are no secret
	Sealed    []byte `bun:"sealed"`  // the secret, sealed
	Version   uint64 `bun:"version"` // of the secret
	Last4     string `bun:"last4"`
	CreatedAt Time   `bun:"created_at"`
	RotatedAt Time   `bun:"rotated_at"`
	// Origins are where it may be sent, as JSON; "": from before that was kept.
	// [Tx.SetOrigins] changes them, and nothing else does once the record is written.
	Origins string `bun:"origins"`
}

// OAuthToken holds the tokens that an authorization server gave for a credential: those
// that all calls of the toolset use, or those of one caller. Sealed is opened by the
// keyring for [OAuthToken.Record].
type OAuthToken struct {
	bun.BaseModel `bun:"table:oauth_tokens"`
	InWorkspace
	CredentialID string `bun:"credential_id,pk"`
	UserKey      string `bun:"user_key,pk"` // hash of who the caller is; empty: the toolset's own tokens
	ID           string `bun:"id"`          // usr_…
	Kind         string `bun:"kind"`        // of a caller: token or jwt
	Issuer       string `bun:"issuer"`      // of a JWT
	Subject      string `bun:"subject"`     // of a JWT, or the id of an access token
	Version      uint64 `bun:"version"`     // of the tokens; it only grows
	Sealed       []byte `bun:"sealed"`      // the tokens as JSON, sealed; empty: none
	ExpiresAt    Time   `bun:"expires_at"`  // of the access token; zero: it does not say, or there is none
	Error        string `bun:"error"`       // why the last request for a token was refused; empty: it was not
	ErrorAt      Time   `bun:"error_at"`
	CreatedAt    Time   `bun:"created_at"`
	UpdatedAt    Time   `bun:"updated_at"`
}

// TestRun is a recorded test of exactly one digest.
type TestRun struct {
	bun.BaseModel `bun:"table:test_runs"`
	InWorkspace
	ID                string `bun:"id,pk"` // test_…
	ToolsetID         string `bun:"toolset_id"`
	Digest            string `bun:"digest"`             // of the bundle that ran
	CredentialVersion uint64 `bun:"credential_version"` // 0: no credential
	Tool              string `bun:"tool"`
	ArgumentsHash     string `bun:"arguments_hash"`
	Passed            bool   `bun:"passed"`
	Outcome           string `bun:"outcome"` // JSON; its form is package admin's
	AnswerHash        string `bun:"answer_hash"`
	CreatedAt         Time   `bun:"created_at"`
}

// Revision is one published state of a toolset.
type Revision struct {
	bun.BaseModel `bun:"table:revisions"`
	InWorkspace
	ToolsetID       string `bun:"toolset_id,pk"`
	N               uint64 `bun:"n,pk"` // 1, 2, …
	Digest          string `bun:"digest"`
	Repository      string `bun:"repository"`
	ConnectorDigest string `bun:"connector_digest"`
	Author          string `bun:"author"`
	Reason          string `bun:"reason"`      // why it was deployed without a test; empty: it was tested
	TestRunID       string `bun:"test_run_id"` // empty: deployed without a test
	State           State  `bun:"state"`
	Restores        uint64 `bun:"restores"` // revision that a rollback brought back; 0: none
	CreatedAt       Time   `bun:"created_at"`
}

// Job is work that outlasts its request.
type Job struct {
	bun.BaseModel `bun:"table:jobs"`
	InWorkspace
	ID        string `bun:"id,pk"` // job_…
	Kind      string `bun:"kind"`
	State     string `bun:"state"`    // JobRunning, JobSucceeded, JobFailed
	Phase     string `bun:"phase"`    // what it is doing, for people
	Resource  string `bun:"resource"` // path of what it made or changed, when it succeeded
	Result    string `bun:"result"`   // JSON, when it succeeded
	Error     string `bun:"error"`    // problem details JSON, when it failed
	CreatedAt Time   `bun:"created_at"`
	UpdatedAt Time   `bun:"updated_at"`
}

// States of a job.
const (
	JobRunning   = "running"
	JobSucceeded = "succeeded"
	JobFailed    = "failed"
)

// IdempotencyKey is a POST that was or is being handled.
type IdempotencyKey struct {
	bun.BaseModel `bun:"table:idempotency_keys"`
	InWorkspace
	TokenID     string `bun:"token_id,pk"`
	Key         string `bun:"key,pk"`
	Fingerprint string `bun:"fingerprint"` // of method, path and body
	State       string `bun:"state"`       // KeyRunning, KeyDone
	Status      int    `bun:"status"`
	Sealed      []byte `bun:"sealed"` // headers and body of the answer, for Record; empty while the request runs
	CreatedAt   Time   `bun:"created_at"`
}

// Record is what the answer is sealed for.
func (k *IdempotencyKey) Record() secrets.Record {
	return secrets.Record{Key: "workspaces/" + k.WorkspaceID + "/idempotency/" + k.TokenID + "/" + k.Key, Version: 1}
}

// States of an idempotency key.
const (
	KeyRunning = "running"
	KeyDone    = "done"
)

// Audit is one record of the audit log. Seq, ID, At, Previous and Hash are set
// by [Tx.Audit].
type Audit struct {
	bun.BaseModel `bun:"table:audit_records"`
	InWorkspace
	Seq       uint64 `bun:"seq,pk"` // 1, 2, … in its workspace, without gaps
	ID        string `bun:"id"`     // aud_…
	At        Time   `bun:"at"`
	ActorType string `bun:"actor_type"` // token, system
	ActorID   string `bun:"actor_id"`
	ActorIP   string `bun:"actor_ip"`
	Action    string `bun:"action"`      // toolset.deploy …
	Resource  string `bun:"resource"`    // id of what was changed
	Before    string `bun:"before_json"` // JSON or empty; never a secret
	After     string `bun:"after_json"`  // JSON or empty; never a secret
	Digest    string `bun:"digest"`
	Reason    string `bun:"reason"`
	RequestID string `bun:"request_id"`
	Outcome   string `bun:"outcome"`  // ok, refused, failed
	Previous  []byte `bun:"previous"` // Hash of the record before
	Hash      []byte `bun:"hash"`     // SHA-256 of Previous and every field
}

// Grant allows one toolset to call one private address from this node. It is in no
// release and on no edge.
type Grant struct {
	bun.BaseModel `bun:"table:grants,alias:g"`
	InWorkspace
	ID        string `bun:"id,pk"`
	Slug      string `bun:"slug,scanonly"` // of the toolset; where it was listed or read
	ToolsetID string `bun:"toolset_id"`
	Address   string `bun:"address"` // that was seen: IP and port
	Host      string `bun:"host"`    // name that had the address, for people; empty: none
	Actor     string `bun:"actor"`   // id of the API token
	Reason    string `bun:"reason"`
	CreatedAt Time   `bun:"created_at"`
}
