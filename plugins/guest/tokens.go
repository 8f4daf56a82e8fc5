package guest

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
)

const (
	// maxTokens that one binding keeps: one for each of a few scopes and audiences.
	maxTokens = 64
	// maxToken is the longest access token: a header that servers still accept.
	maxToken = 16 << 10
	// maxTokenName is the longest name that a plugin gives a token.
	maxTokenName = 256
	// tokenLife is how long a token is used whose server does not say, and tokenMost however
	// long it says; it is used until tokenEarly before its end.
	tokenLife  = 5 * time.Minute
	tokenMost  = time.Hour
	tokenEarly = 30 * time.Second
)

// tokens are the access tokens that an auth plugin had fetched, of one binding. The plugin
// has handles only.
type tokens struct {
	mu   sync.Mutex
	kept map[string]token // guarded by mu; by name and secrets
}

type token struct {
	value string
	until time.Time
}

// of names a token of a call: one that other secrets got is another one.
func (k *Keys) tokenKey(name string) string {
	h := sha256.New()
	for i := range k.given {
		_, _ = h.Write([]byte(strconv.Itoa(len(k.keys[i].bytes)) + ":"))
		_, _ = h.Write(k.keys[i].bytes)
	}
	return string(h.Sum(nil)) + name
}

// cached returns the handle of a token that is kept; 0: there is none.
func (k *Keys) cached(name []byte) (uint64, string) {
	if refusal := k.mayFetch(name); refusal != "" {
		return 0, refusal
	}
	k.tokens.mu.Lock()
	t, ok := k.tokens.kept[k.tokenKey(string(name))]
	k.tokens.mu.Unlock()
	if !ok || !time.Now().Before(t.until) {
		return 0, ""
	}
	return k.hold(t.value)
}

func (k *Keys) mayFetch(name []byte) string {
	switch {
	case k == nil || k.rule == nil || k.tokens == nil:
		return "it uses a token, and its manifest does not ask for signing"
	case len(name) == 0 || len(name) > maxTokenName:
		return "it names a token with something other than 1 to " + strconv.Itoa(maxTokenName) + " bytes"
	}
	return ""
}

// hold gives a token a handle, which can be put on the request and nothing else.
func (k *Keys) hold(value string) (uint64, string) {
	if k.held++; k.held > maxKeys {
		return 0, "it uses too many tokens"
	}
	k.keys = append(k.keys, key{bytes: []byte(value), token: true})
	return uint64(len(k.keys)), ""
}

// Token returns the token of a handle.
func (k *Keys) Token(handle uint64) (string, bool) {
	if k == nil || handle == 0 || handle > uint64(len(k.keys)) || !k.keys[handle-1].token {
		return "", false
	}
	return string(k.keys[handle-1].bytes), true
}

// tokenRequest is what a plugin asks to have sent for a token.
type tokenRequest struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// send sends a POST and returns the answer; extism.Caller.Send is one.
type send func(method, url string, header http.Header, body []byte) ([]byte, int)

// fetch has a token fetched and keeps it (RFC 6749 §5.1).
func (k *Keys) fetch(name, request []byte, by send) (uint64, string) {
	if refusal := k.mayFetch(name); refusal != "" {
		return 0, refusal
	}
	var in tokenRequest
	if json.Unmarshal(request, &in) != nil || in.URL == "" {
		return 0, "it asks for a token with something other than a JSON object of url, headers and body"
	}
	if !strings.HasPrefix(in.URL, "https://") && !loopback(in.URL) {
		return 0, "it asks for a token over a connection that is not https"
	}
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	for n, v := range in.Headers {
		header.Set(n, v)
	}
	answer, status := by(http.MethodPost, in.URL, header, []byte(in.Body))
	var out struct {
		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"`
		Error       string      `json:"error"`
	}
	err := json.Unmarshal(answer, &out)
	switch {
	case status < 200 || status > 299:
		reason := ""
		if fieldName(out.Error) {
			reason = " (" + out.Error + ")"
		}
		return 0, "the server of the token answered " + strconv.Itoa(status) + reason
	case err != nil || out.AccessToken == "" || len(out.AccessToken) > maxToken || !fieldValue(out.AccessToken):
		return 0, "the server of the token answered without an access_token that can be sent"
	}
	life := tokenLife
	if seconds, err := out.ExpiresIn.Int64(); err == nil && seconds >= 0 {
		life = min(time.Duration(min(seconds, int64(tokenMost/time.Second)))*time.Second, tokenMost)
	}
	k.tokens.keep(k.tokenKey(string(name)), token{out.AccessToken, time.Now().Add(life - tokenEarly)})
	return k.hold(out.AccessToken)
}

// loopback reports whether an address is this machine's: http://127.0.0.1:80@evil.example is
// not.
func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && u.User == nil && u.Port() != "" && (u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost")
}

// keep adds a token. The one that ends first makes room.
func (t *tokens) keep(key string, v token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[string]token{}
	}
	if _, ok := t.kept[key]; !ok && len(t.kept) >= maxTokens {
		first := ""
		for k, have := range t.kept {
			if first == "" || have.until.Before(t.kept[first].until) {
				first = k
			}
		}
		delete(t.kept, first)
	}
	t.kept[key] = v
}

// The host functions of tokens (docs/plugins/contract.md, "Auth plugins").
const (
	tokenFunction = "sluice_token" //nolint:gosec // a name, no secret
	fetchFunction = "sluice_token_fetch"
)

func tokenFunctions() []extism.Function {
	keysOf := func(c *extism.Caller) *Keys {
		k, _ := c.Data().(*Keys)
		return k
	}
	return []extism.Function{
		{Name: tokenFunction, Params: 1, Results: 1, Call: func(c *extism.Caller, stack []uint64) {
			handle, refusal := keysOf(c).cached(c.Read(stack[0]))
			if refusal != "" {
				c.Stop(refusal)
			}
			stack[0] = handle
		}},
		{Name: fetchFunction, Params: 2, Results: 1, Call: func(c *extism.Caller, stack []uint64) {
			name := append([]byte(nil), c.Read(stack[0])...)
			request := append([]byte(nil), c.Read(stack[1])...)
			handle, refusal := keysOf(c).fetch(name, request, c.Send)
			if refusal != "" {
				c.Stop(refusal)
			}
			stack[0] = handle
		}},
	}
}
