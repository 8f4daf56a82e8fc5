package mcp

import (
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// ListTTL is how long, in milliseconds, a client may keep tools/list and
// server/discover (MCP 2026-07-28 "Caching"): a minute, because a new revision of
// a toolset goes live without the client being told.
const ListTTL = 60_000

// Info is what a toolset says about itself to a client.
type Info struct {
	Name         string // programmatic name
	Title        string // for people; "": none
	Version      string
	Instructions string // for the model; "": none
	// What the toolset has besides tools, and whether a client can be notified of changes of
	// a resource.
	Prompts, Resources, Completions, Subscribe bool
	// Tasks says that a call may be answered with a task. CallTasks says that clients of
	// 2025-11-25 may make a call a task, and CancelTasks that they may cancel it.
	Tasks, CallTasks, CancelTasks bool
}

// Card is the rendered form of an Info: the constant bytes of initialize,
// server/discover and every result. It is immutable.
type Card struct {
	meta                   []byte            // "_meta":{"io.modelcontextprotocol/serverInfo":{…}     (open)
	discover               []byte            // the whole result of server/discover
	initialize             []byte            // result of initialize, from behind the version's closing quote
	session                []byte            // the same for a client that gets a session
	tasked                 []byte            // and for one that may make calls tasks
	has                    [methodCount]bool // but those of tasks of 2025-11-25
	callTasks, cancelTasks bool
}

// Lists are those that the toolset has.
func (c *Card) Lists() Lists {
	l := ListTools
	if c.has[MethodPromptsList] {
		l |= ListPrompts
	}
	if c.has[MethodResourcesList] {
		l |= ListResources
	}
	return l
}

// NewCard renders info once, so that no call has to.
func NewCard(info Info) *Card {
	server := append([]byte(nil), `{"name":`...)
	server = jsonscan.AppendStringOf(server, info.Name)
	if info.Title != "" {
		server = append(server, `,"title":`...)
		server = jsonscan.AppendStringOf(server, info.Title)
	}
	server = append(server, `,"version":`...)
	server = jsonscan.AppendStringOf(server, info.Version)
	server = append(server, '}')

	var instructions []byte
	if info.Instructions != "" {
		instructions = append(instructions, `,"instructions":`...)
		instructions = jsonscan.AppendStringOf(instructions, info.Instructions)
	}
	// A client of an older revision without a session is told nothing by itself: it has
	// no stream to be told on.
	told, untold := info.capabilities(true), info.capabilities(false)

	c := &Card{}
	c.has[MethodPromptsList], c.has[MethodPromptsGet] = info.Prompts, info.Prompts
	c.has[MethodResourcesList], c.has[MethodTemplatesList], c.has[MethodResourcesRead] = info.Resources, info.Resources, info.Resources
	c.has[MethodComplete] = info.Completions
	c.has[MethodSubscribe], c.has[MethodUnsubscribe] = info.Resources && info.Subscribe, info.Resources && info.Subscribe
	c.has[MethodTasksGet], c.has[MethodTasksUpdate], c.has[MethodTasksCancel] = info.Tasks, info.Tasks, info.Tasks
	c.meta = append(c.meta, `"_meta":{"io.modelcontextprotocol/serverInfo":`...)
	c.meta = append(c.meta, server...)

	c.discover = append(c.discover, `{"resultType":"complete",`...)
	c.discover = append(c.discover, c.meta...)
	c.discover = append(c.discover, `},"ttlMs":`...)
	c.discover = appendInt(c.discover, ListTTL)
	c.discover = append(c.discover, `,"cacheScope":"private","supportedVersions":`...)
	c.discover = appendVersions(c.discover)
	c.discover = append(c.discover, told...)
	if info.Tasks {
		c.discover = append(c.discover[:len(c.discover)-1], `,"extensions":{"`+ExtensionTasks+`":{}}}`...)
	}
	c.discover = append(c.discover, instructions...)
	c.discover = append(c.discover, '}')

	rest := append(append([]byte(`,"serverInfo":`), server...), instructions...)
	rest = append(rest, '}')
	c.initialize = append(append(c.initialize, untold...), rest...)
	c.session = append(append(c.session, told...), rest...)
	if c.callTasks, c.cancelTasks = info.CallTasks, info.CancelTasks; c.callTasks {
		c.tasked = append(append(c.tasked, told[:len(told)-1]...), `,"tasks":{"list":{},`...)
		if c.cancelTasks {
			c.tasked = append(c.tasked, `"cancel":{},`...)
		}
		c.tasked = append(append(c.tasked, `"requests":{"tools":{"call":{}}}}}`...), rest...)
	}
	return c
}

// capabilities are what the toolset declares to clients that are notified of changes, or not.
func (info *Info) capabilities(told bool) string {
	changed, more := "false", ""
	if told {
		changed, more = "true", `"listChanged":true`
	}
	out := `,"capabilities":{"logging":{},"tools":{"listChanged":` + changed + `}`
	if info.Prompts {
		out += `,"prompts":{` + more + `}`
	}
	if info.Resources {
		if told && info.Subscribe {
			more += `,"subscribe":true`
		}
		out += `,"resources":{` + more + `}`
	}
	if info.Completions {
		out += `,"completions":{}`
	}
	return out + `}`
}

// ToolInfo is a tool as tools/list shows it.
type ToolInfo struct {
	Name        string
	Title       string // "": none
	Description string
	InputSchema []byte // minified JSON, an object; not validated here
	// OutputSchema describes structuredContent; nil: there is none.
	OutputSchema []byte
	// The four hints. One that is not published has the protocol's default, which is
	// the unsafe value.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Given: a server gave the hints, and what it said is passed on.
	Given bool
	// Extra holds further members of the tool's object, an object in valid JSON; nil:
	// there are none.
	Extra []byte
}

// AppendTool appends the tool's object as tools/list has it, the same in every
// era.
func AppendTool(dst []byte, t *ToolInfo) []byte {
	dst = append(dst, `{"name":`...)
	dst = jsonscan.AppendStringOf(dst, t.Name)
	if t.Title != "" {
		dst = append(dst, `,"title":`...)
		dst = jsonscan.AppendStringOf(dst, t.Title)
	}
	if t.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = jsonscan.AppendStringOf(dst, t.Description)
	}
	dst = append(dst, `,"inputSchema":`...)
	if len(t.InputSchema) == 0 {
		dst = append(dst, `{"type":"object","properties":{}}`...)
	} else {
		dst = append(dst, t.InputSchema...)
	}
	if len(t.OutputSchema) > 0 {
		dst = append(append(dst, `,"outputSchema":`...), t.OutputSchema...)
	}
	dst = appendHints(append(dst, `,"annotations":`...), t)
	if len(t.Extra) > len(`{}`) {
		return append(append(dst, ','), t.Extra[1:]...) // its end is that of the tool
	}
	return append(dst, '}')
}

// appendHints appends the hints. One that has the value that the protocol gives a
// missing one, which is always the more dangerous, is left out, but for
// destructiveHint: every definition in a list pays for them. Of a tool that only reads,
// idempotentHint has no meaning (MCP, ToolAnnotations), and it is left out where no server gave it.
func appendHints(dst []byte, t *ToolInfo) []byte {
	dst = append(dst, '{')
	if t.ReadOnly {
		dst = append(dst, `"readOnlyHint":true,`...)
	}
	dst = append(dst, `"destructiveHint":`...)
	dst = appendBool(dst, t.Destructive)
	if t.Idempotent && (t.Given || !t.ReadOnly) {
		dst = append(dst, `,"idempotentHint":true`...)
	}
	if !t.OpenWorld {
		dst = append(dst, `,"openWorldHint":false`...)
	}
	return append(dst, '}')
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}
