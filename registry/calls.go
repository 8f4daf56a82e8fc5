package registry

import (
	"encoding/json"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Bounds of the call log in usage reports.
const (
	// MaxUsageCalls of one report: with about 400 bytes each less than a quarter of it.
	MaxUsageCalls = 2000
	// MaxUsageCallBytes is how much of one report its calls may take, captured texts and
	// all, as JSON: with the series and samples there is room for them in MaxUsageBytes.
	MaxUsageCallBytes = 2 << 20
	// MaxCaptureBytes of the arguments, and of the answer, of a call that is captured:
	// enough to see what was asked and what came, not to keep what was said.
	MaxCaptureBytes = 4096
	// MaxUsageCaller of the name of who called: a JSON Web Token's subject has 255
	// characters at most (OpenID Connect Core §2).
	MaxUsageCaller = 255
	// MaxUsageRun of a run of a script that is kept: the longest script, escaped, and what it
	// called.
	MaxUsageRun = 2*MaxScript + 64<<10
	// MaxUsageRequest of a client's id of a request.
	MaxUsageRequest = 64
)

// What of calls is captured.
const (
	// CaptureOff captures nothing. The empty text is the same.
	CaptureOff = "off"
	// CaptureErrors captures arguments and answers of calls that failed.
	CaptureErrors = "errors"
	// CaptureAll captures those of every call.
	CaptureAll = "all"
)

// validCapture reports whether s is one of those above, or empty.
func validCapture(s string) bool {
	return s == "" || s == CaptureOff || s == CaptureErrors || s == CaptureAll
}

// UsageCall is one call of a tool, for the call log. Times are microseconds; Prepare,
// Upstream, Shape and Encode add up to Duration.
type UsageCall struct {
	Workspace  string    `json:"workspace"`
	Toolset    string    `json:"toolset"` // its identifier
	Tool       string    `json:"tool"`
	Connector  string    `json:"connector,omitempty"` // that served it; absent: a workflow, or a node of a version before this field
	At         time.Time `json:"at"`                  // when it began
	Revision   uint64    `json:"revision"`            // of the toolset
	Outcome    string    `json:"outcome"`
	Cause      string    `json:"cause,omitempty"` // of a call that failed
	Credential string    `json:"credential"`
	Status     int       `json:"status,omitempty"` // of the upstream
	Cached     bool      `json:"cached,omitempty"` // answered without the upstream
	CallerKind string    `json:"callerKind"`       // anonymous, token, jwt
	Caller     string    `json:"caller,omitempty"` // the token's id, the subject
	Request    string    `json:"request,omitempty"`
	// Trace is the trace-id of the caller's traceparent (W3C Trace Context), in hex.
	Trace        string `json:"trace,omitempty"`
	Duration     uint64 `json:"duration"` // of the whole call
	Prepare      uint64 `json:"prepare"`  // until the upstream was asked: arguments, request, credential, cache
	Upstream     uint64 `json:"upstream"` // waiting for the upstream
	Shape        uint64 `json:"shape"`    // in response programs and plugins
	Encode       uint64 `json:"encode"`   // writing the text that the agent reads
	BytesBefore  uint64 `json:"bytesBefore,omitempty"`
	BytesAfter   uint64 `json:"bytesAfter,omitempty"`
	TokensBefore uint64 `json:"tokensBefore,omitempty"` // estimated
	TokensAfter  uint64 `json:"tokensAfter,omitempty"`  // estimated
	// Captured says that Arguments and Answer were kept, redacted where they were taken
	// and cut at MaxCaptureBytes.
	Captured  bool   `json:"captured,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Answer    string `json:"answer,omitempty"`
	// Inner says that a workflow, a script or a batch made the call.
	Inner bool `json:"inner,omitempty"`
	// Script is the digest of the script that ran; "": none did.
	Script string `json:"script,omitempty"`
	// Run is a [ScriptRun], of a script that succeeded where all calls are captured. Whoever
	// stores it seals it: then it is in Sealed.
	Run    json.RawMessage `json:"run,omitempty"`
	Sealed []byte          `json:"-"`
}

// ScriptRun is a run of a script that succeeded: what a tool can be made of.
type ScriptRun struct {
	Code string `json:"code,omitempty"`
	// Withheld says why there is no code; "": there is.
	Withheld string `json:"withheld,omitempty"`
	// Calls are the operations that it called, by GROUP.NAME as it did, each once.
	Calls []CalledTool `json:"calls,omitempty"`
	// Other is a tool that it called which is not an operation of a connector; "": none.
	Other string `json:"other,omitempty"`
	// Shape is the JSON Schema of its value, without anything of the value but the names of
	// members.
	Shape json.RawMessage `json:"shape,omitempty"`
}

// Why a run was withheld.
const (
	// WithheldPersonal: something in the script looks like a secret, or names a person.
	WithheldPersonal = "personal"
	// WithheldRoom: the node had no room for it.
	WithheldRoom = "room"
)

// UsageOmitted is how many calls of a toolset are in the counts and not in the log.
type UsageOmitted struct {
	Workspace string `json:"workspace"`
	Toolset   string `json:"toolset"`
	Calls     uint64 `json:"calls"`
}

// WireBytes is how many bytes the call takes in a report.
func (c *UsageCall) WireBytes() int {
	b, err := json.Marshal(c)
	if err != nil {
		panic("BUG: a call cannot be written: " + err.Error())
	}
	return len(b) + 1
}

// validCalls checks the call log of a report.
func (r *UsageReport) validCalls() error {
	bad := func(what string, i int) error {
		return problem.New(problem.InvalidArgument, "%s %d of the usage is not valid", what, i)
	}
	if len(r.Calls) > MaxUsageCalls || len(r.Omitted) > MaxUsageSeries {
		return problem.New(problem.TooLarge, "the usage has more than %d calls", MaxUsageCalls)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		switch {
		case !usageTool(c.Workspace, c.Toolset, c.Tool), c.Connector != "" && !ValidSlug(c.Connector), !usageWord(c.Outcome, 40), !usageWord(c.Credential, 40), c.Cause != "" && !usageWord(c.Cause, 64),
			!usageWord(c.CallerKind, 20), len(c.Caller) > MaxUsageCaller, !plainText(c.Caller), len(c.Request) > MaxUsageRequest, !plainText(c.Request),
			c.Trace != "" && (len(c.Trace) != 32 || !usageWord(c.Trace, 32)), c.Status < 0, c.Status > 999, c.At.Year() < 1970, c.At.Year() > 9999,
			len(c.Arguments) > MaxCaptureBytes, len(c.Answer) > MaxCaptureBytes, !plainText(c.Arguments), !plainText(c.Answer),
			!c.Captured && c.Arguments+c.Answer != "", c.Script != "" && !Digest(c.Script).Valid(), len(c.Run) > 0 && (c.Script == "" || !c.Captured), len(c.Run) > MaxUsageRun:
			return bad("call", i)
		}
		for _, n := range []uint64{
			c.Revision, c.Duration, c.Prepare, c.Upstream, c.Shape, c.Encode, c.BytesBefore, c.BytesAfter, c.TokensBefore, c.TokensAfter,
		} {
			if n > MaxUsageCount {
				return bad("call", i)
			}
		}
	}
	for i := range r.Omitted {
		if o := &r.Omitted[i]; !ValidSlug(o.Workspace) || !usageWord(o.Toolset, 64) || o.Calls > MaxUsageCount {
			return bad("omission", i)
		}
	}
	return nil
}
