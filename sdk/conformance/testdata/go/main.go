// Command conformance is the plugin of the conformance cases in Go.
package main

import (
	"bytes"
	"errors"
	"fmt"

	sluice "github.com/sluicegate/sluice/sdk/go"
)

func init() {
	sluice.Filter(run)
	sluice.Workflow(run)
}

func main() {}

func run(c *sluice.Context, in []byte) ([]byte, error) {
	switch c.Setting("do") {
	case "echo":
		return in, nil
	case "upper":
		return bytes.ToUpper(in), nil
	case "context":
		return fmt.Appendf(nil, "%s\n%s\n%d\n%s\n%s\n%s\n", c.Tool(), c.Operation(), c.Status(), c.ContentType(), c.Arguments(), c.Config()), nil
	case "setting":
		return []byte(c.Setting(c.Setting("name"))), nil
	case "fail":
		return nil, errors.New(c.Setting("message"))
	case "log":
		c.Log(sluice.Info, "first")
		c.Log(sluice.Warn, "second")
	case "calls":
		results := []*sluice.Result{c.Call("first", raw(in))}
		results = append(results, c.CallAll(sluice.ToolCall{Tool: "second"}, sluice.ToolCall{Tool: "third"})...)
		var out []byte
		for _, r := range results {
			out = fmt.Appendf(out, "%d %s%s%s\n", r.Status, r.Value, r.Text, r.Error)
		}
		return out, nil
	}
	return nil, nil
}

// raw is JSON as it is.
type raw []byte

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return r, nil }
