package document

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Around is what the handlers around the operations do.
type Around struct {
	// IdempotencyKey is the longest key of a repeated request.
	IdempotencyKey int
	// Modules is the path that takes a plugin as files, Specifications those that take a
	// specification as a file.
	Modules        string
	Specifications []string
	// Described says that the properties of the schemas, which servers of a process share,
	// were described for another document.
	Described bool
}

// Finish says in the API's own OpenAPI document what the handlers around the operations
// do, and opens the schemas of answers. It panics when a role is given to an operation
// that is not registered.
func Finish(api *huma.OpenAPI, around Around) {
	documentMultipart(api, around)
	api.Paths["/v1/toolsets/{id}"].Get.Responses["304"] = &huma.Response{
		Description: "Not modified", Headers: map[string]*huma.Param{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
	for _, item := range api.Paths {
		if item.Post != nil {
			longest := around.IdempotencyKey
			item.Post.Parameters = append(item.Post.Parameters, &huma.Param{
				Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest},
				Description: "A repeated request with the same key gets the answer of the first, for 24 hours.",
			})
		}
	}
	openAnswers(api)
	documentLists(api)
	requireMatch(api)
	tagOperations(api)
	describeProperties(api, around.Described)
	checkRoles(api)
}

// requireMatch marks If-Match as required where a request without it is answered with 428.
func requireMatch(api *huma.OpenAPI) {
	for _, path := range []string{"/v1/toolsets/{id}", "/v1/toolsets/{id}/connectors/{connector}", "/v1/members/{id}"} {
		for _, op := range []*huma.Operation{api.Paths[path].Patch, api.Paths[path].Delete} {
			for i, p := range op.Parameters {
				if p.Name == "If-Match" {
					needed := *p // operations share what they have in common
					needed.Required = true
					op.Parameters[i] = &needed
				}
			}
			op.Responses["428"] = &huma.Response{Description: "If-Match is missing", Content: op.Responses["default"].Content}
		}
	}
}

// openAnswers takes "additionalProperties": false off every schema that only
// answers use: the API grows by new fields, and a client must not refuse them.
// Requests stay closed, so that a misspelt field is an error.
func openAnswers(api *huma.OpenAPI) {
	schemas := api.Components.Schemas.Map()
	sent := map[*huma.Schema]bool{}
	var visit func(s *huma.Schema)
	visit = func(s *huma.Schema) {
		if s == nil || sent[s] {
			return
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			visit(schemas[name])
			return
		}
		sent[s] = true
		visit(s.Items)
		for _, p := range s.Properties {
			visit(p)
		}
	}
	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Post, item.Put, item.Patch} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				visit(media.Schema)
			}
		}
	}
	for _, s := range schemas {
		if closed, isBool := s.AdditionalProperties.(bool); isBool && !closed && !sent[s] {
			s.AdditionalProperties = nil
		}
	}
}

// documentMultipart says in the API's document which bodies of several parts are accepted.
func documentMultipart(api *huma.OpenAPI, around Around) {
	api.Paths[around.Modules].Post.RequestBody.Content["multipart/form-data"] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			"module":    {Type: huma.TypeString, Format: "binary", Description: "The WebAssembly module."},
			"oci":       {Type: huma.TypeString, Description: "Instead of module: NAME:TAG or NAME@DIGEST of an artifact."},
			"signature": {Type: huma.TypeString, Format: "binary", Description: "What sluice plugin sign wrote."},
			"case":      {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Description: "Golden cases; the file's name is the case's."},
		},
	}}
	for _, p := range around.Specifications {
		op := api.Paths[p].Post
		op.RequestBody.Content["multipart/form-data"] = &huma.MediaType{
			Schema: &huma.Schema{
				Type: huma.TypeObject, Required: []string{"file"},
				Properties: map[string]*huma.Schema{
					"request": {Type: huma.TypeString, ContentEncoding: "", Description: "The JSON body without source; may be absent."},
					"file":    {Type: huma.TypeString, Format: "binary", Description: "The specification, JSON or YAML, or a zip, tar or tar.gz of its files."},
					"overlay": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Description: "Overlay documents, applied in this order."},
				},
			},
			Encoding: map[string]*huma.Encoding{"request": {ContentType: "application/json"}},
		}
	}
}

// Job describes an operation that answers with its result or with the job it became.
func Job(api *huma.OpenAPI, path string, job, result any, statuses ...int) {
	op := api.Paths[path].Post
	delete(op.Responses, "200")
	header := func(d string) *huma.Param {
		return &huma.Param{Description: d, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	for _, status := range statuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Headers:     map[string]*huma.Param{"Location": header("Path of the toolset."), "ETag": header("Version of the toolset.")},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: api.Components.Schemas.Schema(reflect.TypeOf(result), true, "")}},
		}
	}
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: "Prefer", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "wait=N: seconds to wait for the result before it becomes a job, 0 to 60. Default: 10 (RFC 7240).",
	})
	op.Responses["202"] = &huma.Response{
		Description: "The work goes on as a job",
		Headers:     map[string]*huma.Param{"Location": header("Path of the job."), "Retry-After": header("Seconds.")},
		Content:     map[string]*huma.MediaType{"application/json": {Schema: api.Components.Schemas.Schema(reflect.TypeOf(job), true, "")}},
	}
}
