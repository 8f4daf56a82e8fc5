// Command goauth is the auth plugin of the conformance cases in Go.
package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	sluice "github.com/sluicegate/sluice/sdk/go"
)

func init() { sluice.Auth(run) }

func main() {}

func signature(k sluice.Key, message string) (*sluice.Patch, error) {
	return &sluice.Patch{Headers: map[string]string{"X-Signature": hex.EncodeToString(k.Sign(message))}}, nil
}

func run(c *sluice.Context, r *sluice.Request) (*sluice.Patch, error) {
	switch c.Setting("do") {
	case "sign":
		return signature(1, "a message")
	case "second":
		return signature(2, "a message")
	case "time":
		return signature(1, r.Time.Format("2006-01-02T15:04:05Z07:00"))
	case "derive":
		return signature(sluice.Key(1).Derive("P", "one").Derive("", "two"), "a message")
	case "again":
		sluice.Key(1).Derive("", "one").Derive("", "two").Sign("x")
		sluice.Key(1).Derive("", "one")
	case "steal":
		return signature(99, "x")
	case "see":
		all, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		said := []string{string(all)}
		for _, name := range []string{"do", "sluice.arguments", "sluice.config", "sluice.tool", "sluice.operation", "sluice.part", "password", "credential", "secret", "1"} {
			said = append(said, c.Setting(name))
		}
		return nil, errors.New(strings.Join(said, "\n"))
	}
	k := sluice.Token("scope")
	if k == 0 || c.Setting("do") == "fresh" {
		var q struct {
			URL, Body string
			Headers   map[string]string
		}
		if err := json.Unmarshal([]byte(c.Setting("request")), &q); err != nil {
			return nil, err
		}
		k = sluice.FetchToken("scope", q.URL, q.Headers, q.Body)
	}
	if c.Setting("do") == "token key" {
		return signature(k, "x")
	}
	return &sluice.Patch{Tokens: map[string]sluice.HeldToken{"Authorization": {Handle: k, Prefix: "Bearer "}}}, nil
}
