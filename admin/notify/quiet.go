package notify

import (
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// Quiet is a time of each day in which a channel is notified of what is critical only: the rest
// waits until it is over.
type Quiet struct {
	From string `json:"from" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" doc:"Such as 22:00."`
	To   string `json:"to" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" doc:"Such as 07:00, of the next day when it is before from."`
	Zone string `json:"zone,omitempty" maxLength:"60" doc:"Time zone, such as Europe/Berlin. Default: UTC."`
}

// check reports what is wrong with quiet hours; nil are none.
func (q *Quiet) check() error {
	if q == nil {
		return nil
	}
	from, err := time.Parse("15:04", q.From)
	if err != nil {
		return request.FieldFault("/quiet/from", "%.20q is not a time of day such as 22:00", q.From)
	}
	to, err := time.Parse("15:04", q.To)
	if err != nil || to.Equal(from) {
		return request.FieldFault("/quiet/to", "%.20q is not a time of day such as 07:00, other than from", q.To)
	}
	if _, err := time.LoadLocation(q.Zone); err != nil || q.Zone == "Local" {
		return request.FieldFault("/quiet/zone", "there is no time zone %.60q on this machine", q.Zone)
	}
	return nil
}

// until is when the quiet hours that a moment is in are over; zero: it is in none.
func (q *Quiet) until(now time.Time) time.Time {
	if q.check() != nil || q == nil {
		return time.Time{} // the machine lost the zone: nothing is held back
	}
	zone, _ := time.LoadLocation(q.Zone) // as checked
	from, _ := time.Parse("15:04", q.From)
	to, _ := time.Parse("15:04", q.To)
	now = now.In(zone)
	for _, day := range []int{-1, 0} { // they may have begun yesterday
		begin := time.Date(now.Year(), now.Month(), now.Day()+day, from.Hour(), from.Minute(), 0, 0, zone)
		end := time.Date(now.Year(), now.Month(), now.Day()+day, to.Hour(), to.Minute(), 0, 0, zone)
		if !end.After(begin) {
			end = time.Date(now.Year(), now.Month(), now.Day()+day+1, to.Hour(), to.Minute(), 0, 0, zone)
		}
		if !now.Before(begin) && now.Before(end) {
			return end
		}
	}
	return time.Time{}
}

// held is until when an event waits, and whether it is part of the digest that comes then;
// zero: it does not. What is critical never does, and what somebody asks for to try a channel
// does not.
func (s *Settings) held(ev *store.Event, now time.Time) (until time.Time, digest bool) {
	if ev.Severity == Critical || ev.Type == TypeTest || personal(ev) {
		return time.Time{}, false
	}
	if at := s.digestDue(now); !at.IsZero() {
		return at, true
	}
	return s.Quiet.until(now), false
}
