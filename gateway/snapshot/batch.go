package snapshot

import (
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/plugins/connector"
)

// BatchTool is the tool that makes many calls at once.
const BatchTool = "batch"

const (
	batchDescription = "Make up to 20 independent calls of this server's tools at once and read all answers together. " +
		"Calls that change data need allow_writes; they are made in order, and none behind a call that failed."
	batchSchema = `{"type":"object","properties":{` +
		`"calls":{"type":"array","minItems":1,"maxItems":20,"items":{"type":"object","properties":{` +
		`"tool":{"type":"string"},"arguments":{"type":"object"},"id":{"type":"string","description":"Names the answer"}},"required":["tool"]}},` +
		`"allow_writes":{"type":"boolean","default":false}},"required":["calls"]}`
)

// batchInfo is what tools/list says of batch. What a batch may do is what the tools may do
// that it can call.
func (ts *Toolset) batchInfo(sees func(string) bool) (mcp.ToolInfo, error) {
	info := mcp.ToolInfo{Name: ts.index.batch.Name, Description: batchDescription, InputSchema: []byte(batchSchema)}
	_, err := ts.effects(&info, sees)
	return info, err
}

// appendBatch appends the definition of batch for a caller.
func (ts *Toolset) appendBatch(dst []byte, sees func(string) bool) ([]byte, error) {
	info, err := ts.batchInfo(sees)
	if err != nil {
		return dst, err
	}
	return mcp.AppendTool(dst, &info), nil
}

// loadBatch makes batch ready. Its calls are filtered each by itself.
func (t *Tool) loadBatch() error {
	r := &t.ready.Ready
	r.Method, r.Path = "BATCH", "/"+BatchTool
	var err error
	if r.Answer, err = t.answer(&connector.Tool{Head: connector.Head{Method: r.Method, Path: r.Path, Name: t.Name}}); err != nil {
		return err
	}
	r.Meter = t.Toolset.meter.Tool(t.meterID())
	return nil
}
