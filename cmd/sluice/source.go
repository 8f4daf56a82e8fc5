package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// specification is an OpenAPI document the operator named: its text, or the URL
// it is at.
type specification struct {
	name string // for people: the file's name, the URL without secrets, "stdin"
	url  string // empty: data is the document
	data []byte
	// fetched: data came from a URL, though it is sent as a document.
	fetched bool
	// folder is where a file's references may lead, and path the file in it,
	// slash-separated. Empty: there are no other files.
	folder, path string
	// files are those of a directory or an archive, by slash-separated path; data is
	// the main one, at path. nil: there is one file.
	files map[string][]byte
	// overlays are applied to the specification, in this order.
	overlays []specification
}

// source is the specification as the compiler takes it.
func (s *specification) source() openapi.Source {
	src := openapi.Source{Name: s.name, Data: s.data, BaseURL: s.url, Path: s.path, Files: s.files}
	for _, o := range s.overlays {
		src.Overlays = append(src.Overlays, openapi.Overlay{Name: o.name, Data: o.data})
	}
	return src
}

// openOverlays reads the overlays that --overlay names. Those given by URL are
// left to the node, unless this process needs them itself.
func (a *app) openOverlays(ctx context.Context, spec *specification, names []string, here bool) error {
	for _, name := range names {
		o, err := a.openSpecification(name)
		if err != nil {
			return err
		}
		if o.files != nil {
			return problem.New(problem.InvalidArgument, "--overlay %s is not one file", name)
		}
		if here && o.url != "" {
			if err := a.fetchHere(ctx, &o); err != nil {
				return err
			}
		}
		spec.overlays = append(spec.overlays, o)
	}
	return nil
}

// refersToFiles finds a reference to another document, roughly: what it finds too
// much costs one compilation.
var refersToFiles = regexp.MustCompile(`\$ref["']?\s*:\s*["']?[^#"'\s]`)

// gather reads the other files that a specification on this disk refers to.
func (a *app) gather(ctx context.Context, s *specification) {
	if s.folder == "" || s.files != nil || !refersToFiles.Match(s.data) {
		return
	}
	result, err := openapi.Compile(ctx, s.source(), a.localOptions(s))
	if err != nil || len(result.Documents) == 0 {
		return // the node says what is wrong with it
	}
	s.files = result.Documents
	s.files[s.path] = s.data
}

// openFolder takes the JSON and YAML files of a directory as one specification.
func openFolder(dir, main string) (specification, error) {
	files := make(map[string][]byte)
	total := 0
	root, err := os.OpenRoot(dir)
	if err != nil {
		return specification{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", dir, err).Because(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains(specExtensions, strings.ToLower(filepath.Ext(path))) {
			return err
		}
		if len(files) >= openapi.HardMaxFiles || total > openapi.HardMaxBytes {
			return problem.New(problem.TooLarge, "%s has more than %s specification files or %s of them", dir,
				terminal.Thousands(openapi.HardMaxFiles), terminal.ByteSize(openapi.HardMaxBytes)).Fix("name the main file: what it refers to is taken along")
		}
		b, err := fs.ReadFile(root.FS(), path)
		files[path] = b
		total += len(b)
		return err
	})
	if err != nil {
		if problem.As(err) != nil {
			return specification{}, err
		}
		return specification{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", dir, err).Because(err)
	}
	src, err := openapi.InFiles(filepath.Base(filepath.Clean(dir)), files, main)
	if err != nil {
		return specification{}, err
	}
	return specification{name: src.Name, data: src.Data, path: src.Path, files: src.Files}, nil
}

// specExtensions are the names that specifications have.
var specExtensions = []string{".json", ".yaml", ".yml"}

// rootAt lets the references of a file lead everywhere in a folder around it.
func (s *specification) rootAt(folder string) error {
	rel, err := filepath.Rel(folder, filepath.Join(s.folder, filepath.FromSlash(s.path)))
	if err != nil || !filepath.IsLocal(rel) {
		return problem.New(problem.InvalidArgument, "%s is not in %s", s.path, folder).Because(err)
	}
	s.folder, s.path = folder, filepath.ToSlash(rel)
	return nil
}

// localOptions let the compiler read the other documents of a specification:
// files of its folder, never outside it, and URLs of the same origin.
func (a *app) localOptions(s *specification) openapi.Options {
	opts := openapi.Options{Limits: a.SpecLimits()}
	if s.folder != "" {
		opts.Open = func(path string) ([]byte, error) {
			root, err := os.OpenRoot(s.folder) // symbolic links may not leave it either
			if err != nil {
				return nil, err
			}
			defer root.Close()
			f, err := root.Open(filepath.FromSlash(path))
			if err != nil {
				return nil, err
			}
			defer f.Close()
			if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
				return nil, fmt.Errorf("reading %s: %w", path, cmp.Or(err, fs.ErrInvalid))
			}
			return readSpec(f, path)
		}
	}
	if s.url != "" {
		opts.Fetch = func(ctx context.Context, url string) ([]byte, error) {
			part := specification{name: safehttp.Redact(url), url: url}
			err := a.fetchHere(ctx, &part)
			return part.data, err
		}
	}
	return opts
}

// openSpecification reads a file or stdin. A URL is left to the node, which
// fetches it itself under its own rules.
//
// A directory or archive is one specification in many files.
func (a *app) openSpecification(arg string) (specification, error) { return a.openMain(arg, "") }

// openMain is openSpecification with the path of the main document in a directory
// or archive.
func (a *app) openMain(arg, main string) (specification, error) {
	if command.IsURL(arg) {
		u, err := url.Parse(arg)
		if err != nil || u.Host == "" {
			return specification{}, problem.New(problem.InvalidArgument, "%q is not a URL", safehttp.Redact(arg))
		}
		if u.User != nil {
			return specification{}, problem.New(problem.InvalidArgument, "the URL %s has a user or a password in it", safehttp.Redact(arg)).
				Fix("download the specification and give the file")
		}
		return specification{name: safehttp.Redact(arg), url: arg}, nil
	}
	if arg == "-" {
		b, err := readSpec(a.In, "stdin")
		return specification{name: "stdin", data: b}, err
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p := problem.New(problem.NotFound, "there is no file %s", arg)
		if strings.Contains(arg, ".") && strings.Contains(arg, "/") && !strings.HasPrefix(arg, ".") && !strings.HasPrefix(arg, "/") {
			p.Remedy = "a URL begins with https://"
		}
		return specification{}, p
	case err != nil:
		return specification{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", arg, errors.Unwrap(err)).Because(err)
	case info.IsDir():
		return openFolder(arg, main)
	}
	f, err := os.Open(arg)
	if err != nil {
		return specification{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", arg, errors.Unwrap(err)).Because(err)
	}
	defer f.Close()
	b, err := readSpec(f, filepath.Base(arg))
	if err == nil && openapi.IsArchive(b) {
		src, err := openapi.Unpack(filepath.Base(arg), b, main)
		return specification{name: filepath.Base(arg), data: src.Data, path: src.Path, files: src.Files}, err
	}
	return specification{name: filepath.Base(arg), data: b, folder: filepath.Dir(arg), path: filepath.Base(arg)}, err
}

func readSpec(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, openapi.HardMaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(b) > openapi.HardMaxBytes {
		return nil, problem.New(problem.InvalidSpec, "%s is larger than %s", name, terminal.ByteSize(openapi.HardMaxBytes)).
			Fix("split the specification")
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, problem.New(problem.InvalidSpec, "%s is empty", name).Fix("give an OpenAPI document in JSON or YAML")
	}
	return b, nil
}

// document returns the specification as text that JSON can carry.
func (s specification) document() (string, error) {
	if !utf8.Valid(s.data) {
		return "", problem.New(problem.InvalidSpec, "%s is not UTF-8 text", s.name).Fix("save it as UTF-8")
	}
	return string(s.data), nil
}

// fetchHere downloads a specification into this process, for commands that work
// without a node. The operator named the URL on the command line, so private
// addresses are allowed.
func (a *app) fetchHere(ctx context.Context, s *specification) error {
	hc, err := a.HTTPClient()
	if err != nil {
		return err
	}
	hc.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		const most = 5 // as browsers and curl, only stricter
		if len(via) >= most {
			return errors.New("too many redirects")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.Flags.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return fmt.Errorf("fetching %s: %w", s.name, err)
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", "sluice/"+versionOrDevel())
	resp, err := hc.Do(req)
	if err != nil {
		if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
			return exit.ErrInterrupted
		}
		if p := exit.AsUnreachable(err); p != nil {
			return p
		}
		return fmt.Errorf("fetching %s: %w", s.name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return problem.New(problem.Unreachable, "%s answered %d %s", s.name, resp.StatusCode, http.StatusText(resp.StatusCode)).
			Fix("check the URL; a page that needs a login must be downloaded first")
	}
	s.data, err = readSpec(resp.Body, s.name)
	s.fetched = true
	return err
}
