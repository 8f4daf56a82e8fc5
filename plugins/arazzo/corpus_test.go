package arazzo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/plugins/arazzo"
)

var update = flag.Bool("update", false, "write what the documents of SLUICE_CORPUS do; read it before you commit it")

// runsFile has, for each workflow of the documents, the calls that it makes of the APIs below
// and how it ends. Each was compared with what its document says.
const runsFile = "testdata/corpus.txt"

// elsewhere are operations whose descriptions are not in the folder, or have them by another id.
var elsewhere = map[string][2]string{
	"postAnimal": {"POST", "/animals"}, "getRandomAnimal": {"GET", "/animals/random"}, "PostCustomer": {"POST", "/customers"},
	"loginUser": {"GET", "/user/login"}, "PAR": {"POST", "/as/par.oauth2"},
}

// given are the inputs of workflows that need some, by the end of their document's name and
// their own.
var given = map[string]string{
	"FAPI-PAR.arazzo.yaml OIDC-PAR-AuthzCode":                         `{"client_id":"c1","client_assertion":{"iss":"c1"},"redirect_uri":"https://app.test/cb","code_verifier":"v-\"1\"","PARrequestBody":{"response_type":"code"},"TokenRequestBody":{}}`,
	"LoginAndRetrievePets.arazzo.yaml loginUserRetrievePet":           `{"username":"ann","password":"secret"}`,
	"oauth.arazzo.yaml refresh-token-flow":                            `{"my_client_id":"c1","my_client_secret":"s1","my_redirect_uri":"https://app.test/cb"}`,
	"oauth.arazzo.yaml client-credentials-flow":                       `{"client_id":"c1","client_secret":"s1"}`,
	"oauth.arazzo.yaml authorization-code-flow":                       `{"client_id":"c1","client_secret":"s1","redirect_uri":"https://app.test/cb"}`,
	"1.0.0/pet-coupons.arazzo.yaml apply-coupon":                      `{"my_pet_tags":["puppy"],"store_id":"pets.test"}`,
	"1.0.0/pet-coupons.arazzo.yaml buy-available-pet":                 `{}`,
	"1.0.0/pet-coupons.arazzo.yaml place-order":                       `{"pet_id":7,"quantity":2}`,
	"reusable-components.arazzo.yaml get-menu-items":                  `{"reusable-test":"again"}`,
	"reusable-components.arazzo.yaml client-registration":             `{"store_id":"pets.test","my_pet_tags":["puppy"]}`,
	"reveal-masked-input-secrets.arazzo.yaml get-menu-items":          `{"username":"ann","password":"secret","env":{"AUTH_TOKEN":"t1"}}`,
	"reveal-masked-input-secrets.arazzo.yaml client-registration":     `{"username":"ann","password":"secret","env":{"AUTH_TOKEN":"t1"},"secret":{"secretValue":"s2"}}`,
	"-and-remapped/events.arazzo.yaml client-registration":            `{"PROJECT_CLIENT_ID":"p1","PROJECT_CLIENT_SECRET":"p2","PROJECT_SUBSCRIPTION_KEY":"p3","env":{"AUTH_TOKEN":"t1"}}`,
	"rebilly.arazzo.yaml inherited":                                   `{"env":{"SANDBOX_REBILLY_TOKEN":"t1"}}`,
	"/mask-input-secrets.arazzo.yaml get-menu-items":                  `{"username":"ann","password":"secret","env":{"AUTH_TOKEN":"t1"}}`,
	"/mask-input-secrets.arazzo.yaml client-registration":             `{"username":"ann","password":"secret","env":{"AUTH_TOKEN":"t1"},"secret":{"secretValue":"s2"}}`,
	"inputs-with-cli-and-env.arazzo.yaml client-registration":         `{"username":"ann","password":"secret","env":{"AUTH_TOKEN":"t1"}}`,
	"inputs-passed-to-step-target-workflow/events.arazzo.yaml client": `{"PROJECT_CLIENT_ID":"p1","PROJECT_CLIENT_SECRET":"p2","PROJECT_SUBSCRIPTION_KEY":"p3","custom_price":12.50,"env":{"AUTH_TOKEN":"t1"}}`,
}

// world answers the calls of the documents as their APIs would, and writes them down.
type world struct {
	operations map[string][2]string

	mu    sync.Mutex
	calls []string
	kept  map[string]bool // what was made and is still there
}

type answer struct {
	status int
	body   string // JSON
	header http.Header
}

func (w *world) answer(request, body string) answer {
	cafe := http.Header{"X-Powered-By": {"Express"}, "Content-Type": {"application/json; charset=utf-8"}}
	switch request {
	case "GET /menu":
		return answer{200, `{"object":"list","page":{"limit":10,"total":0},"items":[]}`, cafe}
	case "GET /menu bad filter":
		return answer{400, `{"title":"Bad filter","status":400}`, cafe}
	case "POST /oauth2/register":
		if strings.Contains(body, `"name"`) {
			return answer{201, `{"clientId":"c1","name":"respect-e2e-client"}`, cafe}
		}
		return answer{400, `{"title":"Validation failed","status":400,"details":{"errors":[{"path":["name"],"message":"Required"}]}}`, cafe}
	case "POST /orders":
		return answer{401, `{"title":"Unauthorized","status":401}`, cafe}
	case "GET /menu-item-images/prd_0000000000seedtrams0000000":
		return answer{200, `"A classic Italian tiramisu layered with mascarpone and espresso"`, http.Header{"Content-Type": {"text/plain"}}}
	case "GET /special-events":
		return answer{200, `[{"eventId":"e0","name":"Pirates","dates":["2023-09-05","2023-09-06"]}]`, nil}
	case "POST /special-events":
		return answer{201, `{"eventId":"e1","name":"Mermaid Treasure Identification and Analysis"}`, nil}
	case "GET /special-events/e1":
		return answer{200, `{"eventId":"e1"}`, nil}
	case "PATCH /special-events/e1":
		return answer{200, `{"eventId":"e1","name":"Orca Identification and Analysis"}`, nil}
	case "DELETE /special-events/e1":
		return answer{204, ``, nil}
	case "POST /tickets":
		return answer{201, `{"ticketId":"t1","ticketType":"general"}`, nil}
	case "GET /items":
		return answer{200, `[{"id":"i0","value":100}]`, nil}
	case "POST /items":
		w.kept["i1"] = true
		return answer{201, `{"id":"i1","value":42}`, nil}
	case "GET /items/i1":
		if !w.kept["i1"] {
			return answer{404, `{}`, nil}
		}
		return answer{200, `{"id":"i1","value":42}`, nil}
	case "DELETE /items/i1":
		w.kept["i1"] = false
		return answer{200, `{}`, nil}
	case "GET /breeds", "GET /facts":
		return answer{200, `[{"fact":"cats purr"}]`, nil}
	case "GET /fact":
		return answer{200, `{"fact":"cats purr","length":9}`, nil}
	case "GET /pets", "GET /pet/findByStatus", "GET /pet/findByTags":
		return answer{200, `[{"id":7,"name":"Rex"},{"id":8,"name":"Tom"}]`, nil}
	case "GET /pets/7":
		return answer{200, `{"id":7,"name":"Rex","tag":"dog"}`, nil}
	case "GET /users/7":
		return answer{200, `{"id":7,"username":"ann"}`, nil}
	case "GET /pet/{petId}/coupons": // the document gives pet_id, which that path does not have
		return answer{200, `{"couponCode":"HALF"}`, nil}
	case "POST /store/order":
		return answer{200, `{"id":99}`, nil}
	case "GET /user/login":
		return answer{200, `"session-1"`, http.Header{"X-Expires-After": {"2030-01-01"}, "X-Rate-Limit": {"100"}}}
	case "POST /as/par.oauth2":
		return answer{200, `{"request_uri":"urn:request:1"}`, nil}
	case "GET /as/authorize.oauth2":
		return answer{302, `{"code":"code-1"}`, nil}
	case "POST /as/token.oauth2":
		return answer{200, `{"access_token":"a1"}`, nil}
	case "GET /authorize":
		return answer{200, `{"code":"code-1","access_token":"none"}`, nil}
	case "POST /oauth/token":
		return answer{200, `{"access_token":"a1","refresh_token":"r1","expires_in":3600}`, nil}
	case "POST /animals", "POST /customers", "POST /activities", "POST /quizzes":
		return answer{201, `{"id":1}`, nil}
	case "GET /animals/random":
		return answer{200, `{"id":1}`, nil}
	case "GET /ping":
		return answer{503, `{}`, nil}
	}
	return answer{404, `{"title":"there is no ` + request + `"}`, nil}
}

// find finds an operation: by its path, or by its id behind the name of a source.
func (w *world) find(name string) ([2]string, bool) {
	if _, pointer, ok := strings.Cut(name, "#/paths/"); ok {
		path, method, ok := strings.Cut(pointer, "/")
		if !ok { // the examples of the specification leave the method out
			path, method = pointer, "get"
		}
		return [2]string{strings.ToUpper(method), strings.NewReplacer("~1", "/", "~0", "~").Replace(path)}, true
	}
	id := name[strings.LastIndexByte(name, '.')+1:]
	if op, ok := elsewhere[id]; ok {
		return op, true
	}
	op, ok := w.operations[id]
	return op, ok
}

func (w *world) Call(_ context.Context, c *arazzo.Call) (*arazzo.Response, error) {
	op, ok := w.find(c.Operation)
	if !ok {
		return nil, fmt.Errorf("no operation %q", c.Operation)
	}
	path, rest, bad := op[1], "", ""
	for _, p := range c.Parameters {
		text, err := json.Marshal(p.Value)
		if err != nil {
			return nil, err
		}
		if s, ok := p.Value.(string); ok {
			text = []byte(s)
		}
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", string(text))
			continue
		}
		if p.Name == "filter" {
			bad = " bad filter"
		}
		rest += " " + p.In + ":" + p.Name + "=" + string(text)
	}
	body := ""
	if c.HasBody {
		text, err := json.Marshal(c.Body)
		if err != nil {
			return nil, err
		}
		body = string(text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.answer(op[0]+" "+path+bad, body)
	line := op[0] + " " + path + rest
	if c.HasBody {
		line += " " + c.ContentType + " " + body
	}
	w.calls = append(w.calls, fmt.Sprintf("%s -> %d", strings.TrimRight(line, " "), a.status))
	r := &arazzo.Response{URL: "https://mock.test" + path, Method: op[0], Status: a.status, Header: a.header.Get}
	if a.status > 399 {
		r.Error = fmt.Sprintf("HTTP %d", a.status)
	}
	if a.body == "" {
		return r, nil
	}
	var err error
	r.Body, err = arazzo.Decode([]byte(a.body))
	return r, err
}

// inputsOf are the inputs of a workflow, as JSON.
func inputsOf(name string) string {
	for end, text := range given {
		if document, workflow, ok := strings.Cut(name, " "); ok {
			if d, w, _ := strings.Cut(end, " "); strings.HasSuffix(document, d) && strings.HasPrefix(workflow, w) {
				return text
			}
		}
	}
	return "{}"
}

// runsOf are the runs of all workflows of a document, as runsFile has them.
func runsOf(t *testing.T, name string, d *arazzo.Document, operations map[string][2]string) string {
	t.Helper()
	var b strings.Builder
	known := map[string]arazzo.Operation{}
	for _, s := range d.Operations() {
		if op, ok := (&world{operations: operations}).find(s.Operation); ok {
			known[s.Operation] = arazzo.Operation{Tool: s.Operation, Method: op[0], Path: op[1], ReadOnly: op[0] == "GET"}
		}
	}
	p, err := d.Plan(known)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range d.Workflows {
		label := name + " " + w.ID
		fmt.Fprintf(&b, "## %s\n", label)
		if err := d.Runnable(w.ID); err != nil {
			fmt.Fprintf(&b, "refused: %s\n\n", told(err))
			continue
		}
		inputs := inputsOf(label)
		if inputs != "{}" {
			fmt.Fprintf(&b, "inputs %s\n", inputs)
		}
		in, err := arazzo.Decode([]byte(inputs))
		if err != nil {
			t.Fatal(label, err)
		}
		m := &world{operations: operations, kept: map[string]bool{}}
		r, err := p.Run(t.Context(), w.ID, in.(map[string]any), m)
		if len(p.Waves(w)) < len(w.Steps) {
			slices.Sort(m.calls) // some of them run at once
			if err == nil && r.Failure != nil {
				m.calls = slices.Compact(m.calls) // how many of them began before one failed is a matter of time
			}
		}
		if n := len(m.calls); n > 10 {
			m.calls = append(m.calls[:3], fmt.Sprintf("… %d calls", n))
		}
		for _, c := range m.calls {
			fmt.Fprintln(&b, c)
		}
		switch {
		case err != nil:
			fmt.Fprintf(&b, "ended: %v\n", err)
		case r.Failure != nil:
			fmt.Fprintf(&b, "failed: %v\n", r.Failure)
		default:
			text, err := r.MarshalOutputs()
			if err != nil {
				t.Fatal(label, err)
			}
			fmt.Fprintf(&b, "outputs %s\n", text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestCorpus runs each workflow of the documents that two runners and the specification
// bring, but for those that TestRunners runs and generated ones, against the APIs above.
func TestCorpus(t *testing.T) {
	root := os.Getenv("SLUICE_CORPUS")
	if root == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	root = filepath.Join(root, "arazzo")
	if _, err := os.Stat(root); err != nil {
		t.Skip("SLUICE_CORPUS has no folder arazzo")
	}
	type document struct {
		name string
		doc  *arazzo.Document
	}
	var (
		documents  []document
		operations = map[string]map[string][2]string{} // by the first folder
	)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, "/fixtures/") || strings.Contains(path, "/generator/") || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		runner, _, _ := strings.Cut(name, "/")
		if operations[runner] == nil {
			operations[runner] = map[string][2]string{}
		}
		if !bytes.HasPrefix(data, []byte("arazzo:")) {
			if bytes.HasPrefix(data, []byte("openapi:")) {
				readOperations(t, path, operations[runner])
			}
			return nil
		}
		d, err := arazzo.Parse(name, data)
		if err != nil {
			return fmt.Errorf("%s: %s", path, told(err))
		}
		documents = append(documents, document{name, d})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, d := range documents {
		runner, _, _ := strings.Cut(d.name, "/")
		all.WriteString(runsOf(t, d.name, d.doc, operations[runner]))
	}
	if *update {
		if err := os.WriteFile(runsFile, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(runsFile)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(all.String(), "\n## "), strings.Split(string(want), "\n## ")
	for i := range max(len(got), len(wanted)) {
		switch {
		case i >= len(got):
			t.Errorf("missing\n%s", wanted[i])
		case i >= len(wanted):
			t.Errorf("%s is not in %s", got[i], runsFile)
		case got[i] != wanted[i]:
			t.Errorf("got\n%s\nwant\n%s", got[i], wanted[i])
		}
	}
	t.Logf("%d workflows of %d documents", len(got), len(documents))
}
