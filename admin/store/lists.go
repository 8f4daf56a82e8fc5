package store

import (
	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/admin/store/usage"
)

// What can be done with each list. The names are those of the API's answers.
var (
	ToolsetList = spec(newest,
		word("status", "CASE WHEN live_revision > 0 THEN 'live' ELSE 'draft' END", "draft", "live").Unsorted(),
		listing.Field{Name: "changed", Kind: listing.Bool, Column: "CASE WHEN live_revision > 0 AND live_digest <> draft_digest THEN 1 ELSE 0 END", NoSort: true},
		listing.Field{Name: "paused", Kind: listing.Bool, Column: isPaused, NoSort: true},
		text("name", "name"), text("slug", "slug"), text("description", "description").Unsorted(), label,
		number("enabledTools", "enabled_tools"), number("revision", "live_revision"), word("connector", "connector"),
		word("source", "source_kind", "openapi", "mcp"), word("profile", "profile"), created, updated)
	ConnectorList = spec(by("name", "name"),
		text("name", "name"), text("title", "title"), word("kind", "kind"), word("source", "source", "openapi", "mcp"), created, updated)
	ConnectorVersionList = spec(by("digest", "digest"), text("version", "version"), text("tag", "tag"), number("tools", "tools"), created)
	RevisionList         = spec([]listing.Order{{Field: number("n", "n"), Desc: true}},
		number("n", "n"), word("state", "state", string(Published), string(Superseded), string(RolledBack), string(Archived)), word("author", "author"),
		text("reason", "reason"), word("digest", "digest"), when("at", "created_at"))
	PublishedList = spec([]listing.Order{{Field: when("at", "created_at"), Desc: true}, {Field: word("toolsetId", "toolset_id"), Desc: true}, {Field: number("n", "n"), Desc: true}},
		word("toolsetId", "toolset_id"), word("state", "state", string(Published), string(Superseded), string(RolledBack), string(Archived)), word("author", "author"),
		text("reason", "reason"), when("at", "created_at"))
	JobList = spec(newest,
		word("state", "state", JobRunning, JobSucceeded, JobFailed), word("kind", "kind"), text("phase", "phase"), text("resource", "resource"), when("startedAt", "created_at"), updated)
	AuditList = spec([]listing.Order{{Field: number("seq", "seq"), Desc: true}},
		number("seq", "seq"), word("action", "action"), word("actor", "actor_id").Within("/"), word("actorType", "actor_type"), word("ip", "actor_ip"), text("resource", "resource"),
		listing.Field{Name: "resourceName", Kind: listing.Text, Column: nameOfResource, NoSort: true},
		word("outcome", "outcome", "ok", "refused", "failed"), text("reason", "reason"), word("requestId", "request_id"), when("time", "at"))
	MemberList = spec(newest,
		text("email", "email"), text("name", "name"), role, created, updated)
	TokenList = spec(newest,
		text("name", "name"), role, word("member", "member_id"), created, when("expiresAt", "expires_at"), when("revokedAt", "revoked_at"))
	AccessTokenList = spec(by("id", "id"),
		text("name", "name"), word("last4", "last4"), word("createdBy", "created_by"), created, when("expiresAt", "expires_at"), when("revokedAt", "revoked_at"))
	SessionList = spec(newest,
		word("member", "member_id"), word("openedBy", "opened_by"), text("address", "address"), text("agent", "agent"), created, when("seenAt", "seen_at"), when("expiresAt", "expires_at"))
	PasskeyList = spec(newest,
		text("name", "name"), word("host", "host"), created, when("usedAt", "used_at"))
	EdgeList = spec(newest,
		text("name", "name"), label, word("group", "group_name"), when("lastSeen", "seen_at"), when("enrolledAt", "created_at"), when("revokedAt", "revoked_at"), when("tokenExpires", "token_expires"))
	DomainList = spec(by("host", "host"),
		text("host", "host"), word("state", "state", "pending", "verified", "issuing", "live", "failed"), word("toolsetId", "toolset_id").Unsorted(), text("cause", "cause").Unsorted(),
		created, updated, when("verifiedAt", "verified_at"))
	JoinTokenList = spec(newest,
		text("name", "name"), label, number("uses", "uses"), number("maxUses", "max_uses"), created, when("expiresAt", "expires_at"), when("revokedAt", "revoked_at"))
	AlertList = spec(newest,
		text("title", "title"), word("state", "state"), word("kind", "kind"), word("severity", "severity", "info", "warning", "critical"), word("toolsetId", "toolset_id"), text("note", "note"),
		when("since", "since"), when("firedAt", "fired_at"), when("resolvedAt", "resolved_at"), updated)
	ChannelList = spec(by("id", "id"),
		text("name", "name"), word("kind", "kind"), text("disabled", "disabled"), created, updated)
	DeliveryList = spec(newest,
		word("state", "state", "pending", "delivered", "dead", "digested"), word("type", "type"), word("alertId", "alert_id"), word("digestId", "digest_id"), number("status", "status"), text("fault", "fault"), created, when("endedAt", "ended_at"))
	EventList            = spec([]listing.Order{{Field: number("seq", "seq"), Desc: true}}, word("type", "type"), word("severity", "severity"), when("at", "at"))
	ConnectorRequestList = spec([]listing.Order{{Field: number("votes", "votes"), Desc: true}, {Field: word("id", "id")}},
		text("serviceName", "name"), text("website", "website"), text("useCase", "use_case"), word("state", "state"), number("votes", "votes"), created, updated)
	PublisherKeyList = spec(by("id", "id"),
		text("name", "name"), word("algorithm", "algorithm"), word("createdBy", "created_by"), created, when("revokedAt", "revoked_at"))
	PluginList = spec(by("name", "name"),
		listing.Field{Name: "name", Kind: listing.Word, Search: true, Column: "name"}, word("kind", "kind").Unsorted(), text("description", "description").Unsorted())
	UserTokenList = spec(by("id", "id"),
		text("subject", "subject"), word("issuer", "issuer"), word("kind", "kind"), created, updated, when("expiresAt", "expires_at"))
	ChangeList = spec(newest,
		word("connector", "connector"), word("actor", "actor"), text("from", "from_version"), text("to", "to_version"), when("at", "created_at"))
	CallList       = usage.CallList
	WorkspaceList  = spec(by("id", "id"), listing.Field{Name: "id", Kind: listing.Word, Search: true, Column: "id"})
	credentialList = spec(by("id", "id"))
)

// Fields that many lists have.
var (
	newest  = []listing.Order{{Field: word("id", "id"), Desc: true}}
	created = when("createdAt", "created_at")
	updated = when("updatedAt", "updated_at")
	role    = word("role", "role", RoleViewer, RoleEditor, RolePublisher, RoleAdmin)
	label   = listing.Field{Name: "label", Kind: listing.Label, Column: "labels", NoSort: true}
)

// nameOfResource is what Names says of the resource of an audit record.
const nameOfResource = `COALESCE((SELECT slug FROM toolsets WHERE workspace_id = audit.workspace_id AND id = audit.resource),
	(SELECT email FROM members WHERE workspace_id = audit.workspace_id AND id = audit.resource),
	(SELECT name FROM api_tokens WHERE workspace_id = audit.workspace_id AND id = audit.resource),
	(SELECT name FROM edges WHERE workspace_id = audit.workspace_id AND id = audit.resource),
	(SELECT name FROM connector_requests WHERE workspace_id = audit.workspace_id AND id = audit.resource), '')`

// isPaused says whether a toolset is paused.
const isPaused = `CASE WHEN EXISTS (SELECT 1 FROM toolset_access WHERE workspace_id = toolset.workspace_id AND toolset_id = toolset.id AND paused <> '') THEN 1 ELSE 0 END`

func spec(order []listing.Order, fields ...listing.Field) *listing.Spec {
	return &listing.Spec{Fields: fields, Default: order}
}

// by is the order of a list by a word that is unique in it.
func by(name, column string) []listing.Order { return []listing.Order{{Field: word(name, column)}} }

func word(name, column string, values ...string) listing.Field {
	return listing.Field{Name: name, Kind: listing.Word, Values: values, Column: column}
}

// text is a field of words, in which q looks.
func text(name, column string) listing.Field {
	return listing.Field{Name: name, Kind: listing.Text, Search: true, Column: column}
}

func number(name, column string) listing.Field {
	return listing.Field{Name: name, Kind: listing.Number, Column: column}
}

func when(name, column string) listing.Field {
	return listing.Field{Name: name, Kind: listing.Time, Column: column}
}
