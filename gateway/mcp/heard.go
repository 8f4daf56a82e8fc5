package mcp

import (
	"strconv"

	"github.com/sluicegate/sluice/gateway/session"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// AppendRequest appends the message that asks the client of a session what another server
// asks, under the id of the question. What is not a parameter object is left out; hidden
// characters are removed.
func AppendRequest(dst []byte, q *session.Question, method string, params jsonscan.Value, tasks TaskNames) []byte {
	dst = strconv.AppendUint(append(dst, `{"jsonrpc":"2.0","id":`...), q.ID, 10)
	return appendCleaned(append(dst, ','), method, tasks.rename(params))
}

// AppendHeard appends the message that tells the client of a session what another server
// said outside of its calls: log messages of a level that it wants, and to clients that can
// be sent to a URL that they are done there, and how far their tasks are. Of everything else, it
// appends nothing.
func AppendHeard(dst []byte, s *session.Session, method string, params jsonscan.Value, tasks TaskNames) []byte {
	if params.Kind() != jsonscan.Object {
		return dst
	}
	switch method {
	case "notifications/message":
		least := Level(s.Level())
		if least == LevelNone {
			least = LevelInfo // as in newStream
		}
		if levelOf(params.Get("level")) < least {
			return dst
		}
	case elicitationComplete:
		if !opensURLs(s) {
			return dst
		}
	case taskStatus:
		var ok bool
		if params, ok = tasks.status(params); !ok {
			return dst
		}
	default:
		return dst
	}
	return appendCleaned(append(dst, `{"jsonrpc":"2.0",`...), method, tasks.rename(params))
}

// elicitationComplete says that a user is done at a URL (MCP 2025-11-25 "Elicitation").
const elicitationComplete = "notifications/elicitation/complete"

// opensURLs reports whether the client of a session can be sent to a URL.
func opensURLs(s *session.Session) bool {
	return jsonscan.Trusted(s.Client().Capabilities).Get("elicitation").Get("url").Exists()
}

func appendCleaned(dst []byte, method string, params jsonscan.Value) []byte {
	dst = jsonscan.AppendStringOf(append(dst, `"method":`...), method)
	if params.Kind() == jsonscan.Object {
		dst = append(dst, `,"params":`...)
		if textfilter.IndexJSON(params.Raw()) >= 0 {
			dst = textfilter.AppendJSON(dst, params.Raw())
		} else {
			dst = append(dst, params.Raw()...)
		}
	}
	return append(dst, '}')
}
