package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi/datamodel"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v2 "github.com/pb33f/libopenapi/datamodel/high/v2"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"github.com/sluicegate/sluice/plugins/operation"
)

// The oracle compares what the compiler reads with libopenapi's model of the same
// document: operations, parameters, bodies, and the keys of their schemas. It runs
// in child processes: libopenapi needs a gigabyte for a large document and some
// inputs end its process.

// theirOperation is an operation as libopenapi's model has it.
type theirOperation struct {
	params map[string]theirParam // by location and name
	bodies map[string]*base.SchemaProxy
	must   bool // the body is required
}

type theirParam struct {
	required, deprecated bool
	typ                  string // of Swagger 2.0
	schema               *base.SchemaProxy
}

// oracleReport is what a child process says of one specification.
type oracleReport struct {
	Operations, Parameters, Schemas int // compared
	Differences                     []string
}

// runOracle is the child process.
func runOracle(file, main string) oracleReport {
	var r oracleReport
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	top := strings.TrimSuffix(file, filepath.FromSlash(main))
	o := &oracle{theirs: map[string]*theirOperation{}, r: &r}
	theirErr := o.read(data, top, file)
	var ours []*operation.Operation
	res, err := Compile(context.Background(), Source{Name: filepath.Base(file), Data: data, Path: main}, Options{
		Limits: Limits{Timeout: time.Minute},
		Open:   func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(top, filepath.FromSlash(path))) },
		Each: func(op *operation.Operation) error {
			ours = append(ours, op)
			return nil
		},
	})
	switch {
	case err != nil && theirErr != nil:
		return r
	case err != nil || o.theirs == nil:
		r.Differences = append(r.Differences, fmt.Sprintf("whole document: compiler: %v, libopenapi: %v", err, theirErr))
		return r
	}
	o.hidden = map[string]bool{}
	for _, s := range res.API.Schemes {
		if s.Name != "" {
			o.hidden[s.In+" "+strings.ToLower(s.Name)] = true
		}
	}
	if len(o.theirs) == 0 && theirErr != nil && len(ours) > 0 {
		r.Differences = append(r.Differences, fmt.Sprintf("whole document: libopenapi has no operation: %v", theirErr))
		return r
	}
	missing := maps.Clone(o.theirs)
	for _, op := range ours {
		key := op.Method + " " + op.Path
		delete(missing, key)
		o.operation(key, op)
	}
	for _, u := range res.Unsupported {
		delete(missing, u.Method+" "+u.Path) // listed with a reason
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		o.differ(key, "is not compiled")
	}
	return r
}

type oracle struct {
	theirs map[string]*theirOperation
	hidden map[string]bool // credentials: location and lower-case name
	r      *oracleReport
}

// maxDifferences bounds the report of one document.
const maxDifferences = 10_000

func (o *oracle) differ(key, format string, args ...any) {
	if len(o.r.Differences) < maxDifferences {
		o.r.Differences = append(o.r.Differences, key+": "+fmt.Sprintf(format, args...))
	}
}

func (o *oracle) read(data []byte, top, file string) error {
	doc, err := libopenapi.NewDocumentWithConfiguration(data, &datamodel.DocumentConfiguration{
		BasePath: filepath.Dir(file), SpecFilePath: filepath.Base(file), AllowFileReferences: filepath.Dir(file) != filepath.Clean(top) || hasNeighbours(top),
		IgnoreArrayCircularReferences: true, IgnorePolymorphicCircularReferences: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		o.theirs = nil
		return err
	}
	if doc.GetSpecInfo().SpecType == "swagger" {
		m, err := doc.BuildV2Model()
		if m == nil {
			o.theirs = nil
			return err
		}
		o.swagger(&m.Model)
		return err
	}
	m, err := doc.BuildV3Model()
	if m == nil {
		o.theirs = nil
		return err
	}
	if m.Model.Paths == nil {
		return err
	}
	for path, item := range m.Model.Paths.PathItems.FromOldest() {
		for method, op := range item.GetOperations().FromOldest() {
			t := &theirOperation{params: map[string]theirParam{}, bodies: map[string]*base.SchemaProxy{}}
			for _, p := range append(slices.Clone(item.Parameters), op.Parameters...) {
				q := theirParam{required: p.Required != nil && *p.Required, deprecated: p.Deprecated, schema: p.Schema}
				if p.Content != nil {
					for _, media := range p.Content.FromOldest() {
						q.schema = media.Schema
					}
				}
				t.params[p.In+" "+p.Name] = q
			}
			if b := op.RequestBody; b != nil && b.Content != nil {
				t.must = b.Required != nil && *b.Required
				for name, media := range b.Content.FromOldest() {
					t.bodies[mediaType(name)] = bodySchema(media)
				}
			}
			o.theirs[verb(method)+" "+path] = t
		}
	}
	return err
}

func bodySchema(m *v3.MediaType) *base.SchemaProxy {
	if m == nil {
		return nil
	}
	return m.Schema
}

// verb is a method as it is sent: those with a field of their own are upper case.
func verb(key string) string {
	switch key {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace", "query":
		return strings.ToUpper(key)
	}
	return key
}

func hasNeighbours(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 1
}

func (o *oracle) swagger(m *v2.Swagger) {
	if m.Paths == nil {
		return
	}
	for path, item := range m.Paths.PathItems.FromOldest() {
		for method, op := range map[string]*v2.Operation{
			"GET": item.Get, "PUT": item.Put, "POST": item.Post, "DELETE": item.Delete, "OPTIONS": item.Options, "HEAD": item.Head, "PATCH": item.Patch,
		} {
			if op == nil {
				continue
			}
			t := &theirOperation{params: map[string]theirParam{}, bodies: map[string]*base.SchemaProxy{}}
			for _, p := range append(slices.Clone(item.Parameters), op.Parameters...) {
				q := theirParam{required: p.Required != nil && *p.Required, typ: p.Type, schema: p.Schema}
				switch p.In {
				case "body":
					t.bodies[""], t.must = p.Schema, q.required
				case "formData":
					t.bodies["form "+p.Name] = nil
				default:
					t.params[p.In+" "+p.Name] = q
				}
			}
			o.theirs[method+" "+path] = t
		}
	}
}

// operation compares one operation.
func (o *oracle) operation(key string, op *operation.Operation) {
	t := o.theirs[key]
	if t == nil {
		o.differ(key, "libopenapi does not have it")
		return
	}
	o.r.Operations++
	ours := map[string]operation.Param{}
	for _, p := range op.Plan.Params {
		ours[string(p.In)+" "+p.Name] = p
	}
	for _, at := range slices.Sorted(maps.Keys(t.params)) {
		p, q := ours[at], t.params[at]
		delete(ours, at)
		if f := flatten([]*base.SchemaProxy{q.schema}); q.schema != nil && f != nil {
			q.deprecated = q.deprecated || f.deprecated
		}
		in, name, _ := strings.Cut(at, " ")
		switch {
		case o.hidden[in+" "+strings.ToLower(name)] && p.Name == "", ignoredHeader(in, name), q.deprecated && !q.required && p.Name == "":
			continue // rules 6 and 20
		case p.Name == "":
			o.differ(key, "parameter %s is not compiled", at)
			continue
		}
		o.r.Parameters++
		if must := q.required || in == "path"; p.Required != must && p.Arg != "" {
			o.differ(key, "parameter %s: required %v, libopenapi %v", at, p.Required, must)
		}
		if q.typ != "" && p.Schema != nil && p.Schema.Type != 0 && p.Schema.Type&typeNames[q.typ] == 0 && q.typ != "file" {
			o.differ(key, "parameter %s: type %s", at, q.typ)
		}
		o.schema(key, at, p.Schema, []*base.SchemaProxy{q.schema}, 0)
	}
	for _, at := range slices.Sorted(maps.Keys(ours)) {
		o.differ(key, "libopenapi has no parameter %s", at)
	}
	o.body(key, op, t)
}

// ignoredHeader reports header parameters that have no effect, by the standard.
func ignoredHeader(in, name string) bool {
	return in == "header" && (strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Accept") || strings.EqualFold(name, "Content-Type"))
}

func (o *oracle) body(key string, op *operation.Operation, t *theirOperation) {
	b := op.Plan.Body
	if b == nil {
		if len(t.bodies) > 0 && op.Method != http.MethodGet && op.Method != http.MethodHead {
			o.differ(key, "the body is not compiled")
		}
		return
	}
	if len(t.bodies) == 0 {
		o.differ(key, "libopenapi has no body")
		return
	}
	form := false
	for name := range t.bodies {
		field, isField := strings.CutPrefix(name, "form ")
		form = form || isField
		if isField && !slices.ContainsFunc(b.Fields, func(f operation.Field) bool { return f.Name == field }) && b.Arg == "" && !o.hidden["formData "+strings.ToLower(field)] {
			o.differ(key, "form field %s is not compiled", field)
		}
	}
	if form {
		return
	}
	theirs, ok := t.bodies[b.MediaType]
	if !ok {
		theirs, ok = t.bodies[""]
	}
	if !ok {
		o.differ(key, "libopenapi has no body of type %s", b.MediaType)
		return
	}
	if b.Required != t.must {
		o.differ(key, "body: required %v, libopenapi %v", b.Required, t.must)
	}
	switch {
	case theirs == nil || strings.HasPrefix(b.MediaType, "text/") && b.Arg != "" || b.MediaType == "application/octet-stream":
	case b.Arg != "":
		o.schema(key, "body", b.Schema, []*base.SchemaProxy{theirs}, 0)
	default:
		whole := &operation.Schema{Type: operation.TypeObject}
		for _, f := range b.Fields {
			whole.Properties = append(whole.Properties, operation.Property{Name: f.Name, Schema: f.Schema})
			if f.Required {
				whole.Required = append(whole.Required, f.Name)
			}
		}
		o.schema(key, "body", whole, []*base.SchemaProxy{theirs}, 0)
	}
}

// flat is a schema of libopenapi with its allOf merged.
type flat struct {
	types    []string
	props    map[string][]*base.SchemaProxy // all of them hold
	required []string
	items    []*base.SchemaProxy
	enum     int
	variants bool // oneOf or anyOf with several branches
	nullable bool
	fixed    bool // has a default

	readOnly, deprecated bool
}

// flatten merges schemas that must all hold; nil when libopenapi resolves none.
func flatten(all []*base.SchemaProxy) *flat {
	var f flat
	known := false
	for _, p := range all {
		known = f.add(p, 0) || known
	}
	if !known {
		return nil
	}
	return &f
}

func (f *flat) add(p *base.SchemaProxy, depth int) bool {
	if p == nil || depth > 20 {
		return false
	}
	s := p.Schema()
	if s == nil {
		return false
	}
	if f.types == nil {
		f.types = s.Type
	}
	if s.Properties != nil {
		for name, q := range s.Properties.FromOldest() {
			if f.props == nil {
				f.props = map[string][]*base.SchemaProxy{}
			}
			f.props[name] = append(f.props[name], q)
		}
	}
	for _, r := range s.Required {
		if !slices.Contains(f.required, r) {
			f.required = append(f.required, r)
		}
	}
	if s.Items != nil && s.Items.IsA() && s.Items.A != nil {
		f.items = append(f.items, s.Items.A)
	}
	if f.enum == 0 {
		f.enum = len(s.Enum)
	}
	f.nullable = f.nullable || s.Nullable != nil && *s.Nullable || slices.Contains(s.Type, "null")
	f.fixed = f.fixed || s.Default != nil
	f.readOnly = f.readOnly || s.ReadOnly != nil && *s.ReadOnly || beside(p, "readOnly")
	f.deprecated = f.deprecated || s.Deprecated != nil && *s.Deprecated || beside(p, "deprecated")
	all := slices.Clone(s.AllOf)
	for _, list := range [][]*base.SchemaProxy{s.AnyOf, s.OneOf} {
		var some []*base.SchemaProxy
		for _, b := range list {
			if q := b.Schema(); q != nil && slices.Equal(q.Type, []string{"null"}) {
				f.nullable = true
				continue
			}
			some = append(some, b)
		}
		if len(some) == 1 {
			all = append(all, some[0]) // rule 9
		} else if len(some) > 1 {
			f.variants = true
		}
	}
	for _, b := range all {
		f.add(b, depth+1)
	}
	return true
}

// schema compares the keys of a schema with those of the plan's, as deep as the
// plan goes; nil there means anything (rule 7).
func (o *oracle) schema(key, at string, ours *operation.Schema, theirs []*base.SchemaProxy, depth int) {
	if ours == nil || len(theirs) == 0 || theirs[0] == nil || depth > 12 || ours.Media != "" {
		return
	}
	f := flatten(theirs)
	if f == nil {
		o.differ(key, "%s: libopenapi does not resolve the schema", at)
		return
	}
	o.r.Schemas++
	o.types(key, at, ours, f)
	if f.variants {
		return // alternatives: published and planned by rules 9 to 11, which other tests judge
	}
	mine := map[string]*operation.Schema{}
	for _, p := range ours.Properties {
		mine[p.Name] = p.Schema
	}
	for _, name := range slices.Sorted(maps.Keys(f.props)) {
		p, has := mine[name]
		delete(mine, name)
		q := flatten(f.props[name])
		if q == nil {
			q = &flat{}
		}
		if !has {
			if !q.readOnly && (!q.deprecated || slices.Contains(f.required, name)) { // rules 16 and 20
				o.differ(key, "%s: member %s is not compiled", at, name)
			}
			continue
		}
		need := slices.Contains(f.required, name) && !(q.nullable && q.fixed) // rule 11
		if got := slices.Contains(ours.Required, name); got != need {
			o.differ(key, "%s: member %s required %v, libopenapi %v", at, name, got, need)
		}
		o.schema(key, at+"."+name, p, f.props[name], depth+1)
	}
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		o.differ(key, "%s: libopenapi has no member %s", at, name)
	}
	o.schema(key, at+"[]", ours.Items, f.items, depth+1)
}

// beside reports a keyword that stands beside a reference: 3.0 says it has no
// effect there, and its author says it all the same.
func beside(p *base.SchemaProxy, keyword string) bool {
	n := p.GetReferenceNode()
	if n == nil {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == keyword {
			return n.Content[i+1].Value == "true"
		}
	}
	return false
}

// types compares the type, where both know one, and the size of a closed list.
func (o *oracle) types(key, at string, ours *operation.Schema, f *flat) {
	var want operation.Type
	for _, name := range f.types {
		want |= typeNames[strings.ToLower(name)]
	}
	const null = operation.TypeNull
	if got := withIntegers(ours.Type &^ null); got != 0 && want&^null != 0 && got&withIntegers(want&^null) == 0 {
		o.differ(key, "%s: type %v, libopenapi %v", at, typeList(ours.Type&^null), f.types)
	}
	if f.enum > 0 && ours.Enum == nil && f.enum <= maxCheckedEnum && !f.variants && f.enum > 1 {
		o.differ(key, "%s: the list of %d values is not compiled", at, f.enum)
	}
}

// explained is a line of testdata/oracle.tsv: a difference and why it is right.
type explained struct {
	spec, text, why string
	used            bool
}

func explanations(t *testing.T) []*explained {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "oracle.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*explained
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cols := strings.Split(line, "\t")
		if len(cols) != 3 || cols[2] == "" {
			t.Fatalf("testdata/oracle.tsv: not specification, difference, reason: %q", line)
		}
		out = append(out, &explained{spec: cols[0], text: cols[1], why: cols[2]})
	}
	return out
}

// oracleMaxBytes is the size of a specification that the ordinary test compares;
// SLUICE_ORACLE=all compares every one, as make openapi-report does.
const oracleMaxBytes = 400 << 10

// TestOracle compares the compiler with libopenapi on the corpus. Each difference
// stands in testdata/oracle.tsv with its reason; a line there that explains nothing
// any more fails the test.
func TestOracle(t *testing.T) {
	dir := corpusDir(t)
	list := explanations(t)
	all := os.Getenv("SLUICE_ORACLE") == "all"
	var specs []corpusSpec
	for _, s := range corpusSpecs(t, dir) {
		info, err := os.Stat(s.file)
		if err != nil {
			t.Fatal(err)
		}
		if all || info.Size() <= oracleMaxBytes {
			specs = append(specs, s)
		}
	}
	reports := make([]oracleReport, len(specs))
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	turn := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	for i, s := range specs {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			reports[i], errs[i] = askOracle(t.Context(), dir, s)
		})
	}
	wg.Wait()
	var operations, parameters, schemas, differences int
	for i, s := range specs {
		if errs[i] != nil {
			if !explain(list, s.id, "the process: "+errs[i].Error()) {
				t.Errorf("%s: %v", s.id, errs[i])
			}
			continue
		}
		r := reports[i]
		operations, parameters, schemas, differences = operations+r.Operations, parameters+r.Parameters, schemas+r.Schemas, differences+len(r.Differences)
		for _, d := range r.Differences {
			if !explain(list, s.id, d) {
				t.Errorf("%s\t%s", s.id, d)
			}
		}
		if len(r.Differences) == maxDifferences {
			t.Errorf("%s: more than %d differences", s.id, maxDifferences)
		}
	}
	read := map[string]bool{}
	for _, s := range specs {
		read[s.id] = true
	}
	for _, e := range list {
		if !e.used && (all || read[e.spec]) {
			t.Errorf("testdata/oracle.tsv: stale: %s: %s", e.spec, e.text)
		}
	}
	t.Logf("oracle: %d specifications, %d operations, %d parameters, %d schemas, %d differences", len(specs), operations, parameters, schemas, differences)
}

// explain looks for a line of the list: of this specification or of any ("*"), with
// the difference or a part of it.
func explain(list []*explained, spec, difference string) bool {
	for _, e := range list {
		if (e.spec == spec || e.spec == "*") && strings.Contains(difference, e.text) {
			e.used = true
			return true
		}
	}
	return false
}

func askOracle(ctx context.Context, dir string, s corpusSpec) (oracleReport, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	main, err := filepath.Rel(filepath.Join(dir, "specs", s.id), s.file)
	if err != nil {
		return oracleReport{}, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "SLUICE_OPENAPI_ORACLE_FILE="+s.file, "SLUICE_OPENAPI_ORACLE_MAIN="+filepath.ToSlash(main), "GOMEMLIMIT=1GiB")
	var r oracleReport
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("ends with %w", err)
	}
	return r, json.Unmarshal(out, &r)
}
