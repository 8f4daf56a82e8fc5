package tracing

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields in opentelemetry/proto/collector/trace/v1/trace_service.proto,
// trace/v1/trace.proto, resource/v1/resource.proto and common/v1/common.proto, version 1.
const (
	requestResourceSpans = 1

	resourceSpansResource = 1
	resourceSpansScope    = 2
	resourceAttributes    = 1
	scopeSpansScope       = 1
	scopeSpansSpans       = 2
	scopeName             = 1

	spanTraceID    = 1
	spanID         = 2
	spanParent     = 4
	spanName       = 5
	spanKind       = 6
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9
	spanLinks      = 13
	spanStatus     = 15
	spanFlags      = 16

	linkTraceID = 1
	linkSpanID  = 2

	statusMessage = 2
	statusCode    = 3
	statusError   = 2

	pairKey   = 1
	pairValue = 2

	valueString = 1
	valueBool   = 2
	valueInt    = 3
)

// scope is what made the spans.
const scope = "github.com/sluicegate/sluice/gateway"

// appendRequest appends an ExportTraceServiceRequest.
func appendRequest(dst []byte, resource []attribute, spans []*Span) []byte {
	return appendMessage(dst, requestResourceSpans, func(b []byte) []byte {
		b = appendMessage(b, resourceSpansResource, func(b []byte) []byte { return appendAttributes(b, resourceAttributes, resource) })
		return appendMessage(b, resourceSpansScope, func(b []byte) []byte {
			b = appendMessage(b, scopeSpansScope, func(b []byte) []byte { return appendString(b, scopeName, scope) })
			for _, s := range spans {
				b = appendMessage(b, scopeSpansSpans, s.append)
			}
			return b
		})
	})
}

func (s *Span) append(b []byte) []byte {
	b = appendBytes(b, spanTraceID, s.context.Trace[:])
	b = appendBytes(b, spanID, s.context.Span[:])
	if s.parent != [8]byte{} {
		b = appendBytes(b, spanParent, s.parent[:])
	}
	b = appendString(b, spanName, s.name)
	b = appendNumber(b, spanKind, uint64(s.kind))
	b = protowire.AppendFixed64(protowire.AppendTag(b, spanStart, protowire.Fixed64Type), uint64(s.start.UnixNano()))
	b = protowire.AppendFixed64(protowire.AppendTag(b, spanEnd, protowire.Fixed64Type), uint64(s.end.UnixNano()))
	b = appendAttributes(b, spanAttributes, s.attributes)
	if s.link.valid() {
		b = appendMessage(b, spanLinks, func(b []byte) []byte {
			return appendBytes(appendBytes(b, linkTraceID, s.link.Trace[:]), linkSpanID, s.link.Span[:])
		})
	}
	if s.failed {
		b = appendMessage(b, spanStatus, func(b []byte) []byte {
			if s.message != "" {
				b = appendString(b, statusMessage, s.message)
			}
			return appendNumber(b, statusCode, statusError)
		})
	}
	// The low byte is that of W3C, which says that the trace is sampled.
	return protowire.AppendFixed32(protowire.AppendTag(b, spanFlags, protowire.Fixed32Type), 1)
}

func appendAttributes(b []byte, field protowire.Number, list []attribute) []byte {
	for _, a := range list {
		b = appendMessage(b, field, func(b []byte) []byte {
			b = appendString(b, pairKey, a.key)
			return appendMessage(b, pairValue, func(b []byte) []byte {
				switch v := a.value.(type) {
				case bool:
					return appendNumber(b, valueBool, protowire.EncodeBool(v))
				case int64:
					return appendNumber(b, valueInt, uint64(v))
				case string:
					return appendString(b, valueString, v)
				}
				return b
			})
		})
	}
	return b
}

// appendMessage appends a message, whose length stands before it.
func appendMessage(b []byte, field protowire.Number, fill func([]byte) []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	// Messages are built behind a length of five bytes, the longest that is needed; shorter ones move up.
	const room = 5
	mark := len(b)
	b = fill(append(b, make([]byte, room)...))
	n := len(b) - mark - room
	head := protowire.AppendVarint(make([]byte, 0, room), uint64(n))
	copy(b[mark:], head)
	copy(b[mark+len(head):], b[mark+room:])
	return b[:mark+len(head)+n]
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func statusText(status int) string { return strconv.Itoa(status) }
