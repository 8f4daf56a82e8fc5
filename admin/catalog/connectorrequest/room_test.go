package connectorrequest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

func open(t *testing.T) *store.Workspace {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "sluice.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.EnsureWorkspace(t.Context(), "default", "default"); err != nil {
		t.Fatal(err)
	}
	return s.Workspace("default")
}

func as(t *testing.T, token, member string) context.Context {
	t.Helper()
	return request.With(t.Context(), &request.Request{Token: &store.Token{InWorkspace: store.InWorkspace{WorkspaceID: "default"}, ID: token, MemberID: member}})
}

func update(t *testing.T, ws *store.Workspace, fn func(*store.Tx) error) {
	t.Helper()
	if err := ws.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func wish(i int) *NewRequest {
	return &NewRequest{
		ServiceName: fmt.Sprint("Service ", i), Website: fmt.Sprintf("https://s%d.example", i), APIDocsURL: "https://docs.example", UseCase: "find things and change them", ExpectedVolume: "much",
	}
}

// TestMostRequests: at the limit of a workspace and one past it, and a new request is
// compared with so many of them only.
func TestMostRequests(t *testing.T) {
	ws, room := open(t), &Room{}
	update(t, ws, func(tx *store.Tx) error {
		for i := range maxRequests - 1 {
			in := wish(i)
			if err := tx.AddConnectorRequest(t.Context(), &store.ConnectorRequest{Name: in.ServiceName, Website: in.Website, State: Open, Comments: "[]", RequestedBy: "somebody"}); err != nil {
				return err
			}
		}
		return nil
	})
	if _, err := room.Create(as(t, "tok_1", ""), ws, wish(maxCompared-1), false); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "asks for Service") {
		t.Errorf("the last one that is compared: %v", err)
	}
	if _, err := room.Create(as(t, "tok_1", ""), ws, wish(maxCompared), false); err != nil {
		t.Errorf("one past it, and the last one that there may be: %v", err)
	}
	if _, err := room.Create(as(t, "tok_1", ""), ws, wish(maxRequests), false); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), fmt.Sprint("has ", maxRequests, " requests")) {
		t.Errorf("one past the limit: %v", err)
	}
	found, err := Similar(as(t, "tok_1", ""), ws, &NewRequest{Website: "https://s1.example"})
	if err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestMostSimilar: of many that are alike, so many are shown.
func TestMostSimilar(t *testing.T) {
	ws := open(t)
	update(t, ws, func(tx *store.Tx) error {
		for range maxSimilar + 1 {
			if err := tx.AddConnectorRequest(t.Context(), &store.ConnectorRequest{Name: "Acme", State: Open, Comments: "[]"}); err != nil {
				return err
			}
		}
		return nil
	})
	if found, err := Similar(as(t, "tok_1", ""), ws, &NewRequest{ServiceName: "acme"}); err != nil || len(found) != maxSimilar {
		t.Errorf("%d, %v", len(found), err)
	}
}

// TestPerson: a member has one vote and one allowance, through whichever token.
func TestPerson(t *testing.T) {
	ws, room := open(t), &Room{}
	for i := range maxPerDay {
		if _, err := room.Create(as(t, fmt.Sprint("tok_", i), "mem_ann"), ws, wish(i), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := room.Create(as(t, "tok_other", "mem_ann"), ws, wish(maxPerDay), false); !problem.Is(err, problem.Conflict) {
		t.Errorf("one past the limit: %v", err)
	}
	if _, err := room.Create(as(t, "tok_other", "mem_bob"), ws, wish(maxPerDay), false); err != nil {
		t.Error(err)
	}
}

// TestMostPublic: strangers of the public page have allowances of their own.
func TestMostPublic(t *testing.T) {
	ws, room := open(t), &Room{}
	stranger := func(id string) context.Context {
		return request.With(t.Context(), &request.Request{Workspace: "default", Public: store.RequestPersonPrefix + id})
	}
	for i := range maxPublicPerDay {
		if _, err := room.Create(stranger("ann"), ws, wish(i), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := room.Create(stranger("ann"), ws, wish(10), false); !problem.Is(err, problem.RateLimited) {
		t.Errorf("one past the limit of a day: %v", err)
	}
	update(t, ws, func(tx *store.Tx) error {
		for i := maxPublicPerDay; i < maxPublic-1; i++ {
			if err := tx.AddConnectorRequest(t.Context(), &store.ConnectorRequest{Name: fmt.Sprint("of the page ", i), State: Open, Comments: "[]", RequestedBy: store.RequestPersonPrefix + "x"}); err != nil {
				return err
			}
		}
		return nil
	})
	if _, err := room.Create(stranger("bob"), ws, wish(11), true); err != nil {
		t.Errorf("the last one of the page: %v", err)
	}
	if _, err := room.Create(stranger("bob"), ws, wish(12), true); !problem.Is(err, problem.Conflict) {
		t.Errorf("one past it: %v", err)
	}
	if _, err := room.Create(as(t, "tok_1", ""), ws, wish(13), true); err != nil {
		t.Errorf("a member: %v", err)
	}
}

// TestMostNamed: a notice names so many people, each once and first of all who asked.
func TestMostNamed(t *testing.T) {
	ws := open(t)
	row := &store.ConnectorRequest{Name: "Acme", State: Published, Entry: "acme", Comments: "[]", RequestedBy: "tok_asked"}
	update(t, ws, func(tx *store.Tx) error {
		if err := tx.AddConnectorRequest(t.Context(), row); err != nil {
			return err
		}
		for i := range maxNamed {
			if _, err := tx.Vote(t.Context(), row.ID, fmt.Sprintf("tok_%03d", i), true); err != nil {
				return err
			}
		}
		if _, err := tx.Vote(t.Context(), row.ID, "tok_asked", true); err != nil {
			return err
		}
		return (&Room{}).tell(t.Context(), tx, row)
	})
	events, _, err := ws.Events(t.Context(), "", store.Page{})
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	_, people, _ := strings.Cut(events[0].Document, `"people":[`)
	people, _, _ = strings.Cut(people, "]")
	if n := strings.Count(people, "tok_"); n != maxNamed || strings.Count(people, "tok_asked") != 1 || !strings.HasPrefix(people, `"tok_asked"`) {
		t.Errorf("%d people: %s", n, people)
	}
}

// TestToldOnce: a request that is opened and published again tells only those who voted since.
func TestToldOnce(t *testing.T) {
	ws, room := open(t), &Room{Exists: func(context.Context, *store.Workspace, string) (bool, error) { return true, nil }}
	row, err := room.Create(as(t, "tok_asked", ""), ws, wish(1), false)
	if err != nil {
		t.Fatal(err)
	}
	set := func(state string) {
		t.Helper()
		in := &ChangeRequest{State: &state}
		if entry := "acme"; state == Published {
			in.Entry = &entry
		}
		if _, err := room.Change(as(t, "tok_admin", ""), ws, row.ID, &request.MatchInput{}, in); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		voter  string // votes before it is published
		events int
	}{{"", 1}, {"", 1}, {"tok_asked", 1}, {"tok_new", 2}, {"", 2}} {
		if set(Open); step.voter != "" {
			if _, err := room.Vote(as(t, step.voter, ""), ws, row.ID, false); err != nil {
				t.Fatal(err)
			}
			if _, err := room.Vote(as(t, step.voter, ""), ws, row.ID, true); err != nil {
				t.Fatal(err)
			}
		}
		set(Published)
		events, _, err := ws.Events(t.Context(), "", store.Page{})
		if err != nil || len(events) != step.events {
			t.Errorf("after a vote of %q: %d notices, want %d; %v", step.voter, len(events), step.events, err)
		}
	}
}

// TestMostComments: at the limit of a request and one past it.
func TestMostComments(t *testing.T) {
	ws, room := open(t), &Room{}
	ctx := as(t, "tok_1", "")
	row, err := room.Create(ctx, ws, wish(1), false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxComments + 1 {
		_, err := room.Change(ctx, ws, row.ID, &request.MatchInput{}, &ChangeRequest{Comment: "hello"})
		if (err != nil) != (i == maxComments) {
			t.Errorf("comment %d: %v", i+1, err)
		}
	}
}
