package registry

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
)

func sample() *Toolset {
	name, text := "list_things", "Lists <things> & more"
	return &Toolset{
		Workspace: "acme", ID: "ts_1", Slug: "things", Name: "Things", Instructions: "Be kind.",
		Connectors: []ConnectorRef{{
			Name: "main", Repository: "acme/connectors/things", Manifest: DigestOf([]byte("m")), Digest: DigestOf([]byte("l")),
			BaseURL: "https://api.example.com/v1",
			Auth:    &AuthShape{Type: AuthHeader, HeaderName: "Authorization", HeaderPrefix: "Bearer ", CredentialID: "cr_1"},
		}},
		Tools:   []ToolEdit{{Connector: "main", Method: "GET", Path: "/things/{id}", Name: &name, Description: &text}},
		Profile: ProfileConcise, Cache: &CachePolicy{TTLSeconds: 60}, Access: Access{Mode: AccessNone},
		Answers: &Answers{TimeoutMilliseconds: 5000, ResponseBytes: 1 << 20},
	}
}

func TestToolsetRoundTrip(t *testing.T) {
	b, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseToolset(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("encode of parse differs, %v:\n%s\n%s", err, b, again)
	}
	if bytes.Contains(b, []byte(`\u003c`)) {
		t.Fatalf("HTML escaping in %s", b)
	}
}

func TestToolsetFaults(t *testing.T) {
	long := strings.Repeat("x", MaxNameRunes+1)
	bad := "1st"
	f := func(pointer string, change func(*Toolset)) {
		t.Helper()
		s := sample()
		change(s)
		p := problem.As(s.Validate())
		if p == nil || p.Place.Pointer != pointer {
			t.Fatalf("fault %+v, want one at %s", p, pointer)
		}
	}
	f("/workspace", func(s *Toolset) { s.Workspace = "Acme" })
	f("/id", func(s *Toolset) { s.ID = "../x" })
	f("/slug", func(s *Toolset) { s.Slug = strings.Repeat("a", MaxSlugBytes+1) })
	f("/slug", func(s *Toolset) { s.Slug = "-a" })
	f("/name", func(s *Toolset) { s.Name = "" })
	f("/name", func(s *Toolset) { s.Name = long })
	f("/name", func(s *Toolset) { s.Name = "a\x1b[31m" })
	f("/description", func(s *Toolset) { s.Description = "\xff" })
	f("/profile", func(s *Toolset) { s.Profile = "best" })
	f("/cache/ttlSeconds", func(s *Toolset) { s.Cache.TTLSeconds = 0 })
	f("/cache/ttlSeconds", func(s *Toolset) { s.Cache.TTLSeconds = MaxCacheSeconds + 1 })
	f("/access/mode", func(s *Toolset) { s.Access.Mode = "" })
	f("/answers/timeoutMs", func(s *Toolset) { s.Answers.TimeoutMilliseconds = MaxTimeoutMilliseconds + 1 })
	f("/answers/timeoutMs", func(s *Toolset) { s.Answers.TimeoutMilliseconds = MinTimeoutMilliseconds - 1 })
	f("/answers/timeoutMs", func(s *Toolset) { s.Answers.TimeoutMilliseconds = -1 })
	f("/answers/maxResponseBytes", func(s *Toolset) { s.Answers.ResponseBytes = MaxResponseBytes + 1 })
	f("/answers/maxResponseBytes", func(s *Toolset) { s.Answers.ResponseBytes = MinResponseBytes - 1 })
	f("/connectors/0/name", func(s *Toolset) { s.Connectors[0].Name, s.Tools = "a b", nil })
	f("/connectors/1/name", func(s *Toolset) { s.Connectors = append(s.Connectors, s.Connectors[0]) })
	f("/connectors/0/repository", func(s *Toolset) { s.Connectors[0].Repository = "acme//x" })
	f("/connectors/0/manifest", func(s *Toolset) { s.Connectors[0].Manifest = "sha256:1" })
	f("/connectors/0/digest", func(s *Toolset) { s.Connectors[0].Digest = "" })
	f("/connectors/0/baseUrl", func(s *Toolset) { s.Connectors[0].BaseURL = "ftp://x" })
	f("/connectors/0/baseUrl", func(s *Toolset) { s.Connectors[0].BaseURL = "https://" })
	f("/connectors/0/baseUrl", func(s *Toolset) { s.Connectors[0].BaseURL = "https://x/?a=1" })
	f("/connectors/0/baseUrl", func(s *Toolset) { s.Connectors[0].BaseURL = "https://x/" + strings.Repeat("p", MaxURLBytes) })
	f("/connectors/0/auth/type", func(s *Toolset) { s.Connectors[0].Auth.Type = "magic" })
	f("/connectors/0/auth/headerName", func(s *Toolset) { s.Connectors[0].Auth.HeaderName = "X Y" })
	f("/connectors/0/auth/headerPrefix", func(s *Toolset) { s.Connectors[0].Auth.HeaderPrefix = "a\r\nb" })
	f("/connectors/0/auth/credentialId", func(s *Toolset) { s.Connectors[0].Auth.CredentialID = "" })
	f("/connectors/0/auth", func(s *Toolset) { s.Connectors[0].Auth.Type = AuthNone })
	f("/tools/0/connector", func(s *Toolset) { s.Tools[0].Connector = "other" })
	f("/tools/0/method", func(s *Toolset) { s.Tools[0].Method = "get" })
	f("/tools/0/path", func(s *Toolset) { s.Tools[0].Path = "things" })
	f("/tools/0/name", func(s *Toolset) { s.Tools[0].Name = &bad })
	f("/tools/1", func(s *Toolset) { s.Tools = append(s.Tools, s.Tools[0]) })
	f("/tools/0/title", func(s *Toolset) { s.Tools[0].Title = &long })
}

// A base URL with a password is refused without repeating it.
func TestBaseURLFaultHidesCredentials(t *testing.T) {
	s := sample()
	s.Connectors[0].BaseURL = "https://user:hunter2@example.com"
	if err := s.Validate(); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("error %v", err)
	}
}

func TestToolsetLimits(t *testing.T) {
	s := sample()
	s.Tools = nil
	for i := range MaxConnectors {
		c := s.Connectors[0]
		c.Name = "c" + strconv.Itoa(i)
		s.Connectors = append(s.Connectors, c)
	}
	if err := s.Validate(); err == nil {
		t.Fatalf("%d connectors are accepted", len(s.Connectors))
	}
	s.Connectors = s.Connectors[1:]
	for i := range MaxToolEdits {
		s.Tools = append(s.Tools, ToolEdit{Connector: "c0", Method: "GET", Path: "/" + strconv.Itoa(i)})
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("%d connectors and %d edits: %v", len(s.Connectors), len(s.Tools), err)
	}
	s.Tools = append(s.Tools, ToolEdit{Connector: "c0", Method: "PUT", Path: "/"})
	if err := s.Validate(); err == nil {
		t.Fatalf("%d edits are accepted", len(s.Tools))
	}
	if p := problem.As((&Toolset{}).Validate()); p == nil || len(p.Parts) < 5 {
		t.Fatalf("an empty toolset has %+v, want every fault", p)
	}
}

func TestStrictReading(t *testing.T) {
	b, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	f := func(old, replacement, pointer string) {
		t.Helper()
		in := strings.Replace(string(b), old, replacement, 1)
		if in == string(b) {
			t.Fatalf("%q is not in %s", old, b)
		}
		p := problem.As(errOf(parseToolset([]byte(in))))
		if p == nil || p.Kind != problem.InvalidPlugin || p.Place.Pointer != pointer {
			t.Fatalf("%s -> %s: %+v; want a refusal at %q", old, replacement, p, pointer)
		}
	}
	f(`"slug":`, `"Slug":`, "")                                // another spelling
	f(`"slug":"things"`, `"slug":"other","slug":"things"`, "") // twice
	f(`"slug":"things"`, `"slug":"other","\u0073lug":"things"`, "")
	f(`"slug":`, `"extra":1,"slug":`, "")
	f(`"headerName"`, `"apiKey":"x","headerName"`, "/connectors/0/auth")
	f(`"method":`, `"METHOD":`, "/tools/0")
	f(`"ttlSeconds":60`, `"ttlSeconds":"60"`, "")
	for _, in := range []string{"", "null", "[]", "1", string(b) + "x", string(b) + "{}", string(b[:len(b)-1]), "\xef\xbb\xbf" + string(b)} {
		if _, err := parseToolset([]byte(in)); err == nil {
			t.Errorf("%.40q is accepted", in)
		}
	}
	space := bytes.Repeat([]byte{' '}, MaxToolsetBytes-len(b))
	if _, err := parseToolset(append(space, b...)); err != nil {
		t.Errorf("%d bytes: %v", MaxToolsetBytes, err)
	}
	if _, err := parseToolset(append(append(space, ' '), b...)); err == nil {
		t.Errorf("%d bytes are accepted", MaxToolsetBytes+1)
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestBundleRoundTrip(t *testing.T) {
	program, err := engine.Compile(&engine.Program{})
	if err != nil {
		t.Fatal(err)
	}
	for _, programs := range [][][]byte{nil, {program}, {program, program}} {
		module, err := BuildBundle(sample(), programs)
		if err != nil {
			t.Fatal(err)
		}
		again, err := BuildBundle(sample(), programs)
		if err != nil || !bytes.Equal(module, again) {
			t.Fatalf("two builds differ, %v", err)
		}
		got, gotPrograms, err := OpenBundle(module)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(sample())
		if !bytes.Equal(a, b) || len(gotPrograms) != len(programs) {
			t.Fatalf("opened %s with %d programs, want %s with %d", a, len(gotPrograms), b, len(programs))
		}
	}
}

func TestOpenBundleRefuses(t *testing.T) {
	module, err := BuildBundle(sample(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, b []byte) {
		t.Helper()
		if _, _, err := OpenBundle(b); problem.As(err) == nil {
			t.Fatalf("%s: %v; want a problem", what, err)
		}
	}
	f("nothing", nil)
	f("half of it", module[:len(module)/2])
	f("something behind it", append(bytes.Clone(module), 0))
	changed := bytes.Clone(module)
	changed[40] ^= 1
	f("another engine", changed)
	link := func(m *manifest.Manifest) []byte {
		b, err := engine.Link(nil, manifest.Section, m.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	doc, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	m := manifest.Manifest{FormatVersion: 1, Kind: manifest.Toolset, Name: "things", Version: "1", Toolset: doc}
	if _, _, err := OpenBundle(link(&m)); err != nil {
		t.Fatalf("the control: %v", err)
	}
	other := m
	other.Name = "others"
	f("another name", link(&other))
	other = m
	other.Kind, other.Toolset = manifest.Filter, nil
	f("a filter", link(&other))
	other = m
	other.Toolset = []byte(`{"slug":"things"}`)
	f("an invalid toolset", link(&other))
}

// Whatever is accepted is written again as the same document.
func FuzzOpenBundle(f *testing.F) {
	module, err := BuildBundle(sample(), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(module)
	f.Add(module[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		toolset, programs, err := OpenBundle(b)
		if err != nil {
			return
		}
		if err := toolset.Validate(); err != nil {
			t.Fatalf("opened and not valid: %v", err)
		}
		if _, err := BuildBundle(toolset, programs); err != nil {
			t.Fatalf("opened and cannot be built: %v", err)
		}
	})
}

// FuzzParseToolset reaches the document without going through a module's hash.
func FuzzParseToolset(f *testing.F) {
	b, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		toolset, err := parseToolset(b)
		if err != nil {
			return
		}
		first, err := toolset.Encode()
		if err != nil {
			t.Fatalf("parsed and cannot be encoded: %v", err)
		}
		again, err := parseToolset(first)
		if err != nil {
			t.Fatalf("encoded and cannot be parsed: %v", err)
		}
		if second, _ := again.Encode(); !bytes.Equal(first, second) {
			t.Fatalf("not stable:\n%s\n%s", first, second)
		}
	})
}
