package sluice

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Request is the request that an auth plugin signs, as it is about to be sent.
type Request struct {
	Method      string       `json:"method"`
	URL         string       `json:"url"`
	Headers     [][2]string  `json:"headers"` // names and values, Host among them
	Body        []byte       `json:"body"`    // nil when it is longer than 1 MB
	BodyBytes   int          `json:"bodyBytes"`
	BodySHA256  string       `json:"bodySha256"` // lower-case hex
	Time        time.Time    `json:"time"`       // to sign with; a plugin has no clock
	Credentials []Credential `json:"credentials"`
}

// Credential is a credential of the toolset without its secret.
type Credential struct {
	Key      Key    `json:"handle"`   // stands for the secret
	Type     string `json:"type"`     // header, query, cookie, basic, bearer or token
	Scheme   string `json:"scheme"`   // security scheme that it fulfils; may be empty
	Username string `json:"username"` // basic: the part that is no secret
}

// Key stands for a secret, or for a key that was derived from one. A plugin never
// sees either.
type Key uint64

// Derive makes a key: the keyed hash of message, by the manifest's algorithm, with
// prefix and k as its secret. Only the first derivation may have a prefix. A plugin
// that derives more often than its manifest says is stopped.
func (k Key) Derive(prefix, message string) Key { return derive(k, prefix, message) }

// Sign returns the keyed hash of message. The key must have been derived as often as
// the manifest says, and none can be derived afterwards.
func (k Key) Sign(message string) []byte { return sign(k, message) }

// Token returns the access token that was fetched under a name; 0: there is none that is good.
func Token(name string) Key { return token(name) }

// FetchToken has an access token fetched from a host that was granted, and kept under a name:
// body is sent as a POST. What goes wrong stops the plugin.
func FetchToken(name, url string, headers map[string]string, body string) Key {
	request, err := json.Marshal(map[string]any{"url": url, "headers": headers, "body": body})
	if err != nil {
		return 0 // of strings: never
	}
	return fetchToken(name, request)
}

// HeldToken is a header with an access token: what stands before it ("Bearer "), and what
// [Token] or [FetchToken] returned.
type HeldToken struct {
	Handle Key    `json:"handle"`
	Prefix string `json:"prefix"`
}

// Patch is what is set on a request.
type Patch struct {
	Headers map[string]string    `json:"headers,omitempty"`
	Query   [][2]string          `json:"query,omitempty"`  // appended
	Body    []byte               `json:"body,omitempty"`   // replaces the body
	Tokens  map[string]HeldToken `json:"tokens,omitempty"` // by the names of headers
}

// authorize answers one request. It is a variable so that plugins of other kinds do not
// carry what it needs.
var authorize func(in []byte) ([]byte, error)

var errNoAuth = errors.New("the plugin did not call sluice.Auth in init")

// Auth makes f the plugin: kind auth. Call it from init.
func Auth(f func(*Context, *Request) (*Patch, error)) {
	authorize = func(in []byte) ([]byte, error) {
		r := new(Request)
		if err := json.Unmarshal(in, r); err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		p, err := f(&Context{}, r)
		if err != nil {
			return nil, err
		}
		if p == nil {
			p = &Patch{}
		}
		return json.Marshal(p)
	}
}

// runRequest answers one request.
func runRequest() error {
	if authorize == nil {
		return errNoAuth
	}
	out, err := authorize(input())
	if err != nil {
		return err
	}
	output(out)
	return nil
}
