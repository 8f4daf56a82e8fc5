package mcp

import (
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestAppendPassed: what a client says to the protocol or to this gateway is not passed on, however
// its name is written.
func TestAppendPassed(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"b/c":{"progressToken":2}}`: `"a":1,"b/c":{"progressToken":2}`,
		`{"io.modelcontextprotocol\/clientCapabilities":{"roots":{}},"b\/c":1}`:                       `"b\/c":1`,
		`{"\u0069o.modelcontextprotocol/protocolVersion":"x","io\u002emodelcontextprotocol/y":2}`:     ``,
		`{"dev.sluice\/trace":true,"d\u0065v.sluice/x":1,"dev.sluice/y":1}`:                           ``,
		`{"progressToken":1,"progress\u0054oken":2}`:                                                  ``,
		`{"io.modelcontextprotocol":1,"dev.sluicegate/x":2}`:                                          `"io.modelcontextprotocol":1,"dev.sluicegate/x":2`,
		``: ``,
	} {
		if got := string(AppendPassed(nil, jsonscan.Trusted([]byte(in)))); got != want {
			t.Errorf("%s: passed on %s, want %s", in, got, want)
		}
	}
}
