package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxHosts that one plugin may ask for: each is read by the person who grants it.
	MaxHosts = 32
	// MaxHost is the longest host name (RFC 1035 §2.3.4) with a port.
	MaxHost = 253 + 6
	// FreeDeadlineMS is how much processor time a call may have without a grant: a tenth of
	// what a person waits for without noticing is the default, ten times that is an agent's.
	FreeDeadlineMS = 1000
)

// Grants are what an operator lets one binding of a plugin do beyond turning input into
// output. The zero value is nothing.
type Grants struct {
	// Hosts that the gateway may call for it: a name, "*.example.com" for all names below,
	// each with a port when it is not that of the scheme.
	Hosts  []string `json:"hosts,omitempty"`
	Clock  bool     `json:"clock,omitempty"`  // the real time
	Random bool     `json:"random,omitempty"` // real randomness
	// DeadlineMS is the processor time of one call; 0: FreeDeadlineMS at most.
	DeadlineMS int `json:"deadlineMs,omitempty"`
}

var hostPattern = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?$`).MatchString

// validHost reports whether a host can be asked for and granted.
func validHost(s string) bool { return len(s) <= MaxHost && hostPattern(s) }

// Asks is what a plugin asks an operator for.
func (m *Manifest) Asks() Grants {
	var g Grants
	if c := m.Capabilities; c != nil {
		g = Grants{Hosts: c.Hosts, Clock: c.Clock, Random: c.Random}
	}
	if l := m.Limits; l != nil && l.DeadlineMS > FreeDeadlineMS {
		g.DeadlineMS = l.DeadlineMS
	}
	return g
}

// Empty reports whether there is nothing in g. A nil g is empty.
func (g *Grants) Empty() bool {
	return g == nil || len(g.Hosts) == 0 && !g.Clock && !g.Random && g.DeadlineMS == 0
}

// Beyond is what of g other does not have: what is left to decide.
func (g *Grants) Beyond(other *Grants) Grants {
	if g == nil {
		return Grants{}
	}
	if other == nil {
		other = &Grants{}
	}
	left := Grants{Clock: g.Clock && !other.Clock, Random: g.Random && !other.Random}
	for _, h := range g.Hosts {
		if !slices.ContainsFunc(other.Hosts, func(have string) bool { return CoversHost(have, h) }) {
			left.Hosts = append(left.Hosts, h)
		}
	}
	if g.DeadlineMS > other.DeadlineMS {
		left.DeadlineMS = g.DeadlineMS
	}
	return left
}

// CoversHost reports whether a pattern stands for a host or for all that another pattern
// stands for.
func CoversHost(pattern, host string) bool {
	if pattern == host {
		return true
	}
	name, port := cutPort(pattern)
	wanted, at := cutPort(host)
	below, ok := strings.CutPrefix(name, "*")
	return ok && port == at && len(wanted) > len(below) && strings.HasSuffix(wanted, below)
}

func cutPort(host string) (name, port string) {
	name, port, _ = strings.Cut(host, ":")
	return name, port
}

// String names the grants as "plugin bind --grant" takes them; "none" for nothing.
func (g *Grants) String() string {
	if g.Empty() {
		return "none"
	}
	var parts []string
	if len(g.Hosts) > 0 {
		parts = append(parts, "hosts="+strings.Join(g.Hosts, ","))
	}
	if g.Clock {
		parts = append(parts, "clock")
	}
	if g.Random {
		parts = append(parts, "random")
	}
	if g.DeadlineMS > 0 {
		parts = append(parts, "deadline="+(time.Duration(g.DeadlineMS)*time.Millisecond).String())
	}
	return strings.Join(parts, ",")
}

// ParseGrants reads what [Grants.String] writes: "none", or items separated by commas,
// where a bare host name is one more of those after "hosts=". Its errors are for whoever
// wrote it.
func ParseGrants(items []string) (Grants, error) {
	var g Grants
	var list []string
	for _, i := range items {
		list = append(list, strings.Split(i, ",")...)
	}
	hosts := false
	for _, item := range list {
		key, value, has := strings.Cut(item, "=")
		switch {
		case item == "none" && len(list) == 1:
			return g, nil
		case item == "clock":
			g.Clock = true
		case item == "random":
			g.Random = true
		case key == "deadline" && has:
			d, err := time.ParseDuration(value)
			if err != nil || d < time.Millisecond || d > MaxDeadline*time.Millisecond {
				return g, fmt.Errorf("%.40q is not a time between 1ms and %s", value, MaxDeadline*time.Millisecond)
			}
			g.DeadlineMS = int(d.Milliseconds())
		case key == "hosts" && has, !has && hosts && strings.Contains(item, "."):
			hosts = true
			if !has {
				value = item
			}
			if value = strings.ToLower(value); !validHost(value) {
				return g, fmt.Errorf("%.80q is not a host: write a.example, *.example.com or a.example:8443", value)
			}
			if !slices.Contains(g.Hosts, value) {
				g.Hosts = append(g.Hosts, value)
			}
		default:
			return g, fmt.Errorf("%.80q is not a grant: write hosts=a.example, clock, random, deadline=2s, or none alone", item)
		}
	}
	return g, g.Check()
}

// Check says what is wrong with grants that came from outside.
func (g *Grants) Check() error {
	if g == nil {
		return nil
	}
	if len(g.Hosts) > MaxHosts {
		return fmt.Errorf("%d hosts are more than %d", len(g.Hosts), MaxHosts)
	}
	for i, h := range g.Hosts {
		if !validHost(h) {
			return fmt.Errorf("%.80q is not a host: write a.example, *.example.com or a.example:8443", h)
		}
		if slices.Contains(g.Hosts[:i], h) {
			return fmt.Errorf("the host %.80q is named twice", h)
		}
	}
	if g.DeadlineMS < 0 || g.DeadlineMS > MaxDeadline {
		return fmt.Errorf("%d ms is not between 0 and %s", g.DeadlineMS, strconv.Itoa(MaxDeadline))
	}
	return nil
}
