package specification

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
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// Document is an OpenAPI document the operator named: its text, or the URL
// it is at.
type Document struct {
	Name string // for people: the file's name, the URL without secrets, "stdin"
	URL  string // empty: Data is the document
	Data []byte
	// Fetched: Data came from a URL, though it is sent as a document.
	Fetched bool
	// Folder is where the references of a file may lead, and Path the file in it,
	// slash-separated. Empty: there are no other files.
	Folder, Path string
	// Files are those of a directory or an archive, by slash-separated path; Data is
	// the main one, at Path. nil: there is one file.
	Files map[string][]byte
	// Overlays are applied to the specification, in this order.
	Overlays []Document
}

// Source is the specification as the compiler takes it.
func (s *Document) Source() openapi.Source {
	src := openapi.Source{Name: s.Name, Data: s.Data, BaseURL: s.URL, Path: s.Path, Files: s.Files}
	for _, o := range s.Overlays {
		src.Overlays = append(src.Overlays, openapi.Overlay{Name: o.Name, Data: o.Data})
	}
	return src
}

// AddOverlays reads the overlays that --overlay names. Those given by URL are
// left to the node, unless this process needs them itself.
func (s *Document) AddOverlays(ctx context.Context, on *command.Session, names []string, here bool) error {
	for _, name := range names {
		o, err := Open(on, name, "")
		if err != nil {
			return err
		}
		if o.Files != nil {
			return problem.New(problem.InvalidArgument, "--overlay %s is not one file", name)
		}
		if here && o.URL != "" {
			if err := o.Fetch(ctx, on); err != nil {
				return err
			}
		}
		s.Overlays = append(s.Overlays, o)
	}
	return nil
}

// Read reads a specification into this process, also from a URL.
func Read(ctx context.Context, on *command.Session, arg string) (Document, error) {
	s, err := Open(on, arg, "")
	if err == nil && s.URL != "" {
		err = s.Fetch(ctx, on)
	}
	return s, err
}

// refersToFiles finds a reference to another document, roughly: what it finds too
// much costs one compilation.
var refersToFiles = regexp.MustCompile(`\$ref["']?\s*:\s*["']?[^#"'\s]`)

// Gather reads the other files that a specification on this disk refers to.
func (s *Document) Gather(ctx context.Context, on *command.Session) {
	if s.Folder == "" || s.Files != nil || !refersToFiles.Match(s.Data) {
		return
	}
	result, err := openapi.Compile(ctx, s.Source(), s.LocalOptions(on))
	if err != nil || len(result.Documents) == 0 {
		return // the node says what is wrong with it
	}
	s.Files = result.Documents
	s.Files[s.Path] = s.Data
}

// openFolder takes the JSON and YAML files of a directory as one specification.
func openFolder(dir, main string) (Document, error) {
	files := make(map[string][]byte)
	total := 0
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Document{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", dir, err).Because(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains(SpecExtensions, strings.ToLower(filepath.Ext(path))) {
			return err
		}
		if len(files) >= openapi.HardMaxFiles || total > openapi.HardMaxBytes {
			return problem.New(problem.TooLarge, "%s has more than %s Document files or %s of them", dir,
				terminal.Thousands(openapi.HardMaxFiles), terminal.ByteSize(openapi.HardMaxBytes)).Fix("name the main file: what it refers to is taken along")
		}
		b, err := fs.ReadFile(root.FS(), path)
		files[path] = b
		total += len(b)
		return err
	})
	if err != nil {
		if problem.As(err) != nil {
			return Document{}, err
		}
		return Document{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", dir, err).Because(err)
	}
	src, err := openapi.InFiles(filepath.Base(filepath.Clean(dir)), files, main)
	if err != nil {
		return Document{}, err
	}
	return Document{Name: src.Name, Data: src.Data, Path: src.Path, Files: src.Files}, nil
}

// SpecExtensions are the extensions that specifications have.
var SpecExtensions = []string{".json", ".yaml", ".yml"}

// RootAt lets the references of a file lead everywhere in a folder around it.
func (s *Document) RootAt(folder string) error {
	rel, err := filepath.Rel(folder, filepath.Join(s.Folder, filepath.FromSlash(s.Path)))
	if err != nil || !filepath.IsLocal(rel) {
		return problem.New(problem.InvalidArgument, "%s is not in %s", s.Path, folder).Because(err)
	}
	s.Folder, s.Path = folder, filepath.ToSlash(rel)
	return nil
}

// LocalOptions let the compiler read the other documents of a specification:
// files of its folder, never outside it, and URLs of the same origin.
func (s *Document) LocalOptions(on *command.Session) openapi.Options {
	opts := openapi.Options{Limits: on.SpecLimits()}
	if s.Folder != "" {
		opts.Open = func(path string) ([]byte, error) {
			root, err := os.OpenRoot(s.Folder) // symbolic links may not leave it either
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
	if s.URL != "" {
		opts.Fetch = func(ctx context.Context, url string) ([]byte, error) {
			part := Document{Name: safehttp.Redact(url), URL: url}
			err := part.Fetch(ctx, on)
			return part.Data, err
		}
	}
	return opts
}

// Open reads a file or stdin; main is the path of the main document in a
// directory or archive, which is one specification in many files. A URL is left to the
// node, which fetches it itself under its own rules.
func Open(on *command.Session, arg, main string) (Document, error) {
	if command.IsURL(arg) {
		u, err := url.Parse(arg)
		if err != nil || u.Host == "" {
			return Document{}, problem.New(problem.InvalidArgument, "%q is not a URL", safehttp.Redact(arg))
		}
		if u.User != nil {
			return Document{}, problem.New(problem.InvalidArgument, "the URL %s has a user or a password in it", safehttp.Redact(arg)).
				Fix("download the specification and give the file")
		}
		return Document{Name: safehttp.Redact(arg), URL: arg}, nil
	}
	if arg == "-" {
		b, err := readSpec(on.In, "stdin")
		return Document{Name: "stdin", Data: b}, err
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p := problem.New(problem.NotFound, "there is no file %s", arg)
		if near := nearestFile(arg); near != "" {
			p.Remedy = "did you mean " + near + "?"
		} else if strings.Contains(arg, ".") && strings.Contains(arg, "/") && !strings.HasPrefix(arg, ".") && !strings.HasPrefix(arg, "/") {
			p.Remedy = "a URL begins with https://"
		}
		return Document{}, p
	case err != nil:
		return Document{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", arg, errors.Unwrap(err)).Because(err)
	case info.IsDir():
		return openFolder(arg, main)
	}
	f, err := os.Open(arg)
	if err != nil {
		return Document{}, problem.New(problem.InvalidArgument, "%s cannot be read: %s", arg, errors.Unwrap(err)).Because(err)
	}
	defer f.Close()
	b, err := readSpec(f, filepath.Base(arg))
	if err == nil && openapi.IsArchive(b) {
		src, err := openapi.Unpack(filepath.Base(arg), b, main)
		return Document{Name: filepath.Base(arg), Data: src.Data, Path: src.Path, Files: src.Files}, err
	}
	return Document{Name: filepath.Base(arg), Data: b, Folder: filepath.Dir(arg), Path: filepath.Base(arg)}, err
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

// Text returns the specification as text that JSON can carry.
func (s Document) Text() (string, error) {
	if !utf8.Valid(s.Data) {
		return "", problem.New(problem.InvalidSpec, "%s is not UTF-8 text", s.Name).Fix("save it as UTF-8")
	}
	return string(s.Data), nil
}

// Fetch downloads a specification into this process, for commands that work
// without a node. The operator named the URL on the command line, so private
// addresses are allowed.
func (s *Document) Fetch(ctx context.Context, on *command.Session) error {
	hc, err := on.HTTPClient()
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
	ctx, cancel := context.WithTimeout(ctx, on.Flags.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		return fmt.Errorf("fetching %s: %w", s.Name, err)
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", "sluice/"+on.Version)
	resp, err := hc.Do(req)
	if err != nil {
		if errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
			return exit.ErrInterrupted
		}
		if p := exit.AsUnreachable(err); p != nil {
			return p
		}
		return fmt.Errorf("fetching %s: %w", s.Name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return problem.New(problem.Unreachable, "%s answered %d %s", s.Name, resp.StatusCode, http.StatusText(resp.StatusCode)).
			Fix("check the URL; a page that needs a login must be downloaded first")
	}
	s.Data, err = readSpec(resp.Body, s.Name)
	s.Fetched = true
	return err
}

// Origin is the name of the phase in which the specification was got.
func (s *Document) Origin() string {
	if s.Fetched || s.URL != "" {
		return "fetch"
	}
	return "read"
}

// Short is the part of the name that tells specifications apart.
func (s *Document) Short() string {
	if s.URL == "" {
		return s.Name
	}
	u, err := url.Parse(s.URL)
	if err != nil || strings.Trim(u.Path, "/") == "" {
		return s.Name
	}
	return u.Path[strings.LastIndexByte(strings.TrimSuffix(u.Path, "/"), '/')+1:]
}

// nearestFile is the document in the folder of path whose name is closest to what was
// typed, with any ending that documents have; "": none is close.
func nearestFile(path string) string {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(5000) // what cannot be read is not proposed; nearest looks at no more
	slices.Sort(names)
	stems, files := []string(nil), map[string]string{}
	for _, name := range names {
		ending := filepath.Ext(name)
		stem := strings.TrimSuffix(name, ending)
		if slices.Contains([]string{".json", ".yaml", ".yml"}, ending) && files[stem] == "" {
			stems, files[stem] = append(stems, stem), name
		}
	}
	typed := filepath.Base(path)
	best := nearest.Name(strings.TrimSuffix(typed, filepath.Ext(typed)), slices.Values(stems))
	if best == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), files[best])
}
