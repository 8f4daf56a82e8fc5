package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// heard is an edge with what it said last.
type heard struct {
	*store.Edge
	registry.EdgeStatus
}

// edges are edges that say nothing, serve an older release, or say what is wrong; and the clock
// of the control plane, when they agree that it is off.
func (r *Room) edges(ctx context.Context, ws *store.Workspace, have open) (out []condition, err error) {
	now := ws.Now()
	var speaking []heard
	late := false
	err = pages(ctx, ws.Edges, func(e *store.Edge) error {
		if !e.RevokedAt.IsZero() || e.Status == "" {
			return nil
		}
		h := heard{Edge: e}
		if err := json.Unmarshal([]byte(e.Status), &h.EdgeStatus); err != nil {
			return fmt.Errorf("reading the status of edge %s: %w", e.ID, err)
		}
		// Edges say nothing while no control plane runs; one that was silent before stays so.
		last := e.SeenAt.Time
		if r.began.After(last) && have[KindEdgeSilent+"/"+e.ID] == nil {
			last = r.began
		}
		switch {
		case now.Sub(last) >= edgeSilence:
			late = true
			out = append(out, silent(e))
		case now.Sub(e.SeenAt.Time) < edgeSilence: // else this control plane just began to listen
			late = late || h.Usage != ""
			speaking = append(speaking, h)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.late[ws.ID()] = late
	off, agreed := sharedOffset(speaking)
	if agreed > 0 {
		out = append(out, condition{
			key: KindClock, kind: KindClock, severity: notify.Critical, hold: edgeHold, title: "the clock of the control plane is wrong",
			details: Details{
				Cause:   fmt.Sprintf("it is %s those of %d of %d edges, which agree with each other", registry.Ahead(-off), agreed, len(speaking)),
				Remedy:  "set the clock of its machine, and have it follow a time server: what expires (tokens, logins, certificates, releases) and when alerts are reported goes by it",
				Command: "sluice edge list -o wide",
			},
		})
	}
	for i := range speaking {
		h := &speaking[i]
		epoch, revision, err := r.Store.ReleaseMark(ctx, h.Group)
		if err != nil {
			return nil, err
		}
		clock := ""
		if d, known := h.ClockOff(h.SeenAt.Time); known && (d-off).Abs() > registry.EdgeClockSkew {
			clock = "its clock is " + registry.Ahead(d-off) + " that of the control plane"
			if agreed > 0 {
				clock = "its clock is " + registry.Ahead(d-off) + " those of the other edges"
			}
		}
		if c := h.condition(epoch, revision, clock); c != nil {
			out = append(out, *c)
		}
	}
	return out, nil
}

// silent is an edge that says nothing.
func silent(e *store.Edge) condition {
	return condition{
		key: KindEdgeSilent + "/" + e.ID, kind: KindEdgeSilent, severity: notify.Critical, since: e.SeenAt.Time, title: fmt.Sprintf("edge %s says nothing", e.Name),
		details: Details{
			Edge: e.Name, LastAt: e.SeenAt.Time, Cause: "its last report came at " + e.SeenAt.Format(time.RFC3339),
			Remedy:  "look whether its machine and process run, and reach this control plane; it serves its last release meanwhile",
			Command: "sluice edge list",
		},
	}
}

// condition is what is wrong with an edge that reports; the newest release has an epoch and a
// revision, and clock says what is wrong with its clock. nil: nothing.
func (h *heard) condition(epoch, revision uint64, clock string) *condition {
	c := &condition{severity: notify.Warning, hold: edgeHold, details: Details{Edge: h.Name, LastAt: h.SeenAt.Time, Command: "sluice edge list -o wide"}}
	faults := h.Faults()
	if clock != "" {
		faults = append([]string{clock}, faults...) // others come of it
	}
	c.details.Cause = strings.Join(faults, "; ")
	switch {
	case h.Epoch < epoch || h.Epoch == epoch && h.Revision < revision:
		c.kind, c.severity, c.title = KindEdgeBehind, notify.Critical, fmt.Sprintf("edge %s does not serve the newest release", h.Name)
		cause := fmt.Sprintf("it serves %d.%d, the newest is %d.%d", h.Epoch, h.Revision, epoch, revision)
		c.details.Cause = strings.Join(append([]string{cause}, faults...), ": ")
		c.details.Remedy = "look at what it says; until then callers there get the older toolsets"
	case len(faults) == 0:
		return nil
	case len(faults) == 1 && h.Usage != "":
		c.kind, c.title = KindUsageLate, fmt.Sprintf("usage of edge %s is late or lost", h.Name)
		c.details.Remedy = "look at its disk and its way to the control plane; what is on its disk comes when it is repaired. Until then alerts of usage may come late"
	default:
		c.kind, c.title = KindEdgeFault, fmt.Sprintf("edge %s says that something is wrong", h.Name)
		c.details.Remedy = "look at the machine of the edge: its disk, clock and network"
		if clock != "" {
			c.title = fmt.Sprintf("the clock of edge %s is wrong", h.Name)
			c.details.Remedy = "set the clock of the machine of the edge, and have it follow a time server: it takes tokens and certificates that have ended, or refuses good ones, and cannot renew its own token from ten minutes on"
		}
	}
	c.key = c.kind + "/" + h.ID
	return c
}

// sharedOffset is how far the clocks of most edges are ahead of that of the control plane, when
// they agree with each other, and how many do. 0 of them: the control plane is right, or its
// edges are too few, or too different, to tell.
func sharedOffset(all []heard) (off time.Duration, agreed int) {
	var offs []time.Duration
	for i := range all {
		if d, known := all[i].ClockOff(all[i].SeenAt.Time); known {
			offs = append(offs, d)
		}
	}
	if len(offs) < 2 {
		return 0, 0
	}
	slices.Sort(offs)
	middle := offs[len(offs)/2]
	if middle.Abs() <= registry.EdgeClockSkew {
		return 0, 0
	}
	for _, d := range offs {
		if (d - middle).Abs() <= registry.EdgeClockSkew {
			agreed++
		}
	}
	if 2*agreed <= len(all) {
		return 0, 0
	}
	return middle, agreed
}
