package manifest

import (
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Append appends the manifest as JSON: minified, members in the order of the type,
// empty optional ones left out, so that equal manifests have equal bytes.
// Raw members are copied as they are.
func (m *Manifest) Append(dst []byte) []byte {
	dst = m.AppendHead(dst)
	if m.Kind == Connector {
		for i := range m.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.Tools[i].Append(dst)
		}
	}
	return m.AppendTail(dst)
}

// AppendHead appends everything before the tools. For a connector it ends after
// the opening bracket of the tools: append them, separated by commas, then
// [Manifest.AppendTail]. That way a large manifest is written as its tools come.
func (m *Manifest) AppendHead(dst []byte) []byte {
	w := writer{dst: append(dst, '{')}
	w.name("formatVersion")
	w.dst = strconv.AppendInt(w.dst, int64(m.FormatVersion), 10)
	w.must("kind", string(m.Kind))
	w.must("name", m.Name)
	w.must("version", m.Version)
	w.text("title", m.Title)
	w.text("description", m.Description)
	w.text("generator", m.Generator)
	if m.Upstream != nil {
		w.name("upstream")
		m.Upstream.write(&w)
	}
	w.raw("toolset", m.Toolset)
	w.text("entry", m.Entry)
	if c := m.Capabilities; c != nil {
		w.open("capabilities")
		w.texts("hosts", c.Hosts)
		w.flag("clock", c.Clock)
		w.flag("random", c.Random)
		if c.Signing != nil {
			w.open("signing")
			w.must("algorithm", c.Signing.Algorithm)
			w.count("derivations", c.Signing.Derivations)
			w.close()
		}
		w.texts("tools", c.Tools)
		w.close()
	}
	if l := m.Limits; l != nil {
		w.open("limits")
		w.count("memoryBytes", l.MemoryBytes)
		w.count("deadlineMs", l.DeadlineMS)
		w.count("calls", l.Calls)
		w.close()
	}
	if m.Input != nil {
		w.open("input")
		w.texts("types", m.Input.Types)
		if m.Input.Errors != nil {
			w.boolean("errors", *m.Input.Errors)
		}
		w.close()
	}
	if o := m.Output; o != nil {
		w.open("output")
		w.must("effect", o.Effect)
		w.raw("schema", o.Schema)
		if o.Redacts != nil {
			w.boolean("redacts", *o.Redacts)
		}
		w.close()
	}
	if t := m.Tool; t != nil {
		w.open("tool")
		w.must("name", t.Name)
		w.text("title", t.Title)
		w.must("description", t.Description)
		w.annotations(t.Annotations)
		w.raw("inputSchema", t.InputSchema)
		w.raw("outputSchema", t.OutputSchema)
		w.close()
	}
	w.raw("config", m.Config)
	if m.Kind == Connector {
		w.name("tools")
		w.dst = append(w.dst, '[')
	}
	return w.dst
}

// AppendTail appends what follows the last tool.
func (m *Manifest) AppendTail(dst []byte) []byte {
	if m.Kind == Connector {
		dst = m.writeItems(append(dst, ']'))
	}
	return append(dst, '}')
}

// Append appends the tool as JSON, by the rules of [Manifest.Append].
func (t *Tool) Append(dst []byte) []byte {
	w := writer{dst: append(dst, '{')}
	w.must("name", t.Name)
	w.text("title", t.Title)
	w.must("description", t.Description)
	w.must("method", t.Method)
	w.must("path", t.Path)
	w.text("operationId", t.OperationID)
	w.text("pointer", t.Pointer)
	w.texts("tags", t.Tags)
	w.flag("deprecated", t.Deprecated)
	w.annotations(t.Annotations)
	w.raw("inputSchema", t.InputSchema)
	w.raw("outputSchema", t.OutputSchema)
	w.raw("request", t.Request)
	if m := t.MCP; m != nil {
		w.open("mcp")
		w.must("name", m.Name)
		w.must("hash", m.Hash)
		w.raw("extra", m.Extra)
		w.texts("needs", m.Needs)
		w.flag("task", m.Task)
		w.flag("mayTask", m.MayTask)
		w.close()
	}
	if t.Program >= 0 {
		w.name("program")
		w.dst = strconv.AppendInt(w.dst, int64(t.Program), 10)
	}
	w.alternatives("security", t.Security)
	w.servers(t.Servers)
	return append(w.dst, '}')
}

func (w *writer) annotations(a Annotations) {
	w.open("annotations")
	w.boolean("readOnlyHint", a.ReadOnly)
	w.boolean("destructiveHint", a.Destructive)
	w.boolean("idempotentHint", a.Idempotent)
	w.boolean("openWorldHint", a.OpenWorld)
	w.close()
}

func (u *Upstream) write(w *writer) {
	w.dst = append(w.dst, '{')
	w.servers(u.Servers)
	if len(u.Schemes) > 0 {
		w.array("schemes", len(u.Schemes), func(i int) { u.Schemes[i].write(w) })
	}
	w.alternatives("security", u.Security)
	if m := u.MCP; m != nil {
		w.open("mcp")
		w.must("transport", m.Transport)
		w.must("protocol", m.Protocol)
		w.flag("completions", m.Completions)
		w.flag("subscribe", m.Subscribe)
		w.flag("reads", m.Reads)
		w.flag("emptyPrompts", m.EmptyPrompts)
		w.flag("tasks", m.Tasks)
		w.flag("callTasks", m.CallTasks)
		w.flag("cancelTasks", m.CancelTasks)
		w.close()
	}
	w.dst = append(w.dst, '}')
}

func (s *Scheme) write(w *writer) {
	w.dst = append(w.dst, '{')
	w.must("id", s.ID)
	w.must("type", s.Type)
	w.text("in", s.In)
	w.text("name", s.Name)
	w.text("scheme", s.Scheme)
	w.text("bearerFormat", s.BearerFormat)
	w.text("openIdConnectUrl", s.OpenIDURL)
	if len(s.Flows) > 0 {
		w.array("flows", len(s.Flows), func(i int) {
			f := &s.Flows[i]
			w.dst = append(w.dst, '{')
			w.must("grant", f.Grant)
			w.text("authorizationUrl", f.AuthorizationURL)
			w.text("tokenUrl", f.TokenURL)
			w.text("refreshUrl", f.RefreshURL)
			w.texts("scopes", f.Scopes)
			w.dst = append(w.dst, '}')
		})
	}
	w.text("description", s.Description)
	w.dst = append(w.dst, '}')
}

// writer appends members of an object with the commas between them.
type writer struct{ dst []byte }

func (w *writer) name(n string) {
	if c := w.dst[len(w.dst)-1]; c != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(jsonscan.AppendStringOf(w.dst, n), ':')
}

func (w *writer) open(n string) {
	w.name(n)
	w.dst = append(w.dst, '{')
}

func (w *writer) close() { w.dst = append(w.dst, '}') }

func (w *writer) must(n, s string) {
	w.name(n)
	w.dst = jsonscan.AppendStringOf(w.dst, s)
}

func (w *writer) text(n, s string) {
	if s != "" {
		w.must(n, s)
	}
}

func (w *writer) raw(n string, b []byte) {
	if len(b) > 0 {
		w.name(n)
		w.dst = append(w.dst, b...)
	}
}

func (w *writer) boolean(n string, v bool) {
	w.name(n)
	w.dst = strconv.AppendBool(w.dst, v)
}

func (w *writer) flag(n string, v bool) {
	if v {
		w.boolean(n, v)
	}
}

func (w *writer) count(n string, v int) {
	if v != 0 {
		w.name(n)
		w.dst = strconv.AppendInt(w.dst, int64(v), 10)
	}
}

// array writes a list even when it is empty.
func (w *writer) array(n string, length int, item func(i int)) {
	w.name(n)
	w.list(length, item)
}

func (w *writer) list(length int, item func(i int)) {
	w.dst = append(w.dst, '[')
	for i := range length {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		item(i)
	}
	w.dst = append(w.dst, ']')
}

func (w *writer) texts(n string, list []string) {
	if len(list) > 0 {
		w.array(n, len(list), func(i int) { w.dst = jsonscan.AppendStringOf(w.dst, list[i]) })
	}
}

// alternatives tells nil (not said) from empty (none needed).
func (w *writer) alternatives(n string, list [][]string) {
	if list == nil {
		return
	}
	w.array(n, len(list), func(i int) {
		w.list(len(list[i]), func(j int) { w.dst = jsonscan.AppendStringOf(w.dst, list[i][j]) })
	})
}

func (w *writer) servers(list []Server) {
	if len(list) == 0 {
		return
	}
	w.array("servers", len(list), func(i int) {
		s := &list[i]
		w.dst = append(w.dst, '{')
		w.must("url", s.URL)
		w.text("description", s.Description)
		if len(s.Variables) > 0 {
			w.array("variables", len(s.Variables), func(j int) {
				v := &s.Variables[j]
				w.dst = append(w.dst, '{')
				w.must("name", v.Name)
				w.must("default", v.Default)
				w.texts("enum", v.Enum)
				w.text("description", v.Description)
				w.dst = append(w.dst, '}')
			})
		}
		w.dst = append(w.dst, '}')
	})
}
