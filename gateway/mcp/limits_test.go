package mcp

import (
	"strings"
	"testing"
)

// TestHeaderMarksAreSearchedToADepth: a mark that lies deeper is not found.
func TestHeaderMarksAreSearchedToADepth(t *testing.T) {
	schema := func(depth int) []byte {
		s := `{"type":"string","x-mcp-header":"Id"}`
		for range depth {
			s = `{"type":"object","properties":{"a":` + s + `}}`
		}
		return []byte(s)
	}
	for over, want := range []int{1, 0} {
		depth := maxHeaderDepth + 1 + over // as many objects are walked into below the first
		if got, err := HeaderParams(schema(depth)); err != nil || len(got) != want {
			t.Errorf("a mark in %d objects: %v, %v", depth, got, err)
		}
	}
}

// TestClientsTextIsQuotedToALength: a name of any length makes no long error.
func TestClientsTextIsQuotedToALength(t *testing.T) {
	for _, n := range []int{maxQuoted, maxQuoted + 1} {
		out := appendError(nil, []byte("1"), &fault{code: 1, text: "unknown tool", quote: []byte(strings.Repeat("z", n))})
		if got := strings.Count(string(out), "z"); got != maxQuoted {
			t.Errorf("%d of %d letters are repeated: %s", got, n, out)
		}
	}
}

// TestBatchIsBounded: the messages of one request are counted before one is served.
func TestBatchIsBounded(t *testing.T) {
	dial := start(t)
	for over := range 2 {
		n := maxBatch + over
		body := "[" + strings.Repeat(`{"jsonrpc":"2.0","id":7,"method":"ping"},`, n-1) + `{"jsonrpc":"2.0","id":7,"method":"ping"}]`
		got := string(roundTrip(t, dial(), []byte("POST / HTTP/1.1\nContent-Type: application/json\nAccept: application/json, text/event-stream\n\n"+body)))
		if want := n * (1 - over); strings.Count(got, `"id":7`) != want {
			t.Errorf("a batch of %d: want %d answers: %s", n, want, got)
		}
	}
}
