package errorbody

import (
	"bytes"

	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

const (
	// maxTextInError is the room for one text inside a body that is too long.
	maxTextInError = 500
	// maxTextInErrors is the same where the items of the body have no room so.
	maxTextInErrors = 120
	// maxTraceID: what is not longer under the name of a trace is its id.
	maxTraceID = 200
	// maxTraceDepth: objects inside each other that are searched for traces.
	maxTraceDepth = 6
)

// traceNames end the names of members that say where in the API's program the fault was,
// in lower case.
var traceNames = [...]string{"trace", "stack", "traceback", "backtrace", "frames"}

// appendTraceless appends a document without its traces and with its long texts cut: what
// stands beside them, such as which field is wrong, is what an agent needs.
func appendTraceless(dst []byte, v jsonscan.Value, most, depth int) []byte {
	if depth > maxTraceDepth {
		return append(dst, v.Raw()...)
	}
	mark := len(dst)
	switch v.Kind() {
	case jsonscan.String:
		if len(v.Raw())-2 <= most { // its quotes
			break
		}
		return jsonscan.AppendString(dst, media.AppendClipped(nil, v.AppendText(nil), most))
	case jsonscan.Array:
		dst = append(dst, '[')
		for it := v.Elements(); it.Next(); {
			if len(dst) > mark+1 {
				dst = append(dst, ',')
			}
			dst = appendTraceless(dst, it.Value(), most, depth+1)
		}
		return append(dst, ']')
	case jsonscan.Object:
		dst = append(dst, '{')
		for it := v.Members(); it.Next(); {
			if len(it.Value().Raw()) > maxTraceID && isTrace(it.Key()) {
				continue
			}
			if len(dst) > mark+1 {
				dst = append(dst, ',')
			}
			dst = append(append(append(append(dst, '"'), it.Key()...), '"'), ':')
			dst = appendTraceless(dst, it.Value(), most, depth+1)
		}
		return append(dst, '}')
	}
	return append(dst, v.Raw()...)
}

func isTrace(name []byte) bool {
	lower := bytes.ToLower(name)
	for _, t := range traceNames {
		if bytes.HasSuffix(lower, []byte(t)) {
			return true
		}
	}
	return false
}
