package openapi

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/operation"
)

// fixture compiles a specification of testdata/arguments; its operations by name.
func fixture(t *testing.T, name string, limits Limits) map[string]*operation.Operation {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "arguments", name))
	if err != nil {
		t.Fatal(err)
	}
	rules := newClientRules(t)
	_, ops := compileAll(t, Source{Name: name, Data: data}, Options{Limits: limits})
	byName := map[string]*operation.Operation{}
	for _, op := range ops {
		rules.tool(op)
		byName[op.Name] = op
	}
	return byName
}

// request checks arguments and builds the request: "METHOD target body", or the
// error.
func request(t *testing.T, op *operation.Operation, args string) string {
	t.Helper()
	if op == nil {
		t.Fatal("there is no such operation")
	}
	c, err := op.Plan.Compile()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonscan.Parse([]byte(args), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(v); err != nil {
		p := problem.As(err)
		if p == nil || p.Kind != problem.InvalidArguments || p.Remedy == "" {
			t.Fatalf("%s: %v", args, err)
		}
		return "refused: " + p.Place.Pointer + ": " + p.Detail
	}
	var r operation.Request
	if err := c.Build(&r, v); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	out := r.Method + " " + string(r.Target)
	if r.HasBody {
		out += " " + string(r.ContentType) + " " + string(r.Body)
	}
	return out
}

// TestSubtypes: a schema with a discriminator stands for what extends it by allOf,
// and the value of the discriminator says what else there must be.
func TestSubtypes(t *testing.T) {
	ops := fixture(t, "inherit.yaml", Limits{})
	f := func(tool, body, want string) {
		t.Helper()
		got := request(t, ops[tool], `{"body":`+body+`}`)
		if want == "" {
			if !strings.HasSuffix(got, " application/json "+body) {
				t.Errorf("%s %s: %s", tool, body, got)
			}
			return
		}
		if !strings.HasPrefix(got, "refused: "+want) {
			t.Errorf("%s %s:\n%s\nwant %s", tool, body, got, want)
		}
	}
	f("add_pet", `{"petType":"Cat","name":"a","huntingSkill":"lazy"}`, "")
	f("add_pet", `{"petType":"Dog","name":"a","packSize":3}`, "")
	f("add_pet", `{"petType":"Puppy","name":"a","packSize":3,"toy":"x"}`, "")
	f("add_pet", `{"petType":"lizard","name":"a","venom":true}`, "")
	f("add_pet", `{"petType":"Cat","name":"a"}`, `/body/huntingSkill: required but missing, expected one of "clueless", "lazy" (petType is "Cat")`)
	f("add_pet", `{"petType":"Dog","name":"a","packSize":-1}`, `/body/packSize: expected at least 0, got -1 (petType is "Dog")`)
	f("add_pet", `{"petType":"cat","name":"a","huntingSkill":"lazy"}`, `/body/petType: expected one of "lizard", "Cat", "Dog", "Puppy", got string "cat"; did you mean "Cat"?`)
	f("add_pet", `{"name":"a","huntingSkill":"lazy"}`, `/body/petType: required but missing, expected one of "lizard", "Cat"`)
	f("add_shape", `{"kind":"circle","radius":2}`, "")
	f("add_shape", `{"kind":"box","radius":2}`, `/body/side: required but missing`)
	f("add_vehicle", `{"class":"Boat","draught":2}`, "")
	f("add_vehicle", `{"class":"Petrol","fuel":"Petrol","tank":2}`, "")
	f("add_vehicle", `{"class":"Car","fuel":"Electric","battery":2}`, "")
	f("add_vehicle", `{"class":"Car","fuel":"Electric","tank":2}`, `/body/battery: required but missing, expected integer (fuel is "Electric")`)

	if got := request(t, ops["add_home"], `{"pet":{"petType":"Dog","name":"a"}}`); !strings.HasPrefix(got, "refused: /pet/packSize: required") {
		t.Error(got)
	}
	// A subtype that is asked for by its own name is that one only.
	if got := request(t, ops["add_cat"], `{"petType":"Cat","name":"a","huntingSkill":"lazy"}`); !strings.HasPrefix(got, "POST /cats") {
		t.Error(got)
	}
	if s := string(ops["add_cat"].InputSchema); strings.Contains(s, "packSize") {
		t.Error(s)
	}
	// All members and all values are published.
	for tool, words := range map[string][]string{
		"add_pet":     {"huntingSkill", "packSize", "venom", "toy", `"lizard"`, `"Cat"`, `"Dog"`, `"Puppy"`},
		"add_home":    {"huntingSkill", "packSize", "venom", "toy", `"lizard"`},
		"add_shape":   {"radius", "side", `"circle"`, `"box"`},
		"add_vehicle": {"draught", "battery", "tank", "fuel"},
	} {
		for _, w := range words {
			if !strings.Contains(string(ops[tool].InputSchema), w) {
				t.Errorf("%s: %s is not in %s", tool, w, ops[tool].InputSchema)
			}
		}
	}
}

// TestArgumentNames: names tell arguments apart, and what is sent has the names of
// the wire.
func TestArgumentNames(t *testing.T) {
	ops := fixture(t, "names.yaml", Limits{})
	f := func(tool, args, want string) {
		t.Helper()
		if got := request(t, ops[tool], args); !strings.HasPrefix(got, want) {
			t.Errorf("%s %s:\n%s\nwant %s", tool, args, got, want)
		}
	}
	for arg, wire := range map[string]string{
		"DateCreated": "DateCreated", "DateCreated_before": "DateCreated%3C", "DateCreated_after": "DateCreated%3E",
		"price_at_most": "price%3C%3D", "price_at_least": "price%5B%3E%3D%5D", "created_gte": "created%5Bgte%5D", "created_lt": "created%5Blt%5D",
		"status_not": "status%21", "name_like": "name~", "id_in": "id.in", "filter": "filter", "dollar_filter": "%24filter",
		"ids": "ids", "tags": "tags", "marker": "marker", "Marker_2": "Marker",
		"since": "since", // deprecated: not published, accepted
	} {
		value, sent := `"2026-01-02T03:04:05Z"`, "2026-01-02T03%3A04%3A05Z"
		if strings.HasPrefix(arg, "price") || strings.HasPrefix(arg, "created") {
			value, sent = "5", "5"
		}
		f("list_calls", `{"`+arg+`":`+value+`}`, "GET /calls?"+wire+"="+sent)
		if published := strings.Contains(string(ops["list_calls"].InputSchema), `"`+arg+`":{`); published == (arg == "since") {
			t.Errorf("%s: published %v", arg, published)
		}
	}
	f("list_calls", `{"ids_list":["a","b"]}`, "GET /calls?ids%5B%5D=a&ids%5B%5D=b")
	f("list_calls", `{"tags_list":["a"]}`, "GET /calls?tags%5B%5D=a") // though it comes first
	if s := string(ops["list_calls"].InputSchema); !strings.Contains(s, `"Marker_2":{"type":"string","description":"The same. Sent as Marker."}`) {
		t.Error(s)
	}

	f("set_level", `{"level":5,"mode":2,"state":"","mixed":1}`, `POST /levels application/json {"level":5,"mode":2,"state":"","mixed":1}`)
	f("set_level", `{"level":"5","mode":"2","mixed":"1"}`, `POST /levels application/json {"level":5,"mode":2,"mixed":1}`)
	f("set_level", `{"level":5,"mixed":"auto"}`, `POST /levels application/json {"level":5,"mixed":"auto"}`)
	f("set_level", `{"level":4}`, "refused: /level: expected")
	f("set_level", `{"level":1,"mode":3}`, "refused: /mode: expected one of 0, 1, 2, got 3")
	for _, text := range []string{
		`"level":{"type":"integer","description":"One of 1 (low), 5 (high)."}`,
		`"mode":{"type":"integer","description":"One of 0 (OFF), 1 (SLOW), 2 (FAST)."}`,
		`"state":{"type":"string","enum":["open","shut"],"description":"open: takes new ones; shut: takes none. May be empty."}`,
		`"mixed":{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"One of 1, auto."}`,
	} {
		if s := string(ops["set_level"].InputSchema); !strings.Contains(s, text) {
			t.Errorf("%s is not in %s", text, s)
		}
	}

	f("search", `{"q":"x"}`, "GET /search?q=x")
	f("search", `{"q":"x","size":5}`, `GET /search?q=x application/json {"size":5}`)
	if ops["echo"].Plan.Body != nil {
		t.Error("a body that repeats the query is sent")
	}

	f("replace_tag", `{"name":"a","colour":"red"}`, `PUT /tags/a application/json {"name":"a","colour":"red"}`)
	f("replace_tag", `{"name":"a","new_name":"b","colour":"red"}`, `PUT /tags/a application/json {"name":"b","colour":"red"}`)
	f("replace_user", `{"user_id":"a"}`, `PUT /users/a application/json {"user_id":"a"}`)
	if s := string(ops["replace_user"].InputSchema); strings.Contains(s, "new_") {
		t.Error(s)
	}

	f("invite", `{"team":"a","email":"b"}`, `POST /invites application/json {"team":"a","email":"b"}`)
	f("invite", `{"team":"a","user":"b","phone":"c","old":"d"}`, `POST /invites application/json {"team":"a","user":"b","phone":"c","old":"d"}`)
	f("invite", `{"team":"a","user":"b"}`, "refused: /email: one of these must be given: email, or user and phone")
	f("invite", `{"email":"a"}`, "refused: /team: required but missing")
	if d := ops["invite"].Description; !strings.Contains(d, "Needs email, or user and phone") {
		t.Error(d)
	}

	f("set_avatar", `{"url":"u","alt":"a"}`, `POST /avatars application/json {"url":"u","alt":"a"}`)
	f("set_avatar", `{"image":{"text":"x"},"alt":"a","crop":true}`, "POST /avatars multipart/form-data; boundary=")
	f("set_avatar", `{"alt":"a"}`, "refused: /url: required but missing")
	f("set_avatar", `{"crop":true}`, "refused: /image: required but missing")
	f("set_avatar", `{"image":{"text":"x"},"url":"u"}`, "refused: /url: not part of a body of type multipart/form-data")
	f("add_document", `{"body":["a"]}`, `POST /documents application/json ["a"]`)
	f("add_document", `{"file":{"text":"x"}}`, `POST /documents application/octet-stream x`)
	f("add_document", `{}`, "refused: /body: required but missing")
}

// TestGradesKeepTypes: an input schema that is too large loses deep levels, then
// words, then optional members; never parameters, required members, or the types
// of the first level.
func TestGradesKeepTypes(t *testing.T) {
	props, required := map[string]any{}, []string{}
	for i := range 400 {
		name := "member_" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		props[name] = map[string]any{"type": []string{"string", "integer", "boolean"}[i%3], "description": strings.Repeat("It says a lot. ", 12)}
		if i%40 == 0 {
			required = append(required, name)
		}
	}
	props["deep"] = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "object", "properties": props}}}
	spec := map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "Large", "version": "1"}, "servers": []any{map[string]any{"url": "https://api.example.com"}},
		"paths": map[string]any{"/things/{id}": map[string]any{"post": map[string]any{
			"operationId": "make_thing",
			"parameters": []any{
				map[string]any{"name": "id", "in": "path", "required": true, "schema": map[string]any{"type": "string"}},
				map[string]any{"name": "dry", "in": "query", "schema": map[string]any{"type": "boolean"}},
			},
			"requestBody": map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Thing"}}}},
			"responses":   map[string]any{"204": map[string]any{"description": "done"}},
		}}},
		"components": map[string]any{"schemas": map[string]any{"Thing": map[string]any{"type": "object", "required": required, "properties": map[string]any{}}}},
	}
	thing := spec["components"].(map[string]any)["schemas"].(map[string]any)["Thing"].(map[string]any)
	delete(props, "deep")
	top := map[string]any{"deep": map[string]any{"type": "object", "properties": props}}
	maps.Copy(top, props)
	thing["properties"] = top
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{DefaultMaxTool, 4 << 10, 2 << 10} {
		res, ops := compileAll(t, Source{Name: "large.json", Data: data}, Options{Limits: Limits{MaxTool: limit}})
		if len(ops) != 1 || !hasWarning(res, codeToolCut) {
			t.Fatalf("%d: %+v %+v", limit, res.Unsupported, res.Warnings)
		}
		newClientRules(t).tool(ops[0])
		var root struct {
			Properties map[string]struct {
				Type       string
				Properties map[string]struct{ Type string }
				Required   []string
			}
		}
		if err := json.Unmarshal(ops[0].InputSchema, &root); err != nil {
			t.Fatal(err)
		}
		if len(ops[0].InputSchema) > limit {
			t.Errorf("%d: %d bytes", limit, len(ops[0].InputSchema))
		}
		body := root.Properties["body"]
		if root.Properties["id"].Type != "string" || limit > 2<<10 && root.Properties["dry"].Type != "boolean" || len(body.Required) != len(required) {
			t.Errorf("%d: %s", limit, ops[0].InputSchema)
		}
		for _, r := range required {
			if !slices.Contains([]string{"string", "integer", "boolean"}, body.Properties[r].Type) {
				t.Errorf("%d: required %s has type %q", limit, r, body.Properties[r].Type)
			}
		}
		if limit == DefaultMaxTool && len(body.Properties) != len(top) {
			t.Errorf("%d: %d of %d members", limit, len(body.Properties), len(top))
		}
		// What had no room is accepted.
		args := map[string]any{"member_b": 1}
		for _, r := range required {
			args[r] = map[string]any{"string": "x", "integer": 1, "boolean": true}[body.Properties[r].Type]
		}
		b, err := json.Marshal(map[string]any{"id": "1", "dry": true, "body": args})
		if err != nil {
			t.Fatal(err)
		}
		if got := request(t, ops[0], string(b)); !strings.HasPrefix(got, "POST /things/1?dry=true application/json {") {
			t.Errorf("%d: %s", limit, got)
		}
	}
	if res, ops := compileAll(t, Source{Name: "large.json", Data: data}, Options{Limits: Limits{MaxTool: 300}}); len(ops) != 0 || len(res.Unsupported) != 1 || res.Unsupported[0].Code != codeToolTooLarge {
		t.Errorf("300 bytes: %+v", res.Unsupported)
	}
}

// TestNullable: where a member of a body must be given and null is one of its values,
// the description says so, as nothing else can.
func TestNullable(t *testing.T) {
	doc := `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/a":{"post":{"operationId":"add","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["parent","note","plan"],"properties":{` +
		`"parent":{"type":["string","null"]},"note":{"type":["string","null"],"description":"Null for none."},"plan":{"type":["string","null"],"default":"x"},"other":{"type":["string","null"]}}}}}},"responses":{"204":{"description":""}}}}}}`
	_, ops := compileAll(t, Source{Data: []byte(doc)}, Options{})
	const want = `{"type":"object","properties":{"parent":{"type":"string","description":"May be null."},"note":{"type":"string","description":"Null for none."},"plan":{"type":"string","default":"x"},"other":{"type":"string"}},"required":["parent","note"]}`
	if got := string(ops[0].InputSchema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := request(t, ops[0], `{"parent":null,"note":"a"}`); got != `POST /a application/json {"parent":null,"note":"a"}` {
		t.Error(got)
	}
}

// TestUndeclaredMembers: what a body must have and declares nowhere can be given, and is
// not asked for; an object that takes nothing else does not get it.
func TestUndeclaredMembers(t *testing.T) {
	spec := func(closed string) Source {
		return Source{Name: "u.json", Data: []byte(`{"openapi":"3.0.3","info":{"title":"u","version":"1"},"servers":[{"url":"https://u.example"}],"paths":{
			"/hooks":{"post":{"operationId":"hook","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["name","team_id","team_id","a b","c","d","e","frobnicate"],
			"properties":{"name":{"type":"string"}}` + closed + `}}}},"responses":{"200":{"description":"ok"}}}}}}`)}
	}
	_, ops := compileAll(t, spec(""), Options{})
	newClientRules(t).tool(ops[0])
	for args, want := range map[string]string{
		`{"name":"n","team_id":{"x":[1]}}`: `POST /hooks application/json {"name":"n","team_id":{"x":[1]}}`,
		`{"name":"n"}`:                     `POST /hooks application/json {"name":"n"}`,
		`{"name":"n","frobnicate":1}`:      "refused: /frobnicate: unknown argument, known are name, team_id, c, d",
	} {
		if got := request(t, ops[0], args); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	_, ops = compileAll(t, spec(`,"additionalProperties":false`), Options{})
	if got, want := request(t, ops[0], `{"name":"n","team_id":1}`), "refused: /team_id: unknown argument, known are name"; got != want {
		t.Errorf("closed: %s, want %s", got, want)
	}
}
