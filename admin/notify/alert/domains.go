package alert

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
)

const (
	// domainHold is how long an authority may give a proven domain no certificate: it is asked
	// again after a minute, two and four.
	domainHold = 10 * time.Minute
	// lastPart of its life is when a certificate that ends is reported, if that is later than
	// early; and half of that when it is critical, if that is later than late. It should have
	// been renewed in its last third.
	lastPart = 6
)

// domains are those of which the authority gives no certificate, or does not renew it.
func domains(ctx context.Context, ws *store.Workspace, have open) (out []condition, err error) {
	err = pages(ctx, func(ctx context.Context, p store.Page) ([]store.Domain, string, error) { return ws.Domains(ctx, "", p) }, func(row *store.Domain) error {
		c := uncertified(row, ws.Now(), have[KindDomain+"/"+row.ID] != nil)
		if c == nil {
			return nil
		}
		if d := &c.details; d.Cause == "" { // the authority is being asked again
			d.Cause = "the authority is being asked"
			if old := have[c.key]; old != nil {
				before, err := detailsOf(old)
				if err != nil {
					return err
				}
				d.Cause = before.Cause
			}
		}
		out = append(out, *c)
		return nil
	})
	return out, err
}

// uncertified is what is wrong with the certificate of a domain; nil: nothing. reported says
// that something was.
func uncertified(row *store.Domain, now time.Time, reported bool) *condition {
	c := &condition{
		key: KindDomain + "/" + row.ID, kind: KindDomain, severity: notify.Critical, toolset: row.ToolsetID,
		details: Details{Toolset: row.Slug, Cause: row.Cause, Remedy: "look at the cause; it is tried again by itself", Command: "sluice domain list"},
	}
	if row.NotAfter.IsZero() {
		// While it is asked for again, by itself or by somebody, nothing is known to be better.
		if row.VerifiedAt.IsZero() || row.State == "live" || row.Attempts == 0 && !reported {
			return nil
		}
		c.title, c.hold = fmt.Sprintf("domain %s gets no certificate: clients do not reach it", row.Host), domainHold
		return c
	}
	left, life := row.NotAfter.Sub(now), row.NotAfter.Sub(row.NotBefore.Time)
	switch {
	case left <= 0:
		c.title = fmt.Sprintf("the certificate of domain %s has expired: clients refuse it", row.Host)
	case left <= min(early, life/lastPart):
		c.title = fmt.Sprintf("the certificate of domain %s ends %s and is not renewed", row.Host, when(now, row.NotAfter.Time))
		if left > min(late, life/lastPart/2) {
			c.severity = notify.Warning
		}
	default:
		return nil
	}
	if c.details.Cause == "" && left > 0 {
		c.details.Cause = "it ends at " + row.NotAfter.Format(time.RFC3339)
	}
	return c
}
