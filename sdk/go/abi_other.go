//go:build !wasip1

package sluice

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
)

// call is the call that Run stands in for.
var call Call

// Call is what a plugin is given in a test.
type Call struct {
	Body   string
	Config map[string]string // settings, and "sluice.tool", "sluice.arguments" …
	Log    func(Level, string)
	// Secrets are those of an auth plugin's credentials, in their order. Keys are
	// derived and signatures made with HMAC-SHA-256.
	Secrets []string
	// Tokens are those that were fetched, by name, and Fetch fetches others. Without them
	// there are none.
	Tokens map[string]Key
	Fetch  func(name string, request []byte) Key
	// Tools answers the calls of a workflow. Without it every call fails.
	Tools func(tool string, arguments []byte) Result
}

var result []byte

// Run runs the plugin of this package on a call, as a gateway does.
func Run(c Call) ([]byte, error) {
	call, result = c, nil
	err := run()
	return result, err
}

// keys are the secrets of the call and what was derived from them.
var keys [][]byte

// RunRequest runs the auth plugin of this package on a call whose Body is a request as
// JSON, as a gateway does.
func RunRequest(c Call) (*Patch, error) {
	call, result, keys = c, nil, nil
	for _, s := range c.Secrets {
		keys = append(keys, []byte(s))
	}
	if err := runRequest(); err != nil {
		return nil, err
	}
	p := new(Patch)
	return p, json.Unmarshal(result, p)
}

// RunWorkflow runs the workflow of this package on a call whose Body is the arguments
// of its tool, as a gateway does.
func RunWorkflow(c Call) ([]byte, error) {
	call, result = c, nil
	err := runWorkflow()
	return result, err
}

func callTools(lines []byte) []byte {
	var out [][]byte
	for line := range bytes.Lines(lines) {
		var c struct {
			Tool      string
			Arguments json.RawMessage
		}
		r := Result{Error: "the test has no such tool"}
		if err := json.Unmarshal(line, &c); err != nil {
			r.Error = err.Error()
		} else if call.Tools != nil {
			r = call.Tools(c.Tool, c.Arguments)
		}
		b, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		out = append(out, b)
	}
	return bytes.Join(out, []byte("\n"))
}

func derive(k Key, prefix, message string) Key {
	keys = append(keys, mac(append([]byte(prefix), keys[k-1]...), message))
	return Key(len(keys))
}

func sign(k Key, message string) []byte { return mac(keys[k-1], message) }

func token(name string) Key { return call.Tokens[name] }

func fetchToken(name string, request []byte) Key {
	if call.Fetch == nil {
		return 0
	}
	return call.Fetch(name, request)
}

func mac(secret []byte, message string) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(message)) // never fails
	return h.Sum(nil)
}

func input() []byte { return []byte(call.Body) }

func output(b []byte) { result = append([]byte(nil), b...) }

func config(name string) []byte { return []byte(call.Config[name]) }

func logLine(l Level, line string) {
	if call.Log != nil {
		call.Log(l, line)
	}
}
