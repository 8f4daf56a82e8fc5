package arazzo

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of a document. The largest one known has 10 workflows, 39 steps and 53 KB.
const (
	// MaxDocument is the size of a document in bytes: a release carries it to every edge.
	MaxDocument = 512 << 10
	// MaxWorkflows of one document.
	MaxWorkflows = 64
	// MaxSteps of one workflow: each is at least one call.
	MaxSteps = 64
	// MaxNested is how deep workflows may call workflows.
	MaxNested = 8
	// MaxRetries of one failure action: what fails that often does not get well.
	MaxRetries = 20
	// MaxWait is the longest pause before a retry; a call ends before, as a rule.
	MaxWait = 10 * time.Minute
	// maxMembers of one list or map in a document that is not of steps or workflows.
	maxMembers = 256
	// maxNesting of values in a document, bodies and schemas included.
	maxNesting = 48
	// maxText of an expression, condition or name.
	maxText = 4 << 10
	// maxSchema is how large the schema of inputs may become in bytes, its references
	// resolved: every client lists it.
	maxSchema = 64 << 10
	// maxFaults are reported of one document.
	maxFaults = 20
)

// Document is an Arazzo description that was read without a fault.
type Document struct {
	Version   string // 1.0.0, 1.0.1, 1.1.0
	Self      string // $self of 1.1, its own address; may be empty
	Title     string
	Sources   []Source
	Workflows []*Workflow

	foreign    map[string][]*problem.Error // by workflow: what cannot be run here
	parameters map[string]*Parameter       // of the components
	success    map[string]*Action
	failure    map[string]*Action
}

// Source is a source description: where operations are described.
type Source struct {
	Name, URL string
	Type      string // openapi, arazzo; "": the document does not say
}

// Workflow finds a workflow by its id; nil: there is none.
func (d *Document) Workflow(id string) *Workflow {
	for _, w := range d.Workflows {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// Workflow is one workflow of a document.
type Workflow struct {
	ID, Summary, Description string
	// Inputs is the JSON Schema of the inputs with its references resolved, an object.
	Inputs json.RawMessage
	// DependsOn are the workflows that run before: those that the document names, and
	// those whose outputs it reads and that nothing runs in it.
	DependsOn []string
	Steps     []*Step
	Outputs   []Output

	names      []string       // of the inputs
	defaults   map[string]any // of the inputs
	parameters []*Parameter
	success    []*Action
	failure    []*Action
	readsOf    map[string]bool // workflows whose outputs it reads
	runs       map[string]bool // workflows that it runs, also by way of others
	place      place
}

func (w *Workflow) step(id string) int {
	for i, s := range w.Steps {
		if s.ID == id {
			return i
		}
	}
	return -1
}

// Output is a named value.
type Output struct {
	Name  string
	value value
}

// Step is one step of a workflow: a call of an operation, or of a workflow.
type Step struct {
	ID, Description string
	// Operation is the operationId or operationPath as the document has it; "" where
	// Workflow is set.
	Operation string
	ByPath    bool
	// Workflow is the id of the workflow that the step runs.
	Workflow string
	// DependsOn are the steps that Arazzo 1.1 names.
	DependsOn []string
	// Timeout of one attempt (1.1); 0: that of the run.
	Timeout time.Duration

	parameters []*Parameter
	body       *body
	criteria   []*Criterion
	success    []*Action
	failure    []*Action
	outputs    []Output
	reads      []string // steps whose outputs it reads
	headers    []string // of the response, which expressions ask for
	foreign    string   // why it cannot be run here; "": it can
	place      place
}

// Parameter is one value for an operation or a workflow.
type Parameter struct {
	Name string
	In   string // path, query, header, cookie, querystring; "" for inputs of a workflow
	value
	place place
}

type body struct {
	contentType  string
	payload      value
	replacements []replacement
}

type replacement struct {
	target string    // JSON pointer, or the text of path
	path   *jsonPath // 1.1; nil: target is a JSON pointer
	value  value
}

// Kinds of actions.
const (
	actionEnd   = "end"
	actionGoto  = "goto"
	actionRetry = "retry"
)

// Action is what happens after a step.
type Action struct {
	Name, Type string
	Workflow   string
	Step       string
	After      time.Duration // retry
	Limit      int           // retry
	criteria   []*Criterion
	parameters []*Parameter
	place      place
}

// Kinds of criteria.
const (
	kindSimple   = "simple"
	kindRegex    = "regex"
	kindJSONPath = "jsonpath"
	// kindJSONPointer is for selectors and replacements.
	kindJSONPointer = "jsonpointer"
)

// Criterion is one assertion.
type Criterion struct {
	Condition string
	kind      string
	context   *expression
	simple    condition
	regex     *regexp.Regexp
	path      *jsonPath
	template  *value // a regex or JSONPath with expressions in it, in place of those above
}

// place is where something stands in the document.
type place struct {
	pointer string
	line    int
}

// expressions shows every expression of a step, outputs included.
func (s *Step) expressions(visit func(*expression)) {
	for _, p := range s.parameters {
		p.value.expressions(visit)
	}
	if s.body != nil {
		s.body.payload.expressions(visit)
		for _, r := range s.body.replacements {
			r.value.expressions(visit)
		}
	}
	for _, c := range s.criteria {
		c.expressions(visit)
	}
	for _, o := range s.outputs {
		o.value.expressions(visit)
	}
	for _, list := range [][]*Action{s.success, s.failure} {
		for _, a := range list {
			a.expressions(visit)
		}
	}
}

func (a *Action) expressions(visit func(*expression)) {
	for _, c := range a.criteria {
		c.expressions(visit)
	}
	for _, p := range a.parameters {
		p.value.expressions(visit)
	}
}

func (c *Criterion) expressions(visit func(*expression)) {
	if c.context != nil {
		visit(c.context)
	}
	if c.simple != nil {
		c.simple.expressions(visit)
	}
	if c.template != nil {
		c.template.expressions(visit)
	}
}

// Place is where the step stands in the document: its JSON pointer and line.
func (s *Step) Place() (pointer string, line int) { return s.place.pointer, s.place.line }
