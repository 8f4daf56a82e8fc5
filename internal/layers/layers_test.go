package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// order lists the trees from the bottom up. A package imports only trees to its
// left, and inside its own tree only what within allows. See docs/adr/0001.
var order = []string{"internal|sdk", "plugins", "registry", "gateway|admin", "cmd"}

// within lists, per package, the packages of its own tree it may import.
var within = map[string][]string{
	"internal/diskfault":                 {"internal/problem"},
	"internal/http1/http1test":           {},
	"internal/tlsfault":                  {"internal/problem"},
	"internal/jsonscan":                  {"internal/problem"},
	"internal/textfilter":                {"internal/jsonscan"},
	"internal/oauth":                     {"internal/problem", "internal/secrets"},
	"internal/oauth/oauthtest":           {},
	"internal/safedial":                  {"internal/problem"},
	"internal/secrets":                   {"internal/problem"},
	"internal/secrets/secretstest":       {},
	"internal/selection/evaluate":        {"internal/selection", "internal/problem"},
	"plugins/projection":                 {"plugins/operation", "plugins/engine"},
	"plugins/openapi":                    {"plugins/operation"},
	"plugins/extism":                     {"plugins/module"},
	"plugins/guest":                      {"plugins/extism", "plugins/manifest", "plugins/module"},
	"plugins/golden":                     {"plugins/extism", "plugins/guest", "plugins/manifest"},
	"plugins/reference":                  {"plugins/extism", "plugins/guest"},
	"plugins/host":                       {"plugins/manifest", "plugins/engine"},
	"plugins/host/hosttest":              {},
	"plugins/connector":                  {"plugins/manifest", "plugins/operation", "plugins/engine", "plugins/projection"},
	"registry/sign":                      {"registry"},
	"registry/oci":                       {"registry", "registry/sign"},
	"registry/server":                    {"registry"},
	"registry/server/contenttest":        {"registry", "registry/oci", "registry/server"},
	"registry/external":                  {"registry", "registry/oci"},
	"registry/s3":                        {"registry", "registry/server"},
	"gateway/mcpclient":                  {"gateway/upstream"},
	"gateway/snapshot":                   {"gateway/access", "gateway/mcp", "gateway/mcpclient", "gateway/metering", "gateway/upstream", "gateway/credentials"},
	"gateway/call":                       {"gateway/access", "gateway/snapshot", "gateway/credentials", "gateway/upstream", "gateway/compress", "gateway/metering", "gateway/mcp", "gateway/mcpclient"},
	"gateway/plugin":                     {"gateway/metering", "gateway/snapshot"},
	"gateway/edge":                       {"gateway/snapshot"},
	"admin/audithead":                    {"admin/store"},
	"admin/backup":                       {"admin/publish", "admin/store"},
	"admin/publish":                      {"admin/store"},
	"admin/store/storetest":              {"admin/store"},
	"gateway":                            {"gateway/access", "gateway/call", "gateway/compress", "gateway/credentials", "gateway/edge", "gateway/mcp", "gateway/metering", "gateway/snapshot", "gateway/upstream"},
	"admin":                              {"admin/audithead", "admin/backup", "admin/publish", "admin/store", "admin/suggest"},
	"internal/atomicfile/atomicfiletest": {"internal/atomicfile"},
	"gateway/metering":                   {"gateway/mcp"},
	"gateway/gatewaytest":                {"gateway", "gateway/call", "gateway/credentials", "gateway/edge", "gateway/mcpclient", "gateway/metering", "gateway/snapshot", "gateway/upstream"},
	"cmd/sluice":                         {"cmd/sluice/demo"},
}

// confined lists third-party packages and the only trees that may import them.
var confined = map[string][]string{
	"github.com/tetratelabs/wazero":     {"plugins/host/", "plugins/extism/"},
	"github.com/pb33f/libopenapi":       {"plugins/openapi/", "plugins/arazzo/"},
	"github.com/dgraph-io/ristretto/v2": {"gateway/call/"},
	"github.com/valyala/fasthttp":       {"gateway/", "cmd/sluice-bench/"},
	"github.com/danielgtaylor/huma/v2":  {"admin/"},
	"database/sql":                      {"admin/store/"},
	"oras.land/oras-go/v2":              {"registry/external/"},
	"github.com/minio/minio-go":         {"registry/s3/"},
	"github.com/itchyny/gojq":           {"plugins/reshape/", "cmd/"},
}

var banned = []string{"util", "utils", "common", "helpers", "shared", "misc", "base", "core", "types", "models"}

type pkg struct {
	path    string   // relative to the module root
	doc     bool     // some file has a package comment
	imports []string // of the non-test files
}

// list parses the import clauses itself: the go command's test cache sees the
// files that this process opens, but not those that a "go list" child opens, so
// a test on "go list" output would stay green from the cache.
func list(t *testing.T) (module string, ps []*pkg) {
	t.Helper()
	const root = "../.."
	mod, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module = modulePath(mod)
	byDir := map[string]*pkg{}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
			if _, err := os.Stat(path.Join(root, name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir // another module: sdk/go, scaffolds
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path.Join(root, name), nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		p := byDir[path.Dir(name)]
		if p == nil {
			p = &pkg{path: path.Dir(name)}
			byDir[p.path] = p
			ps = append(ps, p)
		}
		p.doc = p.doc || f.Doc != nil
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			p.imports = append(p.imports, imp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return module, ps
}

func modulePath(mod []byte) string {
	for line := range strings.Lines(string(mod)) {
		if p, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(p)
		}
	}
	return ""
}

func rank(p string) int {
	top, _, _ := strings.Cut(p, "/")
	return slices.IndexFunc(order, func(s string) bool { return slices.Contains(strings.Split(s, "|"), top) })
}

func TestImportDirection(t *testing.T) {
	seen := map[string]bool{}
	module, ps := list(t)
	for _, p := range ps {
		from := p.path
		seen[from] = true
		if rank(from) < 0 {
			t.Errorf("%s: no place in order; decide where it belongs", from)
		}
		if slices.Contains(banned, path.Base(from)) {
			t.Errorf("%s: name says nothing about what the package does", from)
		}
		if !p.doc {
			t.Errorf("%s: no package comment", from)
		}
		for _, imp := range p.imports {
			to, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				for dep, homes := range confined {
					if (imp == dep || strings.HasPrefix(imp, dep+"/")) && !slices.ContainsFunc(homes, func(h string) bool { return strings.HasPrefix(from+"/", h) }) {
						t.Errorf("%s imports %s, which belongs to %v only", from, imp, homes)
					}
				}
				continue
			}
			fromTop, _, _ := strings.Cut(from, "/")
			toTop, _, _ := strings.Cut(to, "/")
			switch {
			case toTop == "sdk" && fromTop != "cmd":
				t.Errorf("%s imports %s: what third parties build on serves cmd only", from, to)
			case fromTop == toTop && !slices.Contains(within[from], to):
				t.Errorf("%s imports %s: not in within[%q]", from, to, from)
			case fromTop != toTop && rank(to) >= rank(from):
				t.Errorf("%s imports %s: against the order %v", from, to, order)
			}
		}
	}
	for from, tos := range within { // a stale rule protects nothing
		for _, p := range append([]string{from}, tos...) {
			if !seen[p] {
				t.Errorf("within names %s, which does not exist", p)
			}
		}
	}
}
