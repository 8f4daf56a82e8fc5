package mcp

import "github.com/valyala/fasthttp"

const (
	modernCall = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"q":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	legacyCall = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"q":"x"}}}`
)

func request(body string, headers ...string) *fasthttp.RequestCtx {
	rc := &fasthttp.RequestCtx{}
	rc.Request.Header.SetMethod("POST")
	rc.Request.Header.SetContentType("application/json")
	for i := 0; i < len(headers); i += 2 {
		rc.Request.Header.Set(headers[i], headers[i+1])
	}
	rc.Request.SetBodyString(body)
	return rc
}
