package layers

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
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
	"internal/forwarded":                 {"internal/problem"},
	"internal/acmetest":                  {},
	"internal/tlsfault":                  {"internal/problem"},
	"internal/tlsfiles":                  {"internal/problem"},
	"internal/tlsfiles/tlsfilestest":     {},
	"internal/typescript":                {"internal/jsonscan"},
	"internal/jsonshape":                 {"internal/jsonscan"},
	"internal/textfilter":                {"internal/jsonscan"},
	"internal/strictjson":                {"internal/jsonscan"},
	"internal/redact":                    {"internal/jsonscan"},
	"internal/oauth":                     {"internal/problem", "internal/safedial", "internal/secrets"},
	"internal/oauth/oauthtest":           {},
	"internal/http1":                     {"internal/problem", "internal/sock"},
	"internal/safedial":                  {"internal/problem", "internal/sock"},
	"internal/safehttp":                  {"internal/problem", "internal/safedial"},
	"internal/secrets":                   {"internal/problem"},
	"internal/freeport":                  {},
	"internal/secrets/secretstest":       {},
	"internal/selection/evaluate":        {"internal/selection", "internal/problem"},
	"plugins/projection":                 {"plugins/operation", "plugins/engine"},
	"plugins/openapi":                    {"plugins/operation"},
	"plugins/engine":                     {"plugins/module"},
	"plugins/extism":                     {"plugins/codecache", "plugins/linear", "plugins/module", "plugins/turns"},
	"plugins/guest":                      {"plugins/extism", "plugins/manifest", "plugins/module"},
	"plugins/golden":                     {"plugins/extism", "plugins/guest", "plugins/manifest"},
	"plugins/extism/reference":           {"plugins/extism", "plugins/guest"},
	"plugins/enginepool":                 {"plugins/codecache", "plugins/engine"},
	"plugins/script":                     {"plugins/codecache", "plugins/linear", "plugins/module", "plugins/turns"},
	"plugins/javascript":                 {"plugins/module"},
	"plugins/enginepool/enginepooltest":  {},
	"plugins/catalog":                    {"plugins/arazzo", "plugins/engine", "plugins/manifest"},
	"plugins/connector":                  {"plugins/manifest", "plugins/operation", "plugins/engine", "plugins/projection"},
	"registry/sign":                      {"registry"},
	"registry/oci":                       {"registry", "registry/sign"},
	"registry/server":                    {"registry"},
	"registry/server/contenttest":        {"registry", "registry/oci", "registry/server"},
	"registry/external":                  {"registry", "registry/oci"},
	"registry/s3":                        {"registry", "registry/server"},
	"gateway/mcp":                        {"gateway/session"},
	"gateway/mcpclient":                  {"gateway/upstream"},
	"gateway/installpage":                {"gateway/snapshot"},
	"gateway/snapshot":                   {"gateway/access", "gateway/answer", "gateway/mcp", "gateway/mcpclient", "gateway/metering", "gateway/upstream", "gateway/credentials"},
	"gateway/access":                     {"gateway/pool"},
	"gateway/pool/pooltest":              {},
	"gateway/session":                    {"gateway/pool"},
	"gateway/ask":                        {"gateway/mcp", "gateway/mcpclient", "gateway/session", "gateway/upstream"},
	"gateway/cache":                      {"gateway/metering"},
	"gateway/errorbody":                  {"gateway/media", "gateway/page"},
	"gateway/held":                       {"gateway/compress", "gateway/pool"},
	"gateway/task":                       {"gateway/pool"},
	"gateway/page":                       {"gateway/answer", "gateway/compress"},
	"gateway/certificate":                {},
	"gateway/codecheck":                  {"gateway/snapshot"},
	"gateway/finding":                    {"gateway/snapshot"},
	"gateway/call":                       {"gateway/access", "gateway/answer", "gateway/ask", "gateway/batch", "gateway/cache", "gateway/codecheck", "gateway/errorbody", "gateway/held", "gateway/media", "gateway/page", "gateway/snapshot", "gateway/credentials", "gateway/upstream", "gateway/compress", "gateway/metering", "gateway/mcp", "gateway/mcpclient", "gateway/session", "gateway/tracing", "gateway/task"},
	"gateway/edge":                       {"gateway/access", "gateway/metering", "gateway/snapshot"},
	"gateway/plugin":                     {"gateway/metering", "gateway/snapshot"},
	"admin/catalog":                      {"admin/catalog/source"},
	"admin/catalog/requestpage":          {"admin/catalog/connectorrequest"},
	"admin/change":                       {"admin/change/adoption", "admin/change/compile", "admin/change/difference", "admin/change/view"},
	"admin/change/difference":            {"admin/change/adoption"},
	"admin/change/transfer":              {"admin/change/compile", "admin/change/declare"},
	"admin/change/view":                  {"admin/change/difference"},
	"admin/draft":                        {"admin/draft/workflow"},
	"admin/draft/advice":                 {"admin/draft"},
	"admin/draft/authentication":         {"admin/draft"},
	"admin/draft/binding":                {"admin/draft"},
	"admin/draft/rollout":                {"admin/draft", "admin/draft/playground", "admin/draft/workflow"},
	"admin/draft/trial":                  {"admin/draft", "admin/draft/rollout"},
	"admin/fleet":                        {"admin/fleet/domain", "admin/fleet/usage"},
	"admin/fleet/artifact":               {"admin/fleet"},
	"admin/fleet/certificate":            {"admin/fleet/domain"},
	"admin/front":                        {"admin/front/metrics"},
	"admin/front/job":                    {"admin/front"},
	"admin/front/pages":                  {"admin/front"},
	"admin/login":                        {"admin/login/credential", "admin/login/handshake"},
	"admin/login/mcpserver":              {"admin/login", "admin/login/credential", "admin/login/handshake"},
	"admin/member/passkey/passkeytest":   {"admin/member/passkey"},
	"admin/member/session":               {"admin/member/passkey", "admin/member/ratelimit"},
	"admin/notify/alert":                 {"admin/notify", "admin/notify/alert/rule"},
	"admin/publish/backup":               {"admin/publish"},
	"admin/publish/keyring":              {"admin/publish"},
	"admin/publish/plugin":               {"admin/publish"},
	"admin/request/audit":                {"admin/request"},
	"admin/store":                        {"admin/store/bound", "admin/store/claim", "admin/store/dump", "admin/store/listing", "admin/store/table", "admin/store/usage"},
	"admin/store/cluster":                {"admin/store"},
	"admin/store/storetest":              {"admin/store"},
	"admin/store/table":                  {"admin/store/listing"},
	"admin/store/usage":                  {"admin/store/listing", "admin/store/table"},
	"admin/toolset/choice":               {"admin/toolset"},
	"admin/toolset/suggest":              {"admin/toolset/suggest/naming"},
	"gateway":                            {"gateway/access", "gateway/call", "gateway/certificate", "gateway/finding", "gateway/installpage", "gateway/mcp", "gateway/metering", "gateway/pool", "gateway/session", "gateway/snapshot", "gateway/upstream", "gateway/task"},
	"internal/atomicfile/atomicfiletest": {"internal/atomicfile"},
	"gateway/metering":                   {"gateway/mcp"},
	"gateway/gatewaytest":                {"gateway/pool", "gateway", "gateway/call", "gateway/credentials", "gateway/mcpclient", "gateway/metering", "gateway/snapshot", "gateway/tracing", "gateway/upstream"},
	"cmd/internal/alertcmd":              {"cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/artifacts":             {"cmd/internal/datadir"},
	"cmd/internal/callcmd":               {"cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/specification", "cmd/internal/streamable", "cmd/internal/terminal"},
	"cmd/internal/catalogcmd":            {"cmd/internal/artifacts", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/client":                {"cmd/internal/datadir", "cmd/internal/exit"},
	"cmd/internal/clientcmd":             {"cmd/internal/client", "cmd/internal/command", "cmd/internal/config", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/command":               {"cmd/internal/client", "cmd/internal/config", "cmd/internal/datadir", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/describe":              {"cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/domaincmd":             {"cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/fleetcmd":              {"cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/node":                  {"cmd/internal/artifacts", "cmd/internal/datadir"},
	"cmd/internal/plugincmd":             {"cmd/internal/callcmd", "cmd/internal/client", "cmd/internal/command", "cmd/internal/describe", "cmd/internal/exit", "cmd/internal/terminal", "cmd/internal/toolsetcmd"},
	"cmd/internal/previewcmd":            {"cmd/internal/answers", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/specification", "cmd/internal/terminal"},
	"cmd/internal/specification":         {"cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/terminal":              {"cmd/internal/exit"},
	"cmd/internal/requestcmd":            {"cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/toolsetcmd":            {"cmd/internal/client", "cmd/internal/command", "cmd/internal/describe", "cmd/internal/exit", "cmd/internal/terminal", "cmd/internal/upstreamauth"},
	"cmd/internal/upstreamauth":          {"cmd/internal/client", "cmd/internal/command", "cmd/internal/describe", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/workflowcmd":           {"cmd/internal/callcmd", "cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/internal/workspacecmd":          {"cmd/internal/client", "cmd/internal/command", "cmd/internal/exit", "cmd/internal/terminal"},
	"cmd/sluice":                         {"cmd/internal/alertcmd", "cmd/internal/artifacts", "cmd/internal/callcmd", "cmd/internal/catalogcmd", "cmd/internal/client", "cmd/internal/clientcmd", "cmd/internal/command", "cmd/internal/config", "cmd/internal/datadir", "cmd/internal/describe", "cmd/internal/domaincmd", "cmd/internal/exit", "cmd/internal/fleetcmd", "cmd/internal/node", "cmd/internal/plugincmd", "cmd/internal/previewcmd", "cmd/internal/requestcmd", "cmd/internal/specification", "cmd/internal/streamable", "cmd/internal/systemd", "cmd/internal/terminal", "cmd/internal/toolsetcmd", "cmd/internal/upstreamauth", "cmd/internal/workflowcmd", "cmd/internal/workspacecmd", "cmd/sluice/demo"},
	"cmd/sluice-bench":                   {"cmd/internal/tool"},
	"cmd/sluice-mutants":                 {"cmd/internal/tool"},
	"cmd/sluice-openapi-report":          {"cmd/internal/answers", "cmd/internal/tool"},
	"cmd/sluice-selection":               {"cmd/internal/tool"},
	"cmd/sluice-supply":                  {"cmd/internal/tool"},
	"cmd/sluice-test":                    {"cmd/internal/tool"},
}

// confined lists third-party packages and the only trees that may import them.
var confined = map[string][]string{
	"github.com/tetratelabs/wazero":     {"plugins/codecache/", "plugins/enginepool/", "plugins/extism/", "plugins/javascript/", "plugins/linear/", "plugins/script/"},
	"github.com/pb33f/libopenapi":       {"plugins/openapi/"},
	"github.com/dgraph-io/ristretto/v2": {"gateway/cache/"},
	"github.com/valyala/fasthttp":       {"gateway/", "cmd/sluice-bench/"},
	"github.com/valkey-io/valkey-go":    {"gateway/pool/"},
	"github.com/danielgtaylor/huma/v2":  {"admin/"},
	"database/sql":                      {"admin/store/"},
	// A program that may run a template keeps every method of every type: 8 MB.
	"text/template":             {},
	"html/template":             {},
	"oras.land/oras-go/v2":      {"registry/external/"},
	"github.com/minio/minio-go": {"registry/s3/"},
	"github.com/itchyny/gojq":   {"plugins/jq/"},
	// Certificates are obtained in one place; a gateway only answers challenges.
	"github.com/caddyserver/certmagic": {"admin/fleet/certificate/"},
	"github.com/mholt/acmez/v3":        {"admin/fleet/certificate/", "gateway/certificate/"},
	"go.uber.org/zap":                  {"admin/fleet/certificate/"},
	"github.com/letsencrypt":           {"internal/acmetest/"},
	"github.com/wneessen/go-mail":      {"admin/notify/"},
	"github.com/go-webauthn/webauthn":  {"admin/member/passkey/"},

	"github.com/standard-webhooks/standard-webhooks": {"admin/notify/"},
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
	module, ps := list(t)
	for _, fault := range faults(module, ps, within, confined) {
		t.Error(fault)
	}
}

// faults lists what is wrong with the imports of the packages, and the permissions that
// no import uses: a stale one protects nothing and allows what nobody has looked at.
func faults(module string, ps []*pkg, within, confined map[string][]string) (out []string) {
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	seen, used := map[string]bool{}, map[[2]string]bool{}
	for _, p := range ps {
		from := p.path
		seen[from] = true
		if rank(from) < 0 {
			fault("%s: no place in order; decide where it belongs", from)
		}
		if slices.Contains(banned, path.Base(from)) {
			fault("%s: name says nothing about what the package does", from)
		}
		if !p.doc {
			fault("%s: no package comment", from)
		}
		for _, imp := range p.imports {
			to, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				for dep, homes := range confined {
					if imp != dep && !strings.HasPrefix(imp, dep+"/") {
						continue
					}
					home := slices.IndexFunc(homes, func(h string) bool { return strings.HasPrefix(from+"/", h) })
					if home < 0 {
						fault("%s imports %s, which belongs to %v only", from, imp, homes)
						continue
					}
					used[[2]string{dep, homes[home]}] = true
				}
				continue
			}
			fromTop, _, _ := strings.Cut(from, "/")
			toTop, _, _ := strings.Cut(to, "/")
			used[[2]string{from, to}] = true
			switch {
			case toTop == "sdk" && fromTop != "cmd":
				fault("%s imports %s: what third parties build on serves cmd only", from, to)
			case room(from) != room(to) && fromTop == toTop:
				if fromTop == "admin" && room(to) == "" {
					fault("%s imports %s: the API is on top of the rooms", from, to)
				}
			case fromTop == toTop && !slices.Contains(within[from], to):
				fault("%s imports %s: not in within[%q]", from, to, from)
			case fromTop != toTop && rank(to) >= rank(from):
				fault("%s imports %s: against the order %v", from, to, order)
			}
		}
	}
	for _, from := range slices.Sorted(maps.Keys(within)) {
		if !seen[from] {
			fault("within names %s, which does not exist", from)
		}
		for _, to := range within[from] {
			if !used[[2]string{from, to}] {
				fault("within allows %s to import %s, and it does not", from, to)
			}
		}
	}
	for _, dep := range slices.Sorted(maps.Keys(confined)) {
		for _, home := range confined[dep] {
			if !used[[2]string{dep, home}] {
				fault("confined allows %s to import %s, and nothing there does", home, dep)
			}
		}
	}
	return out
}

// TestFaults: each rule finds a violation, and nothing in what is allowed.
func TestFaults(t *testing.T) {
	within := map[string][]string{"gateway/call": {"gateway/mcp"}}
	confined := map[string][]string{"example.org/dep": {"gateway/mcp/"}}
	good := func() []*pkg {
		return []*pkg{
			{path: "gateway/call", doc: true, imports: []string{"m/gateway/mcp", "m/registry", "fmt"}},
			{path: "gateway/mcp", doc: true, imports: []string{"example.org/dep/inner"}},
			{path: "registry", doc: true},
		}
	}
	if got := faults("m", good(), within, confined); got != nil {
		t.Fatalf("faults of what is allowed: %q", got)
	}
	for want, spoil := range map[string]func(ps []*pkg) []*pkg{
		"elsewhere: no place in order":                                      func(ps []*pkg) []*pkg { return append(ps, &pkg{path: "elsewhere", doc: true}) },
		"registry/util: name says nothing":                                  func(ps []*pkg) []*pkg { return append(ps, &pkg{path: "registry/util", doc: true}) },
		"registry: no package comment":                                      func(ps []*pkg) []*pkg { ps[2].doc = false; return ps },
		"registry imports sdk: what third parties build on":                 func(ps []*pkg) []*pkg { ps[2].imports = []string{"m/sdk"}; return ps },
		"registry imports gateway/mcp: against the order":                   func(ps []*pkg) []*pkg { ps[2].imports = []string{"m/gateway/mcp"}; return ps },
		"registry imports example.org/dep, which belongs to [gateway/mcp/]": func(ps []*pkg) []*pkg { ps[2].imports = []string{"example.org/dep"}; return ps },
		`gateway/mcp imports gateway/call: not in within["gateway/mcp"]`: func(ps []*pkg) []*pkg {
			ps[1].imports = append(ps[1].imports, "m/gateway/call")
			return ps
		},
		"within allows gateway/call to import gateway/mcp, and it does not":           func(ps []*pkg) []*pkg { ps[0].imports = nil; return ps },
		"within names gateway/call, which does not exist":                             func(ps []*pkg) []*pkg { return ps[1:] },
		"confined allows gateway/mcp/ to import example.org/dep, and nothing there d": func(ps []*pkg) []*pkg { ps[1].imports = nil; return ps },
	} {
		got := faults("m", spoil(good()), within, confined)
		if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("faults %q, want one that begins with %q", got, want)
		}
	}
}
