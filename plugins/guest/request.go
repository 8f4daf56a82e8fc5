package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/strictjson"
)

// Request is what an auth plugin is given: the request that is about to be sent.
type Request struct {
	Method      string       `json:"method"`
	URL         string       `json:"url"`
	Headers     [][2]string  `json:"headers"`        // names and values, in the order they are sent
	Body        []byte       `json:"body,omitempty"` // base64 in JSON; absent when it has more than MaxSignedBody bytes
	BodyBytes   int          `json:"bodyBytes"`
	BodySHA256  string       `json:"bodySha256"` // lower-case hex
	Time        time.Time    `json:"time"`       // to sign with: plugins have no clock
	Credentials []Credential `json:"credentials"`
}

// MaxSignedBody is the longest body that an auth plugin is given whole; of a longer one
// it gets the hash.
const MaxSignedBody = 1 << 20

// Credential is a credential of the request without its secret.
type Credential struct {
	Handle   int    `json:"handle"`             // names the secret to sluice_derive and sluice_sign
	Type     string `json:"type"`               // header, query, cookie, basic, bearer or token
	Scheme   string `json:"scheme,omitempty"`   // security scheme of the specification that it fulfils
	Username string `json:"username,omitempty"` // basic: the part that is no secret, such as an access key's id
}

// Patch is what an auth plugin answers: what is set on the request.
type Patch struct {
	Headers map[string]string `json:"headers,omitempty"` // set; one of that name is replaced
	Query   []Pair            `json:"query,omitempty"`   // appended in this order
	Body    []byte            `json:"body,omitempty"`    // base64 in JSON; replaces the body
	// Tokens are set as headers, by handles: the plugin does not see them.
	Tokens map[string]HeldToken `json:"tokens,omitempty"`
}

// HeldToken is a header that holds a token behind a prefix.
type HeldToken struct {
	Handle uint64 `json:"handle"`
	Prefix string `json:"prefix"`
}

// Pair is a query parameter.
type Pair struct{ Name, Value string }

// UnmarshalJSON reads ["name","value"].
func (p *Pair) UnmarshalJSON(b []byte) error {
	var two []string
	if err := json.Unmarshal(b, &two); err != nil || len(two) != 2 {
		return errors.New("a query parameter is [name, value]")
	}
	p.Name, p.Value = two[0], two[1]
	return nil
}

// Bounds of a patch.
const (
	maxPatchHeaders = 32
	maxPatchQuery   = 32
	maxPatchText    = 16 << 10 // a name or a value
)

// ParsePatch reads the answer of an auth plugin. Members that it does not know are
// refused, so that a plugin learns of a misspelt one. Where headers may go is the
// gateway's to say.
func ParsePatch(b []byte) (*Patch, error) {
	if len(b) == 0 {
		return &Patch{}, nil
	}
	p := new(Patch)
	if err := strictjson.Decode(b, p, len(b), 0); err != nil {
		return nil, fmt.Errorf("its answer is not a patch: %w", err)
	}
	if len(p.Headers) > maxPatchHeaders || len(p.Query) > maxPatchQuery {
		return nil, fmt.Errorf("its patch has more than %d headers or %d query parameters", maxPatchHeaders, maxPatchQuery)
	}
	for name, value := range p.Headers {
		if !fieldName(name) || len(value) > maxPatchText || !fieldValue(value) {
			return nil, fmt.Errorf("its patch sets a header %.80q that cannot be sent", name)
		}
	}
	if len(p.Headers)+len(p.Tokens) > maxPatchHeaders {
		return nil, fmt.Errorf("its patch has more than %d headers", maxPatchHeaders)
	}
	if name := sameHeader(p); name != "" {
		return nil, fmt.Errorf("its patch sets the header %.80q twice", name)
	}
	for name, held := range p.Tokens {
		if !fieldName(name) || len(held.Prefix) > maxPatchText || !fieldValue(held.Prefix+"x") {
			return nil, fmt.Errorf("its patch sets a header %.80q that cannot be sent", name)
		}
	}
	for _, q := range p.Query {
		if q.Name == "" || len(q.Name) > maxPatchText || len(q.Value) > maxPatchText {
			return nil, fmt.Errorf("its patch sets a query parameter %.80q that cannot be sent", q.Name)
		}
	}
	return p, nil
}

// sameHeader names a header that a patch sets twice, however it is written; "": none.
func sameHeader(p *Patch) string {
	seen := make(map[string]bool, len(p.Headers)+len(p.Tokens))
	again := func(name string) bool {
		name = strings.ToLower(name)
		was := seen[name]
		seen[name] = true
		return was
	}
	for name := range p.Headers {
		if again(name) {
			return name
		}
	}
	for name := range p.Tokens {
		if again(name) {
			return name
		}
	}
	return ""
}

// fieldName reports whether s is a token (RFC 9110 §5.6.2).
func fieldName(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// fieldValue reports whether s may be a header's value: RFC 9110 §5.5 without obs-text.
func fieldValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == strings.TrimSpace(s)
}
