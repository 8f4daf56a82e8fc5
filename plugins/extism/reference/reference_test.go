package reference

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

var cache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sluice-reference-")
	if err != nil {
		panic(err)
	}
	cache = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValues(func() (string, error) { return Build(context.Background(), cache) })

// TestVersions: the program has the versions of this module, so that a difference is
// one of the hosts, and the tests need no network.
func TestVersions(t *testing.T) {
	mod, err := program.ReadFile("program/go.mod.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(mod), -1) {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", m[1]).Output()
		if err != nil || strings.TrimSpace(string(out)) != m[2] {
			t.Errorf("%s is %s in the program and %s here, %v", m[1], m[2], out, err)
		}
	}
	if !strings.Contains(string(mod), "extism/go-sdk "+Version) {
		t.Errorf("the program does not have extism/go-sdk %s", Version)
	}
}

func plugin(t *testing.T, name string) *guest.Package {
	t.Helper()
	code, err := os.ReadFile("../../../testdata/plugins/" + name + "/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSame: each kind of plugin gives on the reference host what it gives in the
// sandbox: outputs, errors, and how it breaks.
func TestSame(t *testing.T) {
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Build(t.Context(), cache); err != nil || again != bin {
		t.Fatalf("built again: %s, %v", again, err)
	}
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	f := func(p *guest.Package, file string) {
		t.Helper()
		c, err := golden.Parse("case", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		sandbox, err := guest.Load(h, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: c.Config})
		if err != nil {
			t.Fatal(err)
		}
		defer sandbox.Close()
		ours := golden.Run(t.Context(), p, sandbox, c)
		host, err := Start(t.Context(), bin, p, c.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close()
		theirs := golden.Run(t.Context(), p, host, c)
		if ours.Diff != theirs.Diff && !(strings.Contains(ours.Diff, "crashed") && strings.Contains(theirs.Diff, "crashed")) {
			t.Errorf("%s %s: here %q, there %q", p.Manifest.Name, file, ours.Diff, theirs.Diff)
		}
		if strings.Contains(file, `"output":{`) && ours.Diff != "" {
			t.Errorf("%s: %s", file, ours.Diff)
		}
	}
	f(plugin(t, "mask"), `{"input":{"a":"ada@example.com"},"output":{"a":"***@example.com"}}`)
	f(plugin(t, "mask"), `{"input":{"a":"ada@example.com"},"config":{"mask":"x"},"output":{"a":"x@example.com"}}`)
	f(plugin(t, "moody"), `{"input":{"a":1},"config":{"mood":"fail"},"error":"in a bad mood"}`)
	f(plugin(t, "moody"), `{"input":{"a":1},"config":{"mood":"trap"},"output":1}`)
	f(plugin(t, "moody"), `{"input":{"a":1},"config":{"mood":"text"},"outputText":"no JSON"}`)
	f(plugin(t, "relay"), `{"input":{},"config":{"script":"{\"tool\":\"item\"}\n{\"tool\":\"text\"}"},"calls":[{"tool":"item","value":{"a":1}},{"tool":"text","text":"é"}],`+
		`"output":[{"status":200,"value":{"a":1}},{"status":200,"text":"é"}]}`)
	f(plugin(t, "relay"), `{"input":{},"config":{"script":"{\"tool\":\"other\"}"},"output":[]}`)
	f(plugin(t, "stamp"), `{"input":{"method":"GET","url":"https://a.example/","credentials":[{"handle":1,"type":"bearer"}]},"secrets":["s"],`+
		`"output":{"headers":{"X-Signature":"a2bf3cdbc5bcf18046b2156d1b9d67f3c8a7887f114bd0a9db3952ca29c22d98"},"query":[["signed by","stamp"]]}}`)
}

// TestBroken: a module that the reference cannot load, and a machine that cannot build
// it, are said so.
func TestBroken(t *testing.T) {
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	mask := plugin(t, "mask")
	code, err := module.AppendCustom(nil, mask.Code, manifest.Section, mask.Manifest.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	bad := *mask
	bad.Code = append(code[:8:8], 1, 1, 9) // a section of types that is cut off
	host, err := Start(t.Context(), bin, &bad, nil)
	if err == nil {
		defer host.Close()
		_, err = host.Transform(t.Context(), nil, []byte("{}"), &guest.Context{})
	}
	if err == nil || !strings.Contains(err.Error(), "the reference host ended") {
		t.Errorf("a bad module: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), filepath.Join(t.TempDir(), "x")); !problem.Is(err, problem.Unsupported) {
		t.Errorf("without Go: %v", err)
	}
}
