package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/licensecheck"
)

const (
	// minCovered is the part of a licence file, in percent, that must be the text of
	// licences: beside it stand names and years.
	minCovered = 75
	// maxLicenceFile in bytes; the longest licences are under 40 KB, and some files have
	// several.
	maxLicenceFile = 1 << 20
)

// noLicence is the SPDX expression of a module without a licence that is known.
const noLicence = "NOASSERTION"

//go:embed policy.txt
var policyText string

// policy says which licences are allowed.
type policy struct {
	allowed, forbidden map[string]bool
	files              map[judged]string // expressions that a person found; nothing: the file is about no code
}

// judged is a licence file, by the path of its module and its SHA-256.
type judged struct{ module, digest string }

// nothing is the expression of a file that is not about what gets into a binary.
const nothing = "NONE"

func parsePolicy(text string) (*policy, error) {
	p := &policy{map[string]bool{}, map[string]bool{}, map[judged]string{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case (len(f) == 2 || len(f) == 4 && f[2] == "WITH") && f[0] == "allow":
			p.allowed[strings.Join(f[1:], " ")] = true
		case len(f) == 2 && f[0] == "forbid":
			p.forbidden[f[1]] = true
		case len(f) >= 4 && f[0] == "file":
			p.files[judged{f[1], f[2]}] = strings.Join(f[3:], " ")
		default:
			return nil, fmt.Errorf("the policy of licences, line %d: %q", n, strings.TrimSpace(line))
		}
	}
	for id := range p.allowed {
		if p.forbidden[id] {
			return nil, fmt.Errorf("the policy of licences allows and forbids %s", id)
		}
	}
	return p, nil
}

// check refuses an expression with a licence that is not allowed. All licences of an
// expression must be: texts do not say which of them may be chosen.
func (p *policy) check(expression string) error {
	if expression == noLicence {
		return errors.New("no licence is known: read its files, then add a line to cmd/sluice-supply/policy.txt")
	}
	for id := range strings.SplitSeq(expression, " AND ") {
		switch {
		case p.forbidden[id] || p.forbidden[strings.TrimSuffix(strings.TrimSuffix(id, "-only"), "-or-later")]:
			return fmt.Errorf("%s is forbidden", id)
		case !p.allowed[id]:
			return fmt.Errorf("%s is not in cmd/sluice-supply/policy.txt", id)
		}
	}
	return nil
}

// licenceFile matches the names that licences have in the root of a module.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-._].*)?$|^mit-licen[cs]e`)

// licenceOf returns the SPDX expression of the module whose files are in dir: of all
// licence files of its root, each of which must be recognized.
func (p *policy) licenceOf(path, dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := readAtMost(filepath.Join(dir, e.Name()), maxLicenceFile)
		if err != nil {
			return "", err
		}
		found := p.recognize(path, text)
		if found == nil {
			return noLicence, nil
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == nothing })
	if len(ids) == 0 {
		return noLicence, nil
	}
	return strings.Join(ids, " AND "), nil
}

// recognize returns the licences in the text of a file; nil: it is not known.
func (p *policy) recognize(module string, text []byte) []string {
	sum := sha256.Sum256(text)
	if e, ok := p.files[judged{module, hex.EncodeToString(sum[:])}]; ok {
		return strings.Split(e, " AND ")
	}
	found := licensecheck.Scan(text)
	if found.Percent < minCovered {
		return nil
	}
	var ids []string
	for _, m := range found.Match {
		if !m.IsURL {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return b, err
}

// module is one that a binary is made of.
type module struct {
	Path    string
	Version string
	Sum     string // "h1:…" of go.sum; "" when it has none
	Dir     string
	Licence string // SPDX expression
}

// locate fills in where the modules are and what their licences are.
func locate(ctx context.Context, list []module) error {
	p, err := parsePolicy(policyText)
	if err != nil {
		return err
	}
	args := []string{"mod", "download", "-json"}
	at := make(map[string]*module, len(list))
	for i := range list {
		m := &list[i]
		if m.Dir == "" {
			args = append(args, m.Path+"@"+m.Version)
			at[m.Path+"@"+m.Version] = m
		}
	}
	if len(at) > 0 {
		out, err := goCommand(ctx, nil, args...)
		if err != nil {
			return err
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var m module
			if err := d.Decode(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
			to := at[m.Path+"@"+m.Version]
			if to == nil {
				continue
			}
			if to.Sum != "" && to.Sum != m.Sum {
				return fmt.Errorf("%s@%s is %s here and %s in the binary", m.Path, m.Version, m.Sum, to.Sum)
			}
			to.Dir, to.Sum = m.Dir, m.Sum
		}
	}
	for i := range list {
		m := &list[i]
		if m.Dir == "" {
			return fmt.Errorf("the files of %s@%s are not there", m.Path, m.Version)
		}
		if m.Licence, err = p.licenceOf(m.Path, m.Dir); err != nil {
			return err
		}
	}
	return nil
}

func goCommand(ctx context.Context, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // commands of this program
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

// modulesOf are the modules that a package is built from on any of the platforms,
// without its own, by path.
func modulesOf(ctx context.Context, pkg string, platforms []string) ([]module, error) {
	seen := map[string]module{}
	for _, platform := range platforms {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return nil, fmt.Errorf("%q is not GOOS/GOARCH", platform)
		}
		out, err := goCommand(ctx, []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0"},
			"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}} {{.Version}} {{.Dir}}{{else}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}{{end}}", pkg)
		if err != nil {
			return nil, err
		}
		for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
			if f := strings.SplitN(s.Text(), " ", 3); len(f) == 3 {
				seen[f[0]] = module{Path: f[0], Version: f[1], Dir: f[2]}
			}
		}
	}
	var list []module
	for _, m := range seen {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no modules", pkg)
	}
	return list, nil
}

// reportLicences prints the licence of each module, and fails when one is not allowed.
func reportLicences(ctx context.Context, w io.Writer, pkg string, platforms []string) error {
	list, err := modulesOf(ctx, pkg, platforms)
	if err != nil {
		return err
	}
	if err := locate(ctx, list); err != nil {
		return err
	}
	p, err := parsePolicy(policyText)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var faults []error
	for _, m := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Path, m.Version, m.Licence)
		if err := p.check(m.Licence); err != nil {
			faults = append(faults, fmt.Errorf("%s@%s: %w", m.Path, m.Version, err))
		}
	}
	return errors.Join(append(faults, t.Flush())...)
}
