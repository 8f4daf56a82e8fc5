package admin

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
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

// source is a specification that was read from a request.
type source struct {
	spec        openapi.Source
	url         string // as the operator gave it; empty: uploaded
	title       string
	validators  Validators
	notModified bool
	server      *connector.MCPServer // an MCP server, and then no specification
	notices     []connector.Notice   // what an operator should look at in its words
	refused     []connector.Refused  // its tools that cannot be served as they are described
	ttl         time.Duration        // how long the list of the server is good; 0: it does not say
	tells       bool                 // the server tells of changes
	overlays    []OverlaySource      // as they are kept
	documents   map[string][]byte    // other documents that references led to; set by compile
	parts       map[string][]byte    // those documents as they are known; nil: they are fetched
}

// readSource takes the specification out of a request or fetches it.
func (s *Server) readSource(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (*source, error) {
	o := in.Source.OpenAPI
	switch {
	case o != nil && in.Source.MCP != nil:
		return nil, request.FieldFault("/source", "the request names two sources: send source.openapi or source.mcp")
	case in.Source.MCP != nil:
		return s.readServer(ctx, in, again, phase)
	case o == nil:
		return nil, request.FieldFault("/source", "the request names no source: send source.openapi.url, source.openapi.document, source.mcp.url, source.catalog.entry or a multipart file")
	}
	since := again.validators()
	given := 0
	for _, has := range []bool{o.URL != "", o.Document != "", len(o.Files) > 0} {
		if has {
			given++
		}
	}
	if given != 1 {
		return nil, request.FieldFault("/source/openapi", "source.openapi needs exactly one of url, document and files")
	}
	src := new(source)
	name := o.FileName
	if name == "" {
		name = "document"
	}
	switch {
	case o.Document != "":
		src.spec = openapi.Source{Name: name, Data: []byte(o.Document)}
	case len(o.Files) > 0:
		files := make(map[string][]byte, len(o.Files))
		for p, text := range o.Files {
			files[p] = []byte(text)
		}
		var err error
		if src.spec, err = openapi.InFiles(name, files, o.Main); err != nil {
			return nil, err
		}
	default:
		u, err := sourceURL(o.URL)
		if err != nil {
			return nil, err
		}
		phase("fetching the specification")
		doc, err := s.o.Fetcher.Fetch(ctx, FetchRequest{URL: u, Limit: MaxBodyBytes, Since: since})
		if err != nil {
			return nil, err
		}
		if doc.URL == "" {
			doc.URL = u
		}
		src.url, src.validators, src.notModified = u, doc.Validators, doc.NotModified
		src.spec = openapi.Source{Name: u, Data: doc.Data, BaseURL: doc.URL}
		if openapi.IsArchive(doc.Data) {
			if src.spec, err = openapi.Unpack(u, doc.Data, o.Main); err != nil {
				return nil, err
			}
		}
	}
	return src, s.readOverlays(ctx, src, o.Overlays)
}

// readOverlays fetches what overlays are given by URL; what was fetched is kept
// for when it cannot be fetched again.
func (s *Server) readOverlays(ctx context.Context, src *source, overlays []OverlaySource) error {
	for i, o := range overlays {
		at := fmt.Sprintf("/source/openapi/overlays/%d", i)
		if o.URL == "" && o.Document == "" {
			return request.FieldFault(at, "an overlay needs url or document")
		}
		if o.URL != "" {
			u, err := sourceURL(o.URL)
			if err != nil {
				return request.FieldFault(at+"/url", "the address of the overlay is not an http or https URL without credentials")
			}
			const maxOverlay = 4 << 20 // as the compiler accepts
			doc, err := s.o.Fetcher.Fetch(ctx, FetchRequest{URL: u, Limit: maxOverlay})
			if err != nil {
				return err
			}
			o.URL, o.Document = u, string(doc.Data)
		}
		name := o.FileName
		if name == "" {
			name = o.URL
		}
		if name == "" {
			name = fmt.Sprintf("overlay %d", i+1)
		}
		src.overlays = append(src.overlays, o)
		src.spec.Overlays = append(src.spec.Overlays, openapi.Overlay{Name: name, Data: []byte(o.Document)})
	}
	return nil
}

// fetchPart gets another document of a specification; the compiler asks for those
// of the same origin only, and counts them.
func (s *Server) fetchPart(ctx context.Context, url string) ([]byte, error) {
	doc, err := s.o.Fetcher.Fetch(ctx, FetchRequest{URL: url, Limit: int64(cmp.Or(s.o.SpecLimits.MaxBytes, openapi.DefaultMaxBytes))})
	return doc.Data, err
}

// part gets another document of a source whose documents are all known.
func (src *source) part(_ context.Context, url string) ([]byte, error) {
	b, ok := src.parts[url]
	if !ok {
		return nil, problem.New(problem.NotFound, "the document has no file %.200q, which its specification refers to", url)
	}
	return b, nil
}

// record is how the source is read again. Validators are kept only where they
// speak for everything that was read.
func (src *source) record(toolset, connector string) *store.ToolsetSource {
	row := &store.ToolsetSource{ToolsetID: toolset, Connector: connector, Overlays: store.JSON(src.overlays)}
	if len(src.documents) == 0 {
		row.ETag, row.LastModified = src.validators.ETag, src.validators.LastModified
	}
	return row
}

// kind is what the source is.
func (src *source) kind() string {
	if src.server != nil {
		return kindMCP
	}
	return kindOpenAPI
}

// name of the source, for people.
func (src *source) name() string {
	if src.server != nil {
		return src.url
	}
	return src.spec.Name
}

// single reports a specification of one document, which is stored as it is.
func (src *source) single() bool { return len(src.documents) == 0 && len(src.spec.Overlays) == 0 }

func (src *source) format(ofDocument string) string {
	if src.single() {
		return ofDocument
	}
	return "tar"
}

// content is everything that was compiled: the document, or a tar of the main
// document, the others and the overlays. The same documents give the same bytes.
func (src *source) content() []byte {
	if src.server != nil {
		return src.server.Append(nil)
	}
	if src.single() {
		return src.spec.Data
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, data []byte) {
		// Writing to memory does not fail, and neither do these names.
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX})
		_, _ = w.Write(data)
	}
	main := src.spec.Path
	if main == "" {
		main = "main"
	}
	add(main, src.spec.Data)
	for _, name := range slices.Sorted(maps.Keys(src.documents)) {
		add(name, src.documents[name])
	}
	for i, o := range src.spec.Overlays {
		add(fmt.Sprintf("overlays/%d", i), o.Data)
	}
	_ = w.Close()
	return b.Bytes()
}

// archiveSource turns an uploaded file into the source of a request: its text, or
// the texts in it when it is an archive.
func archiveSource(name string, file []byte) (*OpenAPISource, error) {
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
