package arazzo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Bounds of a run, beside those of its context.
const (
	// MaxCalls of one run, retries included: as many as a workflow plugin may make.
	MaxCalls = 256
	// MaxTransitions is how many steps one run may begin: what a goto that never ends
	// runs into.
	MaxTransitions = 512
	// maxAtOnce is how many calls of a run are made at once, as for workflow plugins.
	maxAtOnce = 8
	// maxValue is the size of a value that a document makes of others, in bytes: lists of
	// lists of the same value would grow without end.
	maxValue = 8 << 20
	// maxRegexText is how much text a regular expression looks at, in bytes.
	maxRegexText = 128 << 10
)

// Caller calls operations. It is called from several goroutines.
type Caller interface {
	// Call calls the operation of a step. An error ends the run; a call that failed is a
	// response.
	Call(ctx context.Context, c *Call) (*Response, error)
}

// Call is a request of a step.
type Call struct {
	Operation   string // as the document has it
	Parameters  []Argument
	HasBody     bool
	Body        any
	ContentType string // "": the document does not say
	// Headers are those of the response that expressions of the document ask for.
	Headers []string
}

// Argument is the value of a parameter.
type Argument struct {
	Name, In string
	Value    any
}

// Response is how a call ended.
type Response struct {
	URL, Method string
	Status      int // 0: there was no answer
	Header      func(name string) string
	Body        any    // decoded JSON, or text
	Error       string // why the call failed; "": it did not
	// RetryAfter is how long the server wants to be left alone; 0: it does not say.
	RetryAfter time.Duration
}

// Result is how a run ended.
type Result struct {
	Outputs []Value // of the workflow, in the order of the document
	Failure *FailureError
	Steps   []StepRun // in the order in which they ended
}

// Value is a named value.
type Value struct {
	Name  string
	Value any
}

// MarshalOutputs writes the outputs as a JSON object.
func (r *Result) MarshalOutputs() ([]byte, error) {
	o := make(object, len(r.Outputs))
	for i, v := range r.Outputs {
		o[i] = orderedMember{v.Name, v.Value}
	}
	return marshal(o)
}

// FailureError is a step that failed, for which no action had an answer.
type FailureError struct {
	Workflow, Step, Reason string
}

// Error says which step failed, and why.
func (f *FailureError) Error() string {
	if f.Step == "" {
		return fmt.Sprintf("workflow %s: %s", f.Workflow, f.Reason)
	}
	return fmt.Sprintf("step %s of workflow %s failed: %s", f.Step, f.Workflow, f.Reason)
}

// StepRun is one attempt of a step.
type StepRun struct {
	Workflow, Step string
	Attempt        int // from 1
	OK             bool
	Status         int
}

// errSpent ends a run that goes beyond a bound.
var errSpent = errors.New("the run is over a limit")

// Run runs a workflow. An error says why it could not be run to its end, which a failed
// step is not: that is in the result.
func (p *Plan) Run(ctx context.Context, id string, inputs map[string]any, c Caller) (*Result, error) {
	w := p.Document.Workflow(id)
	if w == nil {
		return nil, fmt.Errorf("the document has no workflow %.80q", id)
	}
	if err := p.Document.Runnable(id); err != nil {
		return nil, err
	}
	r := &run{plan: p, caller: c, result: &Result{}, slots: make(chan struct{}, maxAtOnce), done: map[string]*frame{}}
	f, err := r.workflow(ctx, w, inputs)
	var failed *FailureError
	if err != nil && !errors.As(err, &failed) {
		return r.result, err
	}
	r.result.Failure = failed
	if f != nil && failed == nil {
		for _, o := range f.w.Outputs {
			r.result.Outputs = append(r.result.Outputs, Value{o.Name, f.result[o.Name]})
		}
	}
	return r.result, nil
}

type run struct {
	plan   *Plan
	caller Caller
	slots  chan struct{}

	mu          sync.Mutex
	calls       int
	transitions int
	result      *Result
	done        map[string]*frame // by workflow, the last that ended
}

// frame is a workflow that runs.
type frame struct {
	r      *run
	w      *Workflow
	given  map[string]any
	result map[string]any

	mu    sync.Mutex
	steps map[string]map[string]any // outputs
	last  *Response                 // of the step that ended last
}

func (r *run) spend(counter *int, most int, what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *counter++; *counter > most {
		return fmt.Errorf("%w: more than %d %s", errSpent, most, what)
	}
	return nil
}

// workflow runs a workflow, and those that it goes to. The frame is that of the last one.
func (r *run) workflow(ctx context.Context, w *Workflow, inputs map[string]any) (*frame, error) {
	for {
		for _, id := range w.DependsOn {
			if r.ended(id) == nil {
				dep := r.plan.Document.Workflow(id)
				if _, err := r.workflow(ctx, dep, only(inputs, dep)); err != nil {
					return nil, err
				}
			}
		}
		f := &frame{r: r, w: w, given: withDefaults(inputs, w), steps: map[string]map[string]any{}}
		next, err := f.run(ctx)
		if err != nil {
			return nil, err
		}
		if next == nil {
			if err := f.finish(); err != nil {
				return nil, err
			}
			return f, nil
		}
		w, inputs = next.w, next.inputs
	}
}

func (r *run) ended(id string) *frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[id]
}

// finish evaluates the outputs.
func (f *frame) finish() error {
	s := &stepScope{f: f}
	f.result = map[string]any{}
	for i := range f.w.Outputs {
		o := &f.w.Outputs[i]
		v, err := o.value.read(s)
		if err != nil {
			return &FailureError{Workflow: f.w.ID, Reason: fmt.Sprintf("output %s: %s", o.Name, err)}
		}
		f.result[o.Name] = v
	}
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.done[f.w.ID] = f
	return nil
}

// only are the inputs that another workflow knows.
func only(inputs map[string]any, w *Workflow) map[string]any {
	out := map[string]any{}
	for k, v := range inputs {
		if w.knows(k) {
			out[k] = v
		}
	}
	return out
}

func withDefaults(inputs map[string]any, w *Workflow) map[string]any {
	out := map[string]any{}
	maps.Copy(out, w.defaults)
	maps.Copy(out, inputs)
	return out
}

// transfer is a workflow that a run goes to.
type transfer struct {
	w      *Workflow
	inputs map[string]any
}

// outcome is what follows a step.
type outcome struct {
	step     string // goto
	transfer *transfer
	end      bool
}

func (f *frame) run(ctx context.Context) (*transfer, error) {
	if after := f.r.plan.waves[f.w].after; after != nil {
		return f.parallel(ctx, after)
	}
	for i := 0; i < len(f.w.Steps); {
		out, err := f.step(ctx, f.w.Steps[i])
		switch {
		case err != nil:
			return nil, err
		case out.transfer != nil || out.end:
			return out.transfer, nil
		case out.step != "":
			i = f.w.step(out.step)
		default:
			i++
		}
	}
	return nil, nil
}

// step runs one step with its retries, and says what follows.
func (f *frame) step(ctx context.Context, s *Step) (outcome, error) {
	retries := map[*Action]int{}
	for attempt := 1; ; attempt++ {
		if err := f.r.spend(&f.r.transitions, MaxTransitions, "steps"); err != nil {
			return outcome{}, err
		}
		sc, why, err := f.attempt(ctx, s)
		if err != nil {
			return outcome{}, err
		}
		f.r.note(StepRun{Workflow: f.w.ID, Step: s.ID, Attempt: attempt, OK: why == "", Status: sc.status()})
		if why == "" {
			if err := f.keep(s, sc); err != nil {
				return outcome{}, err
			}
			a, err := choose(overridden(s.success, f.w.success), sc, nil)
			if a == nil || err != nil {
				return outcome{}, f.failed(s, err)
			}
			return f.follow(s, a, sc)
		}
		a, err := choose(overridden(s.failure, f.w.failure), sc, func(a *Action) bool { return a.Type != actionRetry || retries[a] < a.Limit })
		if err != nil {
			return outcome{}, f.failed(s, err)
		}
		switch {
		case a == nil:
			return outcome{}, &FailureError{f.w.ID, s.ID, why}
		case a.Type == actionEnd:
			return outcome{}, &FailureError{f.w.ID, s.ID, why + "; the action " + a.Name + " ended the workflow"}
		case a.Type == actionGoto:
			return f.follow(s, a, sc)
		}
		retries[a]++
		if err := f.beforeRetry(ctx, a, sc); err != nil {
			return outcome{}, err
		}
	}
}

// failed makes a fault in a criterion one of its step.
func (f *frame) failed(s *Step, err error) error {
	if err == nil {
		return nil
	}
	return &FailureError{f.w.ID, s.ID, err.Error()}
}

// follow is what an action leads to.
func (f *frame) follow(s *Step, a *Action, sc *stepScope) (outcome, error) {
	if a.Workflow == "" {
		return outcome{step: a.Step, end: a.Type == actionEnd}, nil
	}
	w := f.r.plan.Document.Workflow(a.Workflow)
	in, err := f.inputsFor(w, a.parameters, sc)
	return outcome{transfer: &transfer{w, in}}, f.failed(s, err)
}

// inputsFor are the inputs of a workflow that an action names: those that this one knows
// too, and the parameters of the action.
func (f *frame) inputsFor(w *Workflow, parameters []*Parameter, sc *stepScope) (map[string]any, error) {
	in := only(f.given, w)
	for _, p := range parameters {
		v, err := p.value.read(sc)
		if err != nil {
			return nil, fmt.Errorf("the parameter %s: %w", p.Name, err)
		}
		in[p.Name] = v
	}
	return in, nil
}

// beforeRetry runs what an action names and waits.
func (f *frame) beforeRetry(ctx context.Context, a *Action, sc *stepScope) error {
	switch {
	case a.Workflow != "":
		w := f.r.plan.Document.Workflow(a.Workflow)
		in, err := f.inputsFor(w, a.parameters, sc)
		if err != nil {
			return f.failed(sc.s, err)
		}
		if _, err := f.r.workflow(ctx, w, in); err != nil {
			return err
		}
	case a.Step != "":
		if err := f.r.spend(&f.r.transitions, MaxTransitions, "steps"); err != nil {
			return err
		}
		s := f.w.Steps[f.w.step(a.Step)]
		other, why, err := f.attempt(ctx, s)
		if err != nil {
			return err
		}
		f.r.note(StepRun{Workflow: f.w.ID, Step: s.ID, Attempt: 1, OK: why == "", Status: other.status()})
		if why != "" {
			return &FailureError{f.w.ID, s.ID, why}
		}
		if err := f.keep(s, other); err != nil {
			return err
		}
	}
	wait := a.After
	if sc.response != nil && sc.response.RetryAfter > 0 {
		wait = sc.response.RetryAfter // as the specification says
	}
	return f.wait(ctx, sc.s, wait)
}

// wait waits before a retry; it fails at once when the run ends before.
func (f *frame) wait(ctx context.Context, s *Step, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && time.Now().Add(d).After(end) || d > MaxWait {
		return &FailureError{f.w.ID, s.ID, fmt.Sprintf("it is to be retried in %s, and the call ends before", d.Round(time.Millisecond))}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// overridden are the actions of a step and, behind them, those of its workflow whose
// names it does not have.
func overridden(own, general []*Action) []*Action {
	out := slices.Clone(own)
	for _, a := range general {
		if !slices.ContainsFunc(own, func(b *Action) bool { return a.Name == b.Name }) {
			out = append(out, a)
		}
	}
	return out
}

// choose finds the first action that is permitted and whose criteria are met.
func choose(actions []*Action, sc *stepScope, permits func(*Action) bool) (*Action, error) {
	for _, a := range actions {
		if permits != nil && !permits(a) {
			continue
		}
		unmet, err := sc.unmet(a.criteria)
		if errors.Is(err, errCondition) { // as the specification says: it is not met
			continue
		}
		if err != nil {
			return nil, err
		}
		if unmet == nil {
			return a, nil
		}
	}
	return nil, nil
}

// attempt makes the call of a step, or runs its workflow. why it failed; "": it did not.
func (f *frame) attempt(ctx context.Context, s *Step) (sc *stepScope, why string, err error) {
	sc = &stepScope{f: f, s: s}
	if s.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		begin := time.Now()
		sc, why, err = f.once(limited, s, sc)
		// A caller may end a little before the clock says so.
		spent := limited.Err() != nil || time.Since(begin) > s.Timeout*9/10 && why != "" && sc.status() == 0
		if (err != nil || why != "" && sc.status() == 0) && spent && ctx.Err() == nil {
			if sc.holds {
				<-f.r.slots
			}
			return sc, "it took longer than " + s.Timeout.String(), nil
		}
		return sc, why, err
	}
	return f.once(ctx, s, sc)
}

func (f *frame) once(ctx context.Context, s *Step, sc *stepScope) (*stepScope, string, error) {
	if s.Workflow != "" {
		return f.nested(ctx, s, sc)
	}
	call, err := sc.prepare()
	if err != nil {
		return sc, err.Error(), nil //nolint:nilerr // the step failed, the run goes on
	}
	if err := f.r.spend(&f.r.calls, MaxCalls, "calls"); err != nil {
		return sc, "", err
	}
	select {
	case f.r.slots <- struct{}{}:
	case <-ctx.Done():
		return sc, "", context.Cause(ctx)
	}
	if ctx.Err() != nil { // both were ready
		<-f.r.slots
		return sc, "", context.Cause(ctx)
	}
	sc.response, err = f.r.caller.Call(ctx, call)
	if err != nil && ctx.Err() == nil {
		sc.holds = true // this ends the run: who waits for the place gets none before that
		return sc, "", err
	}
	<-f.r.slots
	if err != nil {
		return sc, "", err
	}
	if len(s.criteria) == 0 {
		return sc, sc.response.Error, nil
	}
	if sc.response.Status == 0 && sc.response.Error != "" {
		return sc, sc.response.Error, nil // there is no answer that a criterion could be about
	}
	return sc, sc.judge(), nil
}

// nested runs the workflow of a step.
func (f *frame) nested(ctx context.Context, s *Step, sc *stepScope) (*stepScope, string, error) {
	w := f.r.plan.Document.Workflow(s.Workflow)
	in := map[string]any{}
	own := len(f.w.parameters)
	for i, p := range slices.Concat(f.w.parameters, s.parameters) {
		if i < own && p.In != "" && !w.knows(p.Name) {
			continue // all parameters are inputs: of the workflow's, those that this one has
		}
		v, err := p.value.read(sc)
		if err != nil {
			return sc, fmt.Sprintf("the parameter %s: %s", p.Name, err), nil
		}
		in[p.Name] = v
	}
	inner, err := f.r.workflow(ctx, w, in)
	if failed, ok := errors.AsType[*FailureError](err); ok {
		return sc, failed.Error(), nil
	}
	if err != nil {
		return sc, "", err
	}
	// The specification's own examples ask a step that runs a workflow for $statusCode: that of
	// its last call is meant.
	sc.nested, sc.response = inner.result, inner.last
	return sc, sc.judge(), nil
}

// judge says which criterion is not met.
func (sc *stepScope) judge() string {
	unmet, err := sc.unmet(sc.s.criteria)
	if err != nil {
		return err.Error()
	}
	if unmet == nil {
		return ""
	}
	why := fmt.Sprintf("the criterion %.200s is not met", unmet.Condition)
	if r := sc.response; r != nil && r.Error != "" {
		why += ": " + r.Error
	} else if r != nil {
		why += fmt.Sprintf(" (HTTP status %d)", r.Status)
	}
	return why
}

// keep evaluates the outputs of a step that succeeded.
func (f *frame) keep(s *Step, sc *stepScope) error {
	out := map[string]any{}
	maps.Copy(out, sc.nested)
	for i := range s.outputs {
		v, err := s.outputs[i].value.read(sc)
		if err != nil {
			return f.failed(s, fmt.Errorf("output %s: %w", s.outputs[i].Name, err))
		}
		out[s.outputs[i].Name] = v
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps[s.ID] = out
	if sc.response != nil {
		f.last = sc.response
	}
	return nil
}

func (r *run) note(s StepRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Steps = append(r.result.Steps, s)
}

// Decode reads JSON as the values that expressions work with: numbers keep their text.
func Decode(text []byte) (any, error) { return decode(text) }

// knows reports whether the schema of the inputs names an input.
func (w *Workflow) knows(name string) bool { return slices.Contains(w.names, name) }
