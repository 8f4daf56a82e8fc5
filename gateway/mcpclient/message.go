package mcpclient

import (
	"cmp"
	"encoding/base64"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Revisions of the protocol that are spoken.
const (
	versionModern = "2026-07-28"
	versionLegacy = "2025-11-25" // offered in the handshake
	versionSSE    = "2024-11-05"
)

// Members of params._meta (MCP 2026-07-28 basic, "_meta").
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaClientInfo   = metaPrefix + "clientInfo"
	metaLogLevel     = metaPrefix + "logLevel"
)

// JSON-RPC error codes that mean something for how a server is spoken to.
const (
	codeMethodNotFound     = -32601
	codeUnsupportedVersion = -32022
)

func appendClientInfo(dst []byte, version string) []byte {
	dst = append(dst, `{"name":"sluice","title":"Sluice","version":`...)
	return append(jsonscan.AppendStringOf(dst, version), '}')
}

func appendRequest(dst []byte, id uint64, method string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendUint(dst, id, 10)
	dst = append(append(append(dst, `,"method":"`...), method...), `","params":{`...)
	return dst
}

// Call is a tools/call, or a request about something else of a server. Slices are views
// that must stay unchanged during the call.
type Call struct {
	Method string // "": tools/call
	// Params are the members of params of another method, without braces, _meta and what
	// is answered to the server.
	Params    []byte
	Tool      string // as the server calls it; of another method, what its Mcp-Name says
	Arguments []byte // JSON object; nil: {}
	Headers   []Header
	// Meta are members of params._meta that are passed on, as JSON text without
	// braces; nil: none.
	Meta []byte
	// Capabilities is the caller's clientCapabilities, a JSON object; nil: {}. A
	// server of 2026-07-28 may ask for what it declares.
	Capabilities []byte
	// Tasks lets a server of 2026-07-28 answer with a task (extension
	// io.modelcontextprotocol/tasks).
	Tasks bool
	// LogLevel is JSON of the least level of log messages that are wanted; nil: none
	// are.
	LogLevel []byte
	// SetLevel is the same for the session at a server of an older revision, which is told
	// before the call; nil: it is not.
	SetLevel []byte
	// Roots is how often the caller's client changed its roots in its session: a server of an
	// older revision that was not told so often is, before the call.
	Roots uint32
	// InputResponses and RequestState are JSON of what the caller answers to an
	// earlier result that wanted input; nil: nothing.
	InputResponses, RequestState []byte
	// Repeatable says that calling twice does no harm.
	Repeatable bool
	// Task makes the call a task at a server of 2025-11-25, and waits for its result.
	Task bool
	// AsTask is JSON of the member "task" of the caller's request, which makes the call a task
	// of the caller at a server of 2025-11-25; nil: none. The result is the task.
	AsTask []byte
	// Progress asks for progress notifications.
	Progress bool
	// Also is the progress token of a call before, of whose task this one waits for the result:
	// what the server reports under it is heard too; 0: there is none.
	Also uint64
	// Notify gets notifications of the call while it runs, from the goroutine of the
	// call or of the session; nil: none are passed on. params is valid during Notify.
	Notify func(method string, params jsonscan.Value)
	// Ask lets the client answer a request that the server makes during the call, and
	// returns the member "result" or "error" of its response as JSON text with the name.
	// It runs in a goroutine of its own, may use method and params as long as it likes, and
	// must return when done is closed: the call has ended. nil: requests are refused.
	Ask func(method string, params jsonscan.Value, done <-chan struct{}) []byte
	// Hears says that nobody listens on the stream of the caller's session (Client.Follow), so
	// that what the server says there meanwhile is taken for the call's: many SDKs send their
	// requests and log messages there instead of on the stream of the call.
	Hears bool
}

// Header is an argument that a server of 2026-07-28 wants repeated as a header.
type Header struct {
	Name  string // "Mcp-Param-Region"
	Value []byte // text, not encoded
}

func (call *Call) method() string { return cmp.Or(call.Method, "tools/call") }

func (c *Client) appendCall(dst []byte, l *link, id uint64, call *Call) []byte {
	dst = appendRequest(dst, id, call.method())
	if call.Method != "" {
		dst = append(dst, call.Params...)
	} else {
		dst = append(dst, `"name":`...)
		dst = jsonscan.AppendStringOf(dst, call.Tool)
		dst = append(dst, `,"arguments":`...)
		if len(call.Arguments) > 0 {
			dst = append(dst, call.Arguments...)
		} else {
			dst = append(dst, '{', '}')
		}
		switch {
		case l.modern:
		case len(call.AsTask) > 0:
			dst = append(append(dst, `,"task":`...), call.AsTask...)
		case call.Task:
			dst = strconv.AppendInt(append(dst, `,"task":{"ttl":`...), taskLife.Milliseconds(), 10)
			dst = append(dst, '}')
		}
	}
	if l.modern && len(call.InputResponses) > 0 {
		dst = append(append(dst, `,"inputResponses":`...), call.InputResponses...)
	}
	if l.modern && len(call.RequestState) > 0 {
		dst = append(append(dst, `,"requestState":`...), call.RequestState...)
	}
	return append(c.appendMeta(dst, l, id, call), '}', '}')
}

// appendMeta appends the member _meta, if there is anything to say.
func (c *Client) appendMeta(dst []byte, l *link, id uint64, call *Call) []byte {
	if !l.modern && !call.Progress && len(call.Meta) == 0 {
		return dst
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, `"_meta":{`...)
	mark := len(dst)
	if l.modern {
		dst = c.appendModernMeta(dst, call.Capabilities, call.Tasks)
		if len(call.LogLevel) > 0 {
			dst = append(append(dst, `,"`+metaLogLevel+`":`...), call.LogLevel...)
		}
	}
	if call.Progress {
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(append(dst, `"progressToken":`...), id, 10)
	}
	if len(call.Meta) > 0 {
		if len(dst) > mark {
			dst = append(dst, ',')
		}
		dst = append(dst, call.Meta...)
	}
	return append(dst, '}')
}

// appendModernMeta appends what every request of 2026-07-28 says.
func (c *Client) appendModernMeta(dst, capabilities []byte, tasks bool) []byte {
	dst = append(dst, `"`+metaVersion+`":"`+versionModern+`","`+metaClientInfo+`":`...)
	dst = append(dst, c.info...)
	dst = append(dst, `,"`+metaCapabilities+`":`...)
	if len(capabilities) == 0 {
		capabilities = emptyObject
	}
	dst = appendModernCapabilities(dst, capabilities)
	if tasks {
		dst = dst[:len(dst)-1] // its end
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, `"extensions":{"`+ExtensionTasks+`":{}}}`...)
	}
	return dst
}

// appendModernCapabilities appends what a client declared without that it runs tasks, which is
// of 2025-11-25 alone.
func appendModernCapabilities(dst, capabilities []byte) []byte {
	declared := jsonscan.Trusted(capabilities)
	if !declared.Get("tasks").Exists() {
		return append(dst, capabilities...)
	}
	dst = append(dst, '{')
	mark := len(dst)
	for it := declared.Members(); it.Next(); {
		if !it.KeyEqual("tasks") {
			dst = jsonscan.AppendMember(dst, mark, it.Key(), it.Value().Raw())
		}
	}
	return append(dst, '}')
}

var emptyObject = []byte("{}")

// ExtensionTasks is the extension of 2026-07-28 with which a server answers a call with a task.
const ExtensionTasks = metaPrefix + "tasks"

// appendHeaderValue appends text as a header may carry it: as it is, or in base64
// (MCP 2026-07-28 "Header Encoding").
func appendHeaderValue(dst, text []byte) []byte {
	const open, end = "=?base64?", "?="
	plain := len(text) > 0 && text[0] != ' ' && text[0] != '\t' && text[len(text)-1] != ' ' && text[len(text)-1] != '\t'
	for _, c := range text {
		plain = plain && (c >= ' ' && c <= '~' || c == '\t')
	}
	if plain && (len(text) < len(open) || string(text[:len(open)]) != open) {
		return append(dst, text...)
	}
	dst = append(dst, open...)
	dst = base64.StdEncoding.AppendEncode(dst, text)
	return append(dst, end...)
}

// Fault is a JSON-RPC error of a server.
type Fault struct {
	Code    int64
	Message string // clipped
	Data    []byte // raw JSON, a view of the exchange; nil: none

	message jsonscan.Value
}

// Text is the whole message: what looks for a secret in it must not get a part that
// was cut inside of one.
func (f *Fault) Text() []byte {
	if f.message.Kind() != jsonscan.String {
		return nil
	}
	return f.message.AppendText(nil)
}

// maxMessage is the longest text of a server that is repeated.
const maxMessage = 2000

func readFault(v jsonscan.Value) *Fault {
	f := &Fault{Data: v.Get("data").Raw()}
	f.Code, _ = v.Get("code").Int64()
	if m := v.Get("message"); m.Kind() == jsonscan.String {
		f.message, f.Message = m, clip(m.AppendText(nil), maxMessage)
	}
	return f
}
