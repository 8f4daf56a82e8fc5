package tracing

// Attributes and their values, by OpenTelemetry's semantic conventions for MCP, HTTP and
// errors (those of MCP are of status Development, and may still change). Ours begin
// with sluice.
const (
	keyMethod          = "mcp.method.name"
	keyTool            = "gen_ai.tool.name"
	keyOperation       = "gen_ai.operation.name"
	keyPrompt          = "gen_ai.prompt.name"
	keyProtocol        = "mcp.protocol.version"
	keyRequestID       = "jsonrpc.request.id"
	keyErrorType       = "error.type"
	keyHTTPMethod      = "http.request.method"
	keyHTTPStatus      = "http.response.status_code"
	keyURLTemplate     = "url.template"
	keyServerAddress   = "server.address"
	keyServerPort      = "server.port"
	keyToolset         = "sluice.toolset"
	keyConnector       = "sluice.connector"
	keyOutcome         = "sluice.outcome"
	keyCached          = "sluice.cached"
	keyBytesReceived   = "sluice.answer.received_bytes"
	keyBytesResult     = "sluice.answer.result_bytes"
	keyPluginVersion   = "sluice.plugin.version"
	operationExecution = "execute_tool"
)

// MethodCall is the method of a call of a tool.
const MethodCall = "tools/call"
