package mcp

import (
	"bytes"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// maxDepth is the nesting of a request. Arguments of real tools nest ten deep;
// the bound keeps the stack of every later walk small.
const maxDepth = jsonscan.DefaultMaxDepth

// JSON-RPC 2.0 §5.1 and MCP 2026-07-28 "Error codes".
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022

	// codeNoSession is what the official TypeScript SDK answers; the protocol names none.
	codeNoSession = -32001
)

// message is one JSON-RPC message, as views of the request body.
type message struct {
	id     []byte // raw JSON of a string or an integer; nil: none
	method []byte // unescaped; nil: a response
	params jsonscan.Value
	meta   jsonscan.Value // params._meta
	// Of a response: its result or, when refused, its error.
	result  jsonscan.Value
	refused bool
}

// fault is a protocol error to be.
type fault struct {
	status int
	code   int
	text   string // constant part of the message
	quote  []byte // appended in quotes when not nil; clipped
}

// parse fills m from one JSON value. scratch holds an unescaped method name and
// is returned for reuse. An invalid message still yields its id when that can be
// seen, so that the client can match the error.
func (m *message) parse(v jsonscan.Value, scratch []byte) ([]byte, *fault) {
	*m = message{}
	if v.Kind() != jsonscan.Object {
		return scratch, &faultNotObject
	}
	var version, id, method, params jsonscan.Value
	var result, fault jsonscan.Value
	it := v.Members()
	for it.Next() {
		switch { // the last of several members of a name wins, as in encoding/json
		case it.KeyEqual("jsonrpc"):
			version = it.Value()
		case it.KeyEqual("id"):
			id = it.Value()
		case it.KeyEqual("method"):
			method = it.Value()
		case it.KeyEqual("params"):
			params = it.Value()
		case it.KeyEqual("result"):
			result = it.Value()
		case it.KeyEqual("error"):
			fault = it.Value()
		}
	}
	if id.Exists() {
		if !validID(id) {
			return scratch, &faultID
		}
		m.id = id.Raw()
	}
	if !version.EqualText("2.0") {
		return scratch, &faultVersion
	}
	switch method.Kind() {
	case jsonscan.String:
		text, plain := method.Plain()
		if !plain {
			scratch = method.AppendText(scratch[:0])
			text = scratch
		}
		if len(text) == 0 {
			return scratch, &faultMethod
		}
		m.method = text
	case jsonscan.Missing:
		if m.id == nil || !result.Exists() && !fault.Exists() {
			return scratch, &faultMethod
		}
		if m.result = result; fault.Exists() {
			m.result, m.refused = fault, true
		}
	default:
		return scratch, &faultMethod
	}
	switch params.Kind() {
	case jsonscan.Object:
		m.params, m.meta = params, params.Get("_meta")
	case jsonscan.Missing:
	case jsonscan.Array:
		// JSON-RPC allows positional parameters, MCP does not.
		return scratch, &faultParams
	default:
		return scratch, &faultParams
	}
	return scratch, nil
}

var (
	faultParse     = fault{status: 400, code: codeParse, text: "the body is not valid JSON"}
	faultNotObject = fault{status: 400, code: codeInvalidRequest, text: "a message must be a JSON object"}
	faultID        = fault{status: 400, code: codeInvalidRequest, text: "id must be a string or an integer"}
	faultVersion   = fault{status: 400, code: codeInvalidRequest, text: `jsonrpc must be "2.0"`}
	faultMethod    = fault{status: 400, code: codeInvalidRequest, text: "method must be a string that is not empty"}
	faultParams    = fault{status: 400, code: codeInvalidRequest, text: "params must be an object"}
	faultBatch     = fault{status: 400, code: codeInvalidRequest, text: "batches exist in protocol version 2025-03-26 only"}
	faultEmpty     = fault{status: 400, code: codeInvalidRequest, text: "the batch is empty"}
	faultTooMany   = fault{status: 400, code: codeInvalidRequest, text: "the batch has more than 64 messages"}
	faultInBatch   = fault{status: 400, code: codeInvalidRequest, text: "initialize must not be part of a batch"}
	faultSession   = fault{status: 404, code: codeNoSession, text: "this session has ended or never was: begin another with initialize"}
	faultAnswer    = fault{status: 400, code: codeInvalidRequest, text: "a server of this protocol version takes no responses"}
	faultScope     = fault{status: 403, code: codeInvalidRequest, text: "the scopes of the token do not open this tool"}
	faultInternal  = fault{status: 500, code: codeInternal, text: "internal error"}
)

// validID reports whether v may be a request id: MCP allows strings and integers,
// and neither null nor fractions.
func validID(v jsonscan.Value) bool {
	switch v.Kind() {
	case jsonscan.String:
		return true
	case jsonscan.Number:
		return !bytes.ContainsAny(v.Raw(), ".eE")
	}
	return false
}

// appendHead appends the start of a response up to its result or error member.
func appendHead(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id != nil {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id...)
	}
	return dst
}

// maxQuoted bounds what is repeated of a client's own text.
const maxQuoted = 128

// appendError appends a whole error response.
func appendError(dst, id []byte, f *fault) []byte {
	dst = appendErrorOpen(dst, id, f)
	return append(dst, '}', '}')
}

// appendErrorOpen leaves the error object open, for data.
func appendErrorOpen(dst, id []byte, f *fault) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"error":{"code":`...)
	dst = appendInt(dst, f.code)
	dst = append(dst, `,"message":`...)
	if f.quote == nil {
		return jsonscan.AppendStringOf(dst, f.text)
	}
	dst = jsonscan.AppendStringOf(dst, f.text)
	dst = append(dst[:len(dst)-1], ` \"`...)
	mark := len(dst)
	q := f.quote
	if len(q) > maxQuoted {
		q = q[:maxQuoted]
	}
	dst = jsonscan.AppendString(dst, q)
	copy(dst[mark:], dst[mark+1:]) // its opening quote; ours is escaped
	dst = dst[:len(dst)-2]
	return append(dst, `\""`...)
}

func appendInt(dst []byte, n int) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return append(dst, b[i:]...)
		}
	}
}
