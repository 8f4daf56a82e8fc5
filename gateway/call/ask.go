package call

import (
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Answers to a server whose request cannot be put to the client, as the member of a
// response.
const (
	memberNoCapability = `"error":{"code":-32601,"message":"the client has no such capability"}`
	memberTooMany      = `"error":{"code":-32603,"message":"the client has too many requests to answer"}`
	memberNoAnswer     = `"error":{"code":-32603,"message":"the client did not answer in time"}`
)

// askClient puts a request of an MCP server to the client of the session, on the stream of
// the call, and returns the member of the client's response. It runs beside the call, and
// ends with it.
func (x *exchange) askClient(method string, params jsonscan.Value, done <-chan struct{}) []byte {
	s := x.request.Session
	if !declares(jsonscan.Trusted(s.Client().Capabilities), method, params) {
		return []byte(memberNoCapability)
	}
	q := s.Ask()
	if q == nil {
		return []byte(memberTooMany)
	}
	defer q.Close()
	if !x.request.Stream.Request(q, method, params) {
		return []byte(memberTooMany)
	}
	timer := time.NewTimer(time.Until(x.deadline))
	defer timer.Stop()
	select {
	case member, ok := <-q.Answer():
		if ok {
			return member
		}
	case <-timer.C:
	case <-done:
	}
	return []byte(memberNoAnswer)
}

// declares reports whether a client with these capabilities can be asked so.
func declares(capabilities jsonscan.Value, method string, params jsonscan.Value) bool {
	switch method {
	case "sampling/createMessage":
		return capabilities.Get("sampling").Exists()
	case "roots/list":
		return capabilities.Get("roots").Exists()
	case "elicitation/create":
		declared := capabilities.Get("elicitation")
		if params.Get("mode").EqualText("url") {
			return declared.Get("url").Exists()
		}
		// One that names no mode has forms (MCP 2025-11-25 "Elicitation").
		return declared.Exists() && (declared.Get("form").Exists() || !declared.Get("url").Exists())
	}
	return false
}
