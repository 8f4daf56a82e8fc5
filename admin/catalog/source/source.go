package source

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// Fetcher gets a specification by URL, through the guarded dialer.
type Fetcher interface {
	// Fetch returns the document at a URL. Its errors are *problem.Error of kinds
	// unreachable, timeout, blocked_address, upstream_status and
	// upstream_too_large.
	Fetch(ctx context.Context, in FetchRequest) (Document, error)
}

// FetchRequest says what to fetch.
type FetchRequest struct {
	URL   string
	Limit int64 // bytes; a longer document is an error
	// Since are the validators of the document that is known already: the answer
	// may be that it has not changed. Zero: it is fetched in any case.
	Since Validators
}

// Validators tell versions of a document apart (RFC 9110 §8.8).
type Validators struct {
	ETag, LastModified string // as the server wrote them
}

// Document is what a Fetcher got.
type Document struct {
	Data        []byte
	URL         string // where it was in the end, after redirects; relative servers are resolved against it
	Validators  Validators
	NotModified bool // it is as Since says; Data is empty
}

// OpenAPISource is a specification by URL, as text, or as the texts of several
// files.
type OpenAPISource struct {
	URL      string            `json:"url,omitempty" maxLength:"2048" doc:"Where to fetch it. References to other documents of the same origin are followed."`
	Document string            `json:"document,omitempty" doc:"Its text, JSON or YAML."`
	Files    map[string]string `json:"files,omitempty" doc:"Texts of a specification in several files, by path; at most 10,000 of 64 MB together."`
	Main     string            `json:"main,omitempty" maxLength:"1024" doc:"Path of the main document in files. Default: the one specification nearest to the root."`
	FileName string            `json:"fileName,omitempty" maxLength:"255" doc:"Name for messages."`
	Overlays []OverlaySource   `json:"overlays,omitempty" maxItems:"16" doc:"Overlay documents (1.0, 1.1), applied in this order and kept with the toolset: a refresh applies them again. Absent for a toolset that is there: those it has. Empty: none."`
}

// OverlaySource is an Overlay document by URL or as text.
type OverlaySource struct {
	URL      string `json:"url,omitempty" maxLength:"2048" doc:"Where to fetch it, again at each refresh."`
	Document string `json:"document,omitempty" doc:"Its text, JSON or YAML."`
	FileName string `json:"fileName,omitempty" maxLength:"255" doc:"Name for messages."`
}

// Source is what was read of a request.
type Source struct {
	Spec        openapi.Source
	URL         string // as the operator gave it; empty: uploaded
	Title       string
	Validators  Validators
	NotModified bool
	Server      *connector.MCPServer // an MCP server, and then no specification
	Notices     []connector.Notice   // what an operator should look at in its words
	Refused     []connector.Refused  // its tools that cannot be served as they are described
	TTL         time.Duration        // how long the list of the server is good; 0: it does not say
	Tells       bool                 // the server reports changes
	Overlays    []OverlaySource      // as they are kept
	Documents   map[string][]byte    // other documents that references led to; set by who compiles
	Parts       map[string][]byte    // those documents as they are known; nil: they are fetched
}

// Room reads sources.
type Room struct {
	Fetcher Fetcher
	// MaxDocument bounds a specification in bytes, MaxPart each other document of it.
	MaxDocument, MaxPart int64
}

// Read takes a specification out of a request or fetches it, unless it is as since says.
// phase is told before what takes long.
func (r *Room) Read(ctx context.Context, o *OpenAPISource, since Validators, phase func(string)) (*Source, error) {
	given := 0
	for _, has := range []bool{o.URL != "", o.Document != "", len(o.Files) > 0} {
		if has {
			given++
		}
	}
	if given != 1 {
		return nil, request.FieldFault("/source/openapi", "source.openapi needs exactly one of url, document and files")
	}
	src := new(Source)
	name := cmp.Or(o.FileName, "document")
	switch {
	case o.Document != "":
		src.Spec = openapi.Source{Name: name, Data: []byte(o.Document)}
	case len(o.Files) > 0:
		files := make(map[string][]byte, len(o.Files))
		for p, text := range o.Files {
			files[p] = []byte(text)
		}
		var err error
		if src.Spec, err = openapi.InFiles(name, files, o.Main); err != nil {
			return nil, err
		}
	default:
		if err := r.fetch(ctx, src, o, since, phase); err != nil {
			return nil, err
		}
	}
	return src, r.readOverlays(ctx, src, o.Overlays)
}

// fetch reads a specification by its URL.
func (r *Room) fetch(ctx context.Context, src *Source, o *OpenAPISource, since Validators, phase func(string)) error {
	u, err := CheckURL(o.URL)
	if err != nil {
		return err
	}
	phase("fetching the specification")
	doc, err := r.Fetcher.Fetch(ctx, FetchRequest{URL: u, Limit: r.MaxDocument, Since: since})
	if err != nil {
		return err
	}
	src.URL, src.Validators, src.NotModified = u, doc.Validators, doc.NotModified
	src.Spec = openapi.Source{Name: u, Data: doc.Data, BaseURL: cmp.Or(doc.URL, u)}
	if openapi.IsArchive(doc.Data) {
		src.Spec, err = openapi.Unpack(u, doc.Data, o.Main)
	}
	return err
}

// readOverlays fetches what overlays are given by URL; what was fetched is kept
// for when it cannot be fetched again.
func (r *Room) readOverlays(ctx context.Context, src *Source, overlays []OverlaySource) error {
	for i, o := range overlays {
		at := fmt.Sprintf("/source/openapi/overlays/%d", i)
		if o.URL == "" && o.Document == "" {
			return request.FieldFault(at, "an overlay needs url or document")
		}
		if o.URL != "" {
			u, err := CheckURL(o.URL)
			if err != nil {
				return request.FieldFault(at+"/url", "the address of the overlay is not an http or https URL without credentials")
			}
			doc, err := r.Fetcher.Fetch(ctx, FetchRequest{URL: u, Limit: openapi.MaxOverlayBytes})
			if err != nil {
				return err
			}
			o.URL, o.Document = u, string(doc.Data)
		}
		name := cmp.Or(o.FileName, o.URL, fmt.Sprintf("overlay %d", i+1))
		src.Overlays = append(src.Overlays, o)
		src.Spec.Overlays = append(src.Spec.Overlays, openapi.Overlay{Name: name, Data: []byte(o.Document)})
	}
	return nil
}

// Part gets another document of a specification; the compiler asks for those
// of the same origin only, and counts them.
func (r *Room) Part(ctx context.Context, url string) ([]byte, error) {
	doc, err := r.Fetcher.Fetch(ctx, FetchRequest{URL: url, Limit: r.MaxPart})
	return doc.Data, err
}

// Part gets another document of a source whose documents are all known.
func (src *Source) Part(_ context.Context, url string) ([]byte, error) {
	b, ok := src.Parts[url]
	if !ok {
		return nil, problem.New(problem.NotFound, "the document has no file %.200q, which its specification refers to", url)
	}
	return b, nil
}

// Record is how the source is read again. Validators are kept only where they
// speak for everything that was read.
func (src *Source) Record(toolset, connector string) *store.ToolsetSource {
	row := &store.ToolsetSource{ToolsetID: toolset, Connector: connector, Overlays: store.JSON(src.Overlays)}
	if len(src.Documents) == 0 {
		row.ETag, row.LastModified = src.Validators.ETag, src.Validators.LastModified
	}
	return row
}

// Kind is what the source is.
func (src *Source) Kind() string {
	if src.Server != nil {
		return store.SourceMCP
	}
	return store.SourceOpenAPI
}

// Name of the source, for people.
func (src *Source) Name() string {
	if src.Server != nil {
		return src.URL
	}
	return src.Spec.Name
}

// Single reports a specification of one document, which is stored as it is.
func (src *Source) Single() bool { return len(src.Documents) == 0 && len(src.Spec.Overlays) == 0 }

// Format is that of the content: of the document when there is one alone.
func (src *Source) Format(ofDocument string) string {
	if src.Single() {
		return ofDocument
	}
	return "tar"
}

// Content is everything that was compiled: the document, or a tar of the main
// document, the others and the overlays. The same documents give the same bytes.
func (src *Source) Content() []byte {
	if src.Server != nil {
		return src.Server.Append(nil)
	}
	if src.Single() {
		return src.Spec.Data
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, data []byte) {
		// Writing to memory does not fail, and neither do these names.
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX})
		_, _ = w.Write(data)
	}
	main := src.Spec.Path
	if main == "" {
		main = "main"
	}
	add(main, src.Spec.Data)
	for _, name := range slices.Sorted(maps.Keys(src.Documents)) {
		add(name, src.Documents[name])
	}
	for i, o := range src.Spec.Overlays {
		add(fmt.Sprintf("overlays/%d", i), o.Data)
	}
	_ = w.Close()
	return b.Bytes()
}

// Unpack reads what [Source.Content] packed, without the overlays, which are kept apart.
func Unpack(content []byte) (first string, files map[string]string, err error) {
	r := tar.NewReader(bytes.NewReader(content))
	files = map[string]string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return first, files, nil
		}
		if err != nil {
			return "", nil, fmt.Errorf("reading a stored specification: %w", err)
		}
		b, err := io.ReadAll(io.LimitReader(r, store.MaxSpecificationBytes))
		if err != nil {
			return "", nil, fmt.Errorf("reading a stored specification: %w", err)
		}
		if first == "" {
			first = h.Name
		} else if strings.HasPrefix(h.Name, "overlays/") {
			continue
		}
		files[h.Name] = string(b)
	}
}

// Archive turns an uploaded file into the source of a request: its text, or
// the texts in it when it is an archive.
func Archive(name string, file []byte) (*OpenAPISource, error) {
	if !openapi.IsArchive(file) {
		return &OpenAPISource{Document: string(file), FileName: name}, nil
	}
	spec, err := openapi.Unpack(name, file, "")
	if err != nil {
		return nil, err
	}
	return filesSource(name, spec)
}

func filesSource(name string, spec openapi.Source) (*OpenAPISource, error) {
	o := &OpenAPISource{FileName: name, Main: spec.Path, Files: make(map[string]string, len(spec.Files))}
	for p, data := range spec.Files {
		if strings.ToValidUTF8(string(data), "") != string(data) {
			return nil, problem.New(problem.InvalidSpec, "the file is not UTF-8 text").At(p, 0, 0, "").Fix("pack JSON and YAML in UTF-8")
		}
		o.Files[p] = string(data)
	}
	return o, nil
}

// CheckURL checks the address of a specification and returns it without its
// fragment. Its faults do not repeat it: it may hold credentials.
func CheckURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", problem.New(problem.InvalidArgument, "the address of the specification is not an http or https URL").At("", 0, 0, "/source/openapi/url")
	case u.User != nil:
		return "", problem.New(problem.InvalidArgument, "the address of the specification holds credentials").At("", 0, 0, "/source/openapi/url").
			Fix("download the document and upload it")
	}
	u.Fragment = ""
	return u.String(), nil
}

// CheckBaseURL validates a base URL by the registry's rules, without repeating
// it: it may hold credentials.
func CheckBaseURL(s, at string) error {
	if s == "" {
		return nil
	}
	t := registry.Toolset{
		Workspace: "w", ID: "i", Slug: "s", Name: "n", Access: registry.Access{Mode: registry.AccessNone},
		Connectors: []registry.ConnectorRef{{
			Name: "c", Repository: "w/connectors/c", BaseURL: s, Manifest: registry.DigestOf(nil), Digest: registry.DigestOf(nil),
		}},
	}
	if faults := request.Faults(t.Validate()); len(faults) > 0 {
		return problem.New(problem.InvalidArgument, "the %s", faults[0].Detail).At("", 0, 0, at).Fix("use an address such as https://api.example.com/v1")
	}
	return nil
}
