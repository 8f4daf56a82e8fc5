package cluster

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// States of a control plane.
const (
	Leads   = "leads"
	Follows = "follows"
	Gone    = "gone" // it has not been seen for a while
)

// goneAfter is how long a member may say nothing: three times, and the moment that takes.
const goneAfter = 3*SeenEvery + 2*time.Second

// ControlPlane is a control plane that shares the database with others.
type ControlPlane struct {
	Name    string    `json:"name" doc:"Host and port of its address."`
	URL     string    `json:"url" doc:"Where the other control planes reach it."`
	State   string    `json:"state" enum:"leads,follows,gone"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Seen    time.Time `json:"seen" doc:"When it last said that it is there."`
	Leads   time.Time `json:"leadsSince,omitzero" doc:"Of the one that leads."`
	Number  uint64    `json:"number,omitempty" doc:"Of the one that leads: it grows with each fail-over."`
}

// List lists the control planes of a database by name; none where a control plane has it for
// itself.
func List(ctx context.Context, s *store.Store) ([]ControlPlane, error) {
	rows, leader, err := s.ClusterMembers(ctx)
	return listed(rows, leader, s.Term(), s.Now()), err
}

// listed is what members are in a term.
func listed(rows []store.ClusterMember, leader *store.Leader, term uint64, now time.Time) []ControlPlane {
	out := make([]ControlPlane, 0, len(rows))
	for i := range rows {
		m := &rows[i]
		p := ControlPlane{Name: m.Name, URL: m.URL, State: Follows, Version: m.Version, Started: m.StartedAt.Time, Seen: m.SeenAt.Time}
		switch {
		case leader != nil && leader.Member == m.Name && leader.Number == term:
			p.State, p.Leads, p.Number = Leads, leader.Since.Time, leader.Number
		case now.Sub(m.SeenAt.Time) > goneAfter:
			p.State = Gone
		}
		out = append(out, p)
	}
	return out
}
