package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestDocumentsAreBounded: each count and length of what an edge, an owner or a
// caller gives is accepted at its limit and refused past it.
func TestDocumentsAreBounded(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	limits := func(l RateLimits) error {
		d := accessDocument()
		d.Tokens[0].Limits = &l
		_, err := d.Encode()
		return err
	}
	answers := func(a Answers) error {
		var f faults
		a.validate(&f, "/answers", OfTool)
		if len(f.parts) > 0 {
			return fmt.Errorf("%v", f.parts)
		}
		return nil
	}
	call := func(change func(c *UsageCall)) error {
		u := usage()
		u.Calls = []UsageCall{{Workspace: "acme", Toolset: "ts_1", Tool: "list", Outcome: "ok", Credential: "none", CallerKind: "none", At: time.Unix(65, 0)}}
		change(&u.Calls[0])
		return u.Validate()
	}
	for _, c := range []struct {
		what  string
		limit int
		try   func(n int) error
	}{
		{"patterns of a token", MaxAccessPatterns, func(n int) error {
			d := accessDocument()
			d.Tokens[0].Tools = strings.Split(strings.Repeat("a ", n-1)+"a", " ")
			_, err := d.Encode()
			return err
		}},
		{"scopes of a toolset", MaxAccessScopes, func(n int) error {
			d := jwtDocument()
			d.JWT.Scopes = nil
			for i := range n {
				d.JWT.Scopes = append(d.JWT.Scopes, ScopeGrant{Scope: fmt.Sprint("s", i), Tools: []string{"*"}})
			}
			_, err := d.Encode()
			return err
		}},
		{"requests per minute", MaxRequestsPerMinute, func(n int) error { return limits(RateLimits{RequestsPerMinute: n}) }},
		{"burst", MaxRequestsPerMinute, func(n int) error { return limits(RateLimits{RequestsPerMinute: 1, Burst: n}) }},
		{"bytes of a request", MaxRequestBytes, func(n int) error { return limits(RateLimits{RequestBytes: n}) }},
		{"bytes of an access document", MaxAccessBytes, func(n int) error {
			b, err := accessDocument().Encode()
			if err != nil {
				return err
			}
			_, err = ParseAccess(append(b, strings.Repeat(" ", n-len(b))...))
			return err
		}},
		{"bytes of a caller's id", maxUserText, func(n int) error {
			return (&User{Kind: UserJWT, ID: text(n), Issuer: "https://id.example"}).Validate()
		}},
		{"bytes of an issuer", maxUserText, func(n int) error { return (&User{Kind: UserJWT, ID: "a", Issuer: text(n)}).Validate() }},
		{"bytes of a token's toolset", maxUserText, func(n int) error {
			return (&User{Kind: UserToken, ID: "a", Toolset: text(n)}).Validate()
		}},
		{"bytes of a repository", maxRepositoryBytes, func(n int) error { return valid(ValidRepository(text(n))) }},
		{"bytes of an identifier", maxIDBytes, func(n int) error {
			d := accessDocument()
			d.Toolset = text(n)
			_, err := d.Encode()
			return err
		}},
		{"runes of instructions", MaxInstructionsRunes, func(n int) error {
			s := sample()
			s.Instructions = strings.Repeat("ä", n)
			return s.Validate()
		}},
		{"runes of a use case", MaxUseCaseRunes, func(n int) error {
			s := sample()
			s.Selection = &Selection{Mode: SelectAll, UseCase: strings.Repeat("ä", n)}
			return s.Validate()
		}},
		{"rows", MaxRowLimit, func(n int) error { return answers(Answers{Limit: n}) }},
		{"milliseconds of a call", MaxTimeoutMilliseconds, func(n int) error { return answers(Answers{TimeoutMilliseconds: n}) }},
		{"bytes of an upstream's answer", MaxResponseBytes, func(n int) error { return answers(Answers{ResponseBytes: int64(n)}) }},
		{"bytes of a string", MaxStringCap, func(n int) error { return answers(Answers{MaxString: n}) }},
		{"tokens of an answer", MaxTokenBudget, func(n int) error { return answers(Answers{Budget: n}) }},
		{"calls of a usage report", MaxUsageCalls, func(n int) error {
			u := usage()
			c := UsageCall{Workspace: "acme", Toolset: "ts_1", Tool: "list", Outcome: "ok", Credential: "none", CallerKind: "none", At: time.Unix(65, 0)}
			for range n {
				u.Calls = append(u.Calls, c)
			}
			return u.Validate()
		}},
		{"bytes of a caller's name", MaxUsageCaller, func(n int) error { return call(func(c *UsageCall) { c.Caller = text(n) }) }},
		{"bytes of a tool's name in a usage report", maxUsageTool, func(n int) error { return call(func(c *UsageCall) { c.Tool = text(n) }) }},
		{"counts of a report on plugins", MaxPluginCounts, func(n int) error {
			p := &EdgePlugins{}
			for range n {
				p.Calls = append(p.Calls, PluginCalls{PluginKey: PluginKey{"w", "p", "1.0.0"}})
			}
			return p.Validate()
		}},
		{"one count", maxCount, func(n int) error {
			return (&EdgePlugins{Calls: []PluginCalls{{PluginKey: PluginKey{"w", "p", "1.0.0"}, PluginCounts: PluginCounts{BytesOut: uint64(n)}}}}).Validate()
		}},
	} {
		if err := c.try(c.limit); err != nil {
			t.Errorf("%s, %d: %v", c.what, c.limit, err)
		}
		if err := c.try(c.limit + 1); err == nil {
			t.Errorf("%s, %d: accepted", c.what, c.limit+1)
		}
	}
}

func valid(ok bool) error {
	if !ok {
		return errors.New("not valid")
	}
	return nil
}

// TestNestingOfDocumentsIsBounded guards the readers of toolsets and releases.
func TestNestingOfDocumentsIsBounded(t *testing.T) {
	for over := range 2 {
		n := maxDepth + over
		err := decode([]byte(strings.Repeat("[", n)+strings.Repeat("]", n)), new(any), 1<<10, problem.InvalidRelease, "release")
		if (err == nil) != (over == 0) {
			t.Errorf("%d lists inside each other: %v", n, err)
		}
	}
}

// TestAbsenceNoticeIsBounded guards the size of what a node says of missing releases.
func TestAbsenceNoticeIsBounded(t *testing.T) {
	for over := range 2 {
		b := "{}" + strings.Repeat(" ", MaxAbsenceBytes-2+over)
		_, err := ParseAbsence([]byte(b)) // an empty notice is refused for another reason
		if got := strings.Contains(fmt.Sprint(err), "the limit is"); err == nil || got != (over == 1) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// TestReasonOfUnbindingIsCut guards what an edge says in its own words.
func TestReasonOfUnbindingIsCut(t *testing.T) {
	for over := range 2 {
		p := &EdgePlugins{Unbound: []PluginUnbound{{PluginKey: PluginKey{"w", "p", "1.0.0"}, Reason: strings.Repeat("x", maxReason+over)}}}
		if err := p.Validate(); err != nil || len(p.Unbound[0].Reason) != maxReason {
			t.Errorf("%d of %d bytes are kept: %v", len(p.Unbound[0].Reason), maxReason+over, err)
		}
	}
}

// TestTimeLeftOutIsBelievedToALimit: an edge's clock cannot show a plugin as out for ever.
func TestTimeLeftOutIsBelievedToALimit(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, late := range []time.Duration{0, time.Second} {
		u := &PluginUnbound{Until: now.Add(MaxLeftOut + late).Unix()}
		if got, want := u.End(now), now.Add(MaxLeftOut); !got.Equal(want) {
			t.Errorf("%s past the limit: until %s, want %s", late, got, want)
		}
	}
}

// TestPrefixedNameFits: a name that clients refuse is not made, with a number or without.
func TestPrefixedNameFits(t *testing.T) {
	const connector = "pets"
	for over := range 2 {
		tool := strings.Repeat("t", maxToolName-len(connector)-1+over)
		if got := PrefixedName(connector, tool, func(string) bool { return false }); len(got) != maxToolName {
			t.Errorf("%q has %d bytes, want %d", got, len(got), maxToolName)
		}
		first := PrefixedName(connector, tool, func(string) bool { return false })
		if got := PrefixedName(connector, tool, func(name string) bool { return name == first }); len(got) != maxToolName || got == first {
			t.Errorf("%q has %d bytes, want %d, and not %q", got, len(got), maxToolName, first)
		}
	}
}
