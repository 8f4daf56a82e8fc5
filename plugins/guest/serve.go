package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Signature describes a host function of the contract to another host than ours.
type Signature struct {
	Name   string
	Params string // a letter each: n, a number, or b, a block of bytes
	Result string // n or b
}

// Signatures are those of [Functions].
func Signatures() []Signature {
	return []Signature{{deriveFunction, "nbb", "n"}, {signFunction, "nb", "b"}, {tokenFunction, "b", "n"}, {fetchFunction, "bb", "n"}, {callFunction, "b", "b"}}
}

// Serve is what a host function gives for a call of a plugin that another host runs:
// its numbers and blocks in the order of the signature. An error stops the plugin.
func (c *Context) Serve(ctx context.Context, function string, numbers []uint64, blocks [][]byte) (number uint64, block []byte, err error) {
	var refusal string
	switch {
	case function == deriveFunction && len(numbers) == 1 && len(blocks) == 2:
		number, refusal = c.Keys.derive(numbers[0], blocks[0], blocks[1])
	case function == signFunction && len(numbers) == 1 && len(blocks) == 1:
		block, refusal = c.Keys.sign(numbers[0], blocks[0])
	case function == tokenFunction && len(blocks) == 1:
		number, refusal = c.Keys.cached(blocks[0])
	case function == fetchFunction && len(blocks) == 2:
		refusal = "the reference host sends no requests"
	case function == callFunction && len(blocks) == 1:
		var calls []ToolCall
		if calls, refusal = c.Calls.read(blocks[0]); refusal != "" {
			break
		}
		var results []ToolResult
		if results, err = c.Calls.run(ctx, calls); err != nil {
			return 0, nil, err
		}
		block, refusal = c.Calls.write(results)
	default:
		return 0, nil, fmt.Errorf("there is no host function %s of such arguments", function)
	}
	if refusal != "" {
		err = errors.New(refusal)
	}
	return number, block, err
}

// Settings are all that a plugin can ask of a call, its configuration included. It fails
// as [Load] does.
func (p *Package) Settings(config json.RawMessage, c *Context) (map[string]string, error) {
	all, err := p.config(config)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"sluice.tool", "sluice.operation", "sluice.status", "sluice.content_type", "sluice.arguments"} {
		all[key], _ = c.value(key)
	}
	return all, nil
}
