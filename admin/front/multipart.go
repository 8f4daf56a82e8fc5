package front

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// SpecificationPaths take a specification as a file.
var SpecificationPaths = []string{"/v1/toolsets", "/v1/connectors/preview"}

// PluginsPath takes a module, its signature and its golden cases as files.
const PluginsPath = "/v1/plugins"

// maxRequestPart bounds the part "request": it is the JSON body without the
// document.
const maxRequestPart = 1 << 20

// multipartToJSON turns a multipart/form-data body with the parts "request"
// (JSON, may be absent) and "file" into the JSON body it stands for, with the
// file as source.openapi.document (source.openapi.files when it is an archive).
// Other bodies are returned as they are.
func multipartToJSON(r *http.Request, body []byte) ([]byte, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || r.Method != http.MethodPost || r.URL.Path != PluginsPath && !slices.Contains(SpecificationPaths, r.URL.Path) {
		return body, nil //nolint:nilerr // a content type that is not ours is the handler's to refuse
	}
	var doc map[string]json.RawMessage
	var file []byte
	var name string
	var overlays []source.OverlaySource
	found := false
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	if r.URL.Path == PluginsPath {
		return pluginFromParts(r, parts)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, problem.New(problem.InvalidArgument, "the multipart body is broken").Because(err)
		}
		if bad(part.FileName()) {
			return nil, textProblem("the name of a file has bytes that are not UTF-8")
		}
		switch part.FormName() {
		case "request":
			b, err := io.ReadAll(io.LimitReader(part, maxRequestPart+1))
			if err != nil {
				return nil, problem.New(problem.InvalidArgument, "the part \"request\" is broken").Because(err)
			}
			if len(b) > maxRequestPart {
				return nil, problem.New(problem.TooLarge, "the part \"request\" is larger than %d bytes", maxRequestPart)
			}
			if err := json.Unmarshal(b, &doc); err != nil {
				return nil, problem.New(problem.InvalidArgument, "the part \"request\" is not a JSON object").Because(err)
			}
		case "file":
			if found {
				return nil, problem.New(problem.InvalidArgument, "there is more than one part \"file\"").Fix("send one specification at a time")
			}
			found = true
			name = path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
			if file, err = io.ReadAll(part); err != nil {
				return nil, problem.New(problem.InvalidArgument, "the part \"file\" is broken").Because(err)
			}
		case "overlay":
			b, err := io.ReadAll(part)
			if err != nil {
				return nil, problem.New(problem.InvalidArgument, "the part \"overlay\" is broken").Because(err)
			}
			if !utf8.Valid(b) {
				return nil, textProblem("the part \"overlay\" is not UTF-8 text")
			}
			overlays = append(overlays, source.OverlaySource{Document: string(b), FileName: path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))})
		}
	}
	if !found {
		return nil, problem.New(problem.InvalidArgument, "the part \"file\" is missing").Fix("send the specification as the part \"file\"")
	}
	if _, has := doc["source"]; has {
		return nil, problem.New(problem.InvalidArgument, "the request names a source besides the file").Fix("leave \"source\" out of the part \"request\"")
	}
	if !openapi.IsArchive(file) && !utf8.Valid(file) {
		return nil, problem.New(problem.InvalidSpec, "the file is not UTF-8 text").At(name, 0, 0, "").Fix("upload JSON or YAML in UTF-8")
	}
	if doc == nil {
		doc = map[string]json.RawMessage{}
	}
	src, err := source.Archive(name, file)
	if err != nil {
		return nil, err
	}
	src.Overlays = overlays
	doc["source"] = json.RawMessage(store.JSON(map[string]any{"openapi": src}))
	r.Header.Set("Content-Type", "application/json")
	return []byte(store.JSON(doc)), nil
}

// pluginFromParts turns the parts "module", "signature" and any number of "case"
// (whose file name is the case's) into the JSON body they stand for.
func pluginFromParts(r *http.Request, parts *multipart.Reader) ([]byte, error) {
	var in struct {
		Module    []byte              `json:"module,omitempty"`
		OCI       string              `json:"oci,omitempty"`
		Signature []byte              `json:"signature,omitempty"`
		Cases     []plugin.PluginCase `json:"cases,omitempty"`
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var b []byte
		if err == nil {
			b, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, problem.New(problem.InvalidArgument, "the multipart body is broken").Because(err)
		}
		if bad(part.FileName()) || part.FormName() == "oci" && bad(string(b)) {
			return nil, textProblem("the part %.80q has bytes that are not UTF-8 in it, or in its file name", part.FormName())
		}
		switch part.FormName() {
		case "module":
			in.Module = b
		case "signature":
			in.Signature = b
		case "oci":
			in.OCI = string(b)
		case "case":
			if !json.Valid(b) {
				return nil, problem.New(problem.InvalidPlugin, "golden case %.128s is not JSON", part.FileName())
			}
			name := strings.TrimSuffix(path.Base(strings.ReplaceAll(part.FileName(), `\`, "/")), ".json")
			in.Cases = append(in.Cases, plugin.PluginCase{Name: name, Case: b})
		default:
			return nil, problem.New(problem.InvalidArgument, "the request has a part %.80q", part.FormName()).Fix("send module, signature, oci and case")
		}
	}
	r.Header.Set("Content-Type", "application/json")
	return []byte(store.JSON(in)), nil
}
