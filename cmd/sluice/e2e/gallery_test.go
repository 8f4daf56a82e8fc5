//go:build interop

package e2e

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// galleryAPI is a specification with the tools that the plugins of the gallery name.
const galleryAPI = `openapi: 3.1.0
info: {title: Shop, version: 1.0.0}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /items: {get: {operationId: listItems, summary: List items, parameters: [{name: query, in: query, schema: {type: string}}, {name: cursor, in: query, schema: {type: string}}], responses: {"200": {description: ok}}}}
  /orders: {get: {operationId: listOrders, summary: List orders, parameters: [{name: status, in: query, schema: {type: string}}], responses: {"200": {description: ok}}}}
  /customers/{id}: {get: {operationId: getCustomer, summary: Get a customer, parameters: [{name: id, in: path, required: true, schema: {type: integer}}], responses: {"200": {description: ok}}}}
  /products: {get: {operationId: searchProducts, summary: Search products, parameters: [{name: query, in: query, schema: {type: string}}], responses: {"200": {description: ok}}}}
  /rates: {get: {operationId: getRates, summary: Get rates, responses: {"200": {description: ok}}}}
  /article: {get: {operationId: getArticle, summary: Get an article, responses: {"200": {description: ok}}}}
`

// gallerySecret is what hmac signs with; galleryKey, of RFC 8037, what jwt does.
const (
	gallerySecret = "a-secret-of-the-gallery"
	galleryKey    = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g"
)

// distribution starts CNCF Distribution and returns its host.
func distribution(t *testing.T) (host, data string) {
	t.Helper()
	bin, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("no CNCF Distribution on this machine: install the package docker-registry")
	}
	dir := t.TempDir()
	host, data = freePort(t), filepath.Join(dir, "data")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: %s}\nhttp: {addr: %q}\n", data, host)
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, func() bool { return answers("http://" + host + "/v2/") }, bin, "serve", filepath.Join(dir, "config.yml"))
	return host, data
}

// TestGallery: all plugins of sdk/examples are built, tested and published by the binary to a
// node whose registry is another program, fetched from there, and do what they say on calls.
func TestGallery(t *testing.T) {
	host, stored := distribution(t)
	var mu sync.Mutex
	var last *http.Request
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		last = r.Clone(r.Context())
		mu.Unlock()
		page := ""
		if r.URL.Query().Get("cursor") != "" {
			page = "second"
		}
		body := map[string]string{
			"/items":       `{"items":[{"id":1,"price":3,"mail":"ada@example.com"},{"id":2,"price":9},{"id":2,"price":9}],"next":"c2"}`,
			"/itemssecond": `{"items":[{"id":3,"price":5}]}`,
			"/orders":      `{"orders":[{"id":1,"customerId":7},{"id":2,"customerId":7}]}`,
			"/customers/7": `{"name":"Ada"}`,
			"/products":    `{"products":[{"name":"Saw","price":20,"currency":"USD"}]}`,
			"/rates":       `{"base":"USD","rates":{"EUR":0.9}}`,
			"/article":     `{"title":"T","body":"<h2>Setup</h2><p>Run <code>make</code></p>"}`,
		}[r.URL.Path+page]
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(upstream.Close)

	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	n := &node{gateway: freePort(t), admin: freePort(t), data: filepath.Join(dir, "data")}
	n.process = start(t, func() bool { return answers("http://" + n.admin + "/readyz") }, binary, "serve", "--listen", n.gateway, "--admin-listen", n.admin, "--data", n.data,
		"--registry", "oci://"+host+"/gallery", "--allow-private-upstreams")
	spec := file("api.yaml", galleryAPI)
	n.cli(t, "add", spec, "--public", "--name", "shop", "--base-url", upstream.URL)
	n.cli(t, "add", spec, "--public", "--name", "signed", "--base-url", upstream.URL, "--auth", "header:X-Key", "--api-key-file", file("secret", gallerySecret))
	n.cli(t, "add", spec, "--public", "--name", "tokens", "--base-url", upstream.URL, "--auth", "bearer", "--api-key-file", file("key", galleryKey))

	// The binary builds and tests copies, as an author would.
	sdk, err := filepath.Abs("../../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CPATH", filepath.Join(sdk, "c"))
	manifests, err := filepath.Glob(filepath.Join(sdk, "examples", "*", "plugin.json"))
	if err != nil || len(manifests) != 10 {
		t.Fatalf("%d plugins: %v", len(manifests), err)
	}
	trusted := false
	for _, m := range manifests {
		name := filepath.Base(filepath.Dir(m))
		project := filepath.Join(dir, name)
		if err := os.CopyFS(project, os.DirFS(filepath.Dir(m))); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"build", project}, {"test", project}, {"sign", project, "--key", filepath.Join(dir, "me.key")}} {
			if out, err := exec.CommandContext(t.Context(), binary, append([]string{"plugin"}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("sluice plugin %v: %v\n%s", args, err, out)
			}
		}
		if !trusted {
			n.cli(t, "plugin", "key", "add", filepath.Join(dir, "me.key.pub"), "--name", "Me")
			trusted = true
		}
		n.cli(t, "plugin", "publish", project, "--key", filepath.Join(dir, "me.key"))
		if found, err := filepath.Glob(filepath.Join(stored, "docker/registry/v2/repositories/gallery/*/plugins", name)); err != nil || len(found) != 1 {
			t.Errorf("the registry has no repository of %s: %v", name, err)
		}
	}

	bind := func(toolset, plugin string, flags ...string) {
		t.Helper()
		n.cli(t, append([]string{"plugin", "bind", toolset, plugin}, flags...)...)
	}
	bind("shop", "redact", "--tool", "list_items")
	bind("shop", "dedupe", "--tool", "list_items", "--set", `{"key":"id"}`)
	bind("shop", "top", "--tool", "list_items", "--set", `{"by":"price"}`)
	bind("shop", "markdown", "--tool", "get_article")
	for _, workflow := range []string{"pages", "changes", "join", "currency"} {
		bind("shop", workflow)
	}
	bind("signed", "hmac")
	bind("tokens", "jwt", "--set", `{"issuer":"sluice@example","audience":"https://api.example"}`)
	n.cli(t, "toolset", "test", "shop", "list_items")
	n.cli(t, "toolset", "test", "signed", "list_items")
	n.cli(t, "toolset", "test", "tokens", "list_items")

	// What serves is fetched from the registry anew: the node has no other copy.
	n.stop(t)
	n.process = start(t, func() bool { return answers("http://" + n.gateway + "/readyz") }, binary, "serve", "--listen", n.gateway, "--admin-listen", n.admin, "--data", n.data,
		"--registry", "oci://"+host+"/gallery", "--allow-private-upstreams")
	for _, c := range []struct {
		call []string
		want []string
		not  string
	}{
		{[]string{"list_items"}, []string{`{"id":2,"price":9},{"id":1,"price":3`}, "ada@example.com"},
		{[]string{"get_article"}, []string{"## Setup", "Run `make`"}, "<h2>"},
		{[]string{"all_items", "query=x"}, []string{"items:[A 2 9 1 3", "3 5 ] more:false"}, ""}, // a table
		{[]string{"changed_items"}, []string{"added:[A 2 9 1 3", "seen:{1:"}, ""},
		{[]string{"orders_with_customers", "status=open"}, []string{"customer(B) #B name=Ada"}, ""},
		{[]string{"prices_in", "query=saw", "currency=EUR"}, []string{`{"name":"Saw","price":18}`}, ""},
	} {
		got := strings.Join(strings.Fields(n.cli(t, append([]string{"call", "shop"}, c.call...)...)), " ")
		compact := strings.NewReplacer(": ", ":", ", ", ",", "{ ", "{", " }", "}", "[ ", "[", " ]", "]").Replace(got)
		for _, want := range c.want {
			if !strings.Contains(compact, want) && !strings.Contains(got, want) {
				t.Errorf("%v answers %s, want %s", c.call, got, want)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%v answers %s", c.call, got)
		}
	}

	request := func() *http.Request {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	n.cli(t, "call", "signed", "get_rates")
	r := request()
	mac := hmac.New(sha256.New, []byte(gallerySecret))
	empty := sha256.Sum256(nil)
	fmt.Fprintf(mac, "%s\nGET\n%x", r.Header.Get("X-Timestamp"), empty)
	if got, want := r.Header.Get("X-Signature"), hex.EncodeToString(mac.Sum(nil)); got != want || r.Header.Get("X-Key") != "" {
		t.Errorf("hmac signs with %s, want %s; %v", got, want, r.Header)
	}
	n.cli(t, "call", "tokens", "get_rates")
	token, _ := strings.CutPrefix(request().Header.Get("Authorization"), "Bearer ")
	signed, signature, _ := strings.Cut(token[strings.Index(token, ".")+1:], ".")
	signed = token[:strings.Index(token, ".")+1] + signed
	der, err := base64.StdEncoding.DecodeString(galleryKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !ed25519.Verify(key.(ed25519.PrivateKey).Public().(ed25519.PublicKey), []byte(signed), raw) {
		t.Errorf("the token %s is not signed with the key: %v", token, err)
	}
}
