package call

import (
	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/internal/jsonscan"
)

// rendering turns the answer of an upstream into the text for the agent: transform,
// plugins, compress, in this order. The result of an MCP server has one for each of its items.
type rendering struct {
	*input
	*scratch
	args     jsonscan.Value    // of the operation
	mask     *answer.Program   // of the caller's fields; nil: the tool's
	rules    credentials.Rules // whose credentials went with the request
	received                   // what the upstream answered
	hidden   bool              // hidden characters stay in the text
	asJSON   bool              // JSON is written as JSON, whatever the format of the tool

	// What transform and plugins leave in small, unless body is the answer.
	broken   bool   // body should be JSON and is not
	remark   []byte // what must be said of that
	isJSON   bool   // body was JSON, or was made so
	verbatim bool   // body is the answer, not small
	minified bool   // verbatim, and body is without insignificant white space, but around it
	deep     bool   // verbatim, as body nests deeper than we look
	isText   bool   // small is text that is not JSON
	leftOut  uint64 // members that the default projection left out and somebody may want
	leftName []byte // the first of them, a view of the program

	output
}

// output is what the agent reads. Slices are views of the exchange's memory.
type output struct {
	text       []byte
	isDocument bool   // text is a JSON document and nothing else
	isError    bool   // text is a failure
	why        string // of one that came with a status of success, without a word of the upstream
	media      string // not text but an image, a sound or a file of this type
	file       []byte // that file
	structured []byte // structuredContent: the same JSON as text; nil: none
	listed     []byte // a page of a list as JSON, with what is around the list; nil: no such page
}

// run is the whole of a rendering, but for the notes beside the text.
func (a *rendering) run() error {
	if err := a.transform(); err != nil {
		return err
	}
	if err := a.plugins(); err != nil {
		return err
	}
	return a.write()
}
