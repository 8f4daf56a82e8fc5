package mcp

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"golang.org/x/tools/txtar"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// stub is a toolset with the tools echo (returns its arguments), fail (a tool
// error), broken (a fault of the gateway) and region (an x-mcp-header argument).
type stub struct {
	card   *Card
	name   string
	params []HeaderParam

	list      []byte
	next      string
	sub       *Subscription
	cancelled chan struct{}
	calling   func(*Stream)
	table     *session.Table // nil: no sessions
	done      []Served
}

var regionSchema = []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"zone":{"type":"object","properties":{"id":{"type":"integer","x-mcp-header":"Zone-Id"}}}}}`)

func newStub(t testing.TB) *stub {
	t.Helper()
	params, err := HeaderParams(regionSchema)
	if err != nil {
		t.Fatal(err)
	}
	list := AppendTool([]byte{'['}, &ToolInfo{Name: "echo", Title: "Echo", Description: "Says it again.", ReadOnly: true, Idempotent: true, OpenWorld: true})
	list = AppendTool(append(list, ','), &ToolInfo{Name: "region", InputSchema: regionSchema, Destructive: true})
	return &stub{
		list:   append(list, ']'),
		card:   NewCard(Info{Name: "acme", Title: "Acme \"API\"", Version: "1", Instructions: "Use it well."}),
		params: params,
	}
}

func (s *stub) Card() *Card { return s.card }

func (s *stub) Body(rc *fasthttp.RequestCtx) ([]byte, bool) { return rc.Request.Body(), true }

func (s *stub) Tools(cursor []byte, _ Capabilities) ([]byte, string, bool, error) {
	if string(cursor) == "two" {
		return []byte("[]"), "", true, nil
	}
	if cursor != nil {
		return nil, "", false, nil
	}
	return s.list, s.next, true, nil
}

func (s *stub) Items(cursor []byte, list Method) ([]byte, string, bool, error) {
	return []byte(`[{"name":"` + list.String() + `"}]`), "", cursor == nil, nil
}

// Item is whatever is not called missing.
func (s *stub) Item(c *CallParams) (Tool, error) {
	params := c.Params
	s.name = "item"
	for _, v := range []jsonscan.Value{params.Get("name"), params.Get("uri"), params.Get("ref").Get("name")} {
		if v.EqualText("closed") {
			s.name = "closed"
		}
		if v.EqualText("missing") {
			return nil, nil //nolint:nilnil // there is no such item
		}
	}
	return s, nil
}

func (s *stub) Made() string { return "" }

func (s *stub) Logs() bool { return false }

func (s *stub) Toolset() Toolset { return s }

func (s *stub) Permit(jsonscan.Value) bool { return s.name != "closed" }

func (s *stub) Cancel() { close(s.cancelled) }

func (s *stub) Listen(sub *Subscription) error {
	if string(sub.id) == `"full"` {
		return fmt.Errorf("full")
	}
	s.sub = sub
	return nil
}

func (s *stub) OpenSession(c session.Client) *session.Session {
	if s.table == nil {
		return nil
	}
	return s.table.Open(session.Owner{}, c)
}

func (s *stub) Session(id []byte) (*session.Session, bool) {
	if s.table == nil {
		return nil, true
	}
	found := s.table.Find(context.Background(), session.Owner{}, id)
	return found, found != nil
}

func (s *stub) Done(served Served) { s.done = append(s.done, served) }

func (s *stub) Tool(name []byte) (Tool, []HeaderParam, error) {
	s.name = ""
	switch string(name) {
	case "echo":
		s.name = "echo"
	case "fail":
		s.name = "fail"
	case "broken":
		s.name = "broken"
	case "closed":
		s.name = "closed"
	case "region":
		s.name = "region"
		return s, s.params, nil
	case "brøken\n":
		s.name = "echo"
	}
	if s.name == "" {
		return nil, nil, nil
	}
	return s, nil, nil
}

func (s *stub) Call(c *CallParams, dst []byte) (out, meta []byte, err error) {
	if s.calling != nil {
		s.calling(c.Stream)
	}
	if s.name == "broken" {
		return nil, nil, fmt.Errorf("secret cause")
	}
	if c.Method != MethodOther {
		return append(append(append(append(dst, `"asked":"`...), c.Method.String()...), `","params":`...), c.Params.Raw()...), nil, nil
	}
	dst = append(dst, `"content":[{"type":"text","text":`...)
	dst = jsonscan.AppendString(dst, c.Arguments.Raw())
	dst = append(dst, `}]`...)
	if s.name == "fail" {
		dst = append(dst, `,"isError":true`...)
	}
	if c.Trace {
		meta = []byte(`"dev.sluice/trace":{}`)
	}
	return dst, meta, nil
}

func start(t testing.TB) (dial func() net.Conn) {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln := fasthttputil.NewInmemoryListener()
	srv := &fasthttp.Server{NoDefaultServerHeader: true, NoDefaultDate: true, Handler: func(rc *fasthttp.RequestCtx) {
		toolset := newStub(t)
		if string(rc.Path()) == "/t/items" { // it has more than tools
			toolset.card = NewCard(Info{Name: "acme", Version: "1", Prompts: true, Resources: true, Completions: true})
		}
		s.Serve(rc, toolset)
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return func() net.Conn {
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// TestWire sends the requests of each testdata file and compares what comes
// back, byte for byte. A request is written with \n line ends and without
// Content-Length; of a response, the status, the headers except Content-Length
// and the body are kept.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	dial := start(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][]byte{}
			var requests []txtar.File
			for _, f := range ar.Files {
				if name, ok := strings.CutSuffix(f.Name, ".request"); ok {
					f.Name = name
					requests = append(requests, f)
				} else {
					want[strings.TrimSuffix(f.Name, ".response")] = f.Data
				}
			}
			out := &txtar.Archive{Comment: ar.Comment}
			for _, r := range requests {
				got := roundTrip(t, dial(), r.Data)
				if !*update && !bytes.Equal(got, want[r.Name]) {
					t.Errorf("%s: got\n%swant\n%s", r.Name, got, want[r.Name])
				}
				out.Files = append(out.Files, txtar.File{Name: r.Name + ".request", Data: r.Data},
					txtar.File{Name: r.Name + ".response", Data: got})
			}
			if len(want) != len(requests) && !*update {
				t.Errorf("%d requests and %d responses", len(requests), len(want))
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func roundTrip(t *testing.T, conn net.Conn, text []byte) []byte {
	t.Helper()
	defer conn.Close()
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	body = bytes.TrimSuffix(body, []byte("\n"))
	var b bytes.Buffer
	b.WriteString(strings.ReplaceAll(strings.TrimSuffix(string(head), "\n"), "\n", "\r\n"))
	fmt.Fprintf(&b, "\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	var resp fasthttp.Response
	if err := resp.Read(bufio.NewReader(conn)); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for k, v := range resp.Header.All() {
		if k := string(k); k != fasthttp.HeaderContentLength {
			lines = append(lines, k+": "+string(v))
		}
	}
	slices.Sort(lines)
	out := fmt.Appendf(nil, "%d\n", resp.StatusCode())
	for _, l := range lines {
		out = append(out, l+"\n"...)
	}
	out = append(out, '\n')
	if len(resp.Body()) > 0 {
		out = append(append(out, resp.Body()...), '\n')
	}
	return out
}
