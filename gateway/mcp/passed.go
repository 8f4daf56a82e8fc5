package mcp

import (
	"bytes"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// AppendPassed appends the members of a client's _meta that are meant for the
// server: those of the protocol are made anew, ours are for us.
func AppendPassed(dst []byte, meta jsonscan.Value) []byte {
	mark := len(dst)
	for it := meta.Members(); it.Next(); {
		name := it.Key()
		if bytes.IndexByte(name, '\\') >= 0 { // as PHP writes each slash
			name = it.KeyText(nil)
		}
		if bytes.HasPrefix(name, []byte("io.modelcontextprotocol/")) || bytes.HasPrefix(name, []byte("dev.sluice/")) || it.KeyEqual("progressToken") {
			continue
		}
		dst = jsonscan.AppendMember(dst, mark, it.Key(), it.Value().Raw())
	}
	return dst
}

// AppendCapabilities appends what a client can be asked by way of a result. Other
// capabilities are not passed on as they are.
func AppendCapabilities(dst []byte, declared jsonscan.Value) []byte {
	dst = append(dst, '{')
	mark := len(dst)
	for _, name := range [...]string{"sampling", "elicitation", "roots"} {
		if v := declared.Get(name); v.Exists() {
			dst = jsonscan.AppendMember(dst, mark, []byte(name), v.Raw())
		}
	}
	return append(dst, '}')
}
