package call

import (
	"encoding/base64"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// result writes the members of the MCP result (MCP 2026-07-28 "CallToolResult").
func (x *exchange) result() error {
	if x.failed != nil {
		x.failure = appendProblem(x.failure[:0], x.failed)
		x.text, x.media = x.failure, ""
	}
	if x.media != "" {
		x.dst = appendMedia(x.dst, x.media, x.text)
		return nil
	}
	x.dst = append(x.dst, `"content":[{"type":"text","text":`...)
	x.dst = jsonscan.AppendString(x.dst, x.text)
	x.dst = append(x.dst, `}]`...)
	if x.failed != nil || x.bad {
		x.dst = append(x.dst, `,"isError":true`...)
	}
	return nil
}

func appendMedia(dst []byte, media string, data []byte) []byte {
	kind := "image"
	if media[0] == 'a' {
		kind = "audio"
	}
	dst = append(dst, `"content":[{"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, data)
	dst = append(dst, `","mimeType":`...)
	dst = jsonscan.AppendStringOf(dst, media)
	return append(dst, `}]`...)
}

// appendProblem appends what an agent is told of a problem: the fault, what to do,
// and each single fault with its place on a line of its own.
func appendProblem(dst []byte, p *problem.Error) []byte {
	if len(p.Parts) == 0 {
		return append(dst, p.Error()...)
	}
	dst = append(dst, p.Detail...)
	if p.Remedy != "" {
		dst = append(append(append(dst, " ("...), p.Remedy...), ')')
	}
	for _, part := range p.Parts {
		dst = append(dst, "\n- "...)
		dst = append(dst, part.Error()...)
	}
	return dst
}
