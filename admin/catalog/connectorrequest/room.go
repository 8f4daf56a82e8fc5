package connectorrequest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// MailChannel is the channel of a workspace by whose mail server people are written to, one by
// one, about what they asked for or voted for.
const MailChannel = "requests"

// Room keeps the requests of workspaces.
type Room struct {
	// Page is where the public page of requests is, for the mails to its people. "": there is
	// none.
	Page string
	// Told is called after a notice was written. It must not block.
	Told func()
	// Exists reports whether a published request may name this: an entry of the catalog,
	// or a toolset of the workspace.
	Exists func(ctx context.Context, ws *store.Workspace, entry string) (bool, error)
}

// person is whose vote or request it is: the member's, through whichever token, or that
// of a token that is nobody's, also where it comes in a session of that token.
func person(ctx context.Context) string {
	r := request.Of(ctx)
	if r.Token != nil && r.Token.MemberID != "" {
		return r.Token.MemberID
	}
	return r.ActorID()
}

// Voted are the ids of the requests that whoever asks votes for.
func Voted(ctx context.Context, ws *store.Workspace) (map[string]bool, error) {
	ids, err := ws.VotedFor(ctx, person(ctx))
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out, nil
}

// Create asks for a connector, with the vote of whoever asks. Unless evenIfSimilar is
// set, it fails with [problem.Conflict] when one of this name or host is asked for.
func (r *Room) Create(ctx context.Context, ws *store.Workspace, in *NewRequest, evenIfSimilar bool) (*store.ConnectorRequest, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	who := person(ctx)
	row := &store.ConnectorRequest{
		Name: in.ServiceName, Website: in.Website, Documentation: in.APIDocsURL, UseCase: in.UseCase, Volume: in.ExpectedVolume, State: Open, Comments: "[]", RequestedBy: who,
	}
	err := ws.Update(ctx, func(tx *store.Tx) error {
		all, recent, err := tx.CountConnectorRequests(ctx, who, store.Time{Time: tx.Now().Add(-24 * time.Hour)})
		if err != nil {
			return err
		}
		if public := strings.HasPrefix(who, store.RequestPersonPrefix); public {
			if err := roomForPublic(ctx, tx, recent); err != nil {
				return err
			}
		} else if recent >= maxPerDay {
			return problem.New(problem.Conflict, "you asked for %d connectors within a day, which is the most", recent).Fix("vote for those of others, or ask again tomorrow")
		}
		if all >= maxRequests {
			return problem.New(problem.Conflict, "the workspace has %d requests, which is the most", all)
		}
		if !evenIfSimilar {
			others, err := compared(ctx, tx.ConnectorRequests)
			if err != nil {
				return err
			}
			if same := twin(in, others); same != nil {
				return problem.New(problem.Conflict, "%s asks for %s already", same.ID, same.Name).
					Fix("vote for it: sluice request vote %s; or ask all the same with --even-if-similar (evenIfSimilar=true)", same.ID)
			}
		}
		if err := tx.AddConnectorRequest(ctx, row); err != nil {
			return err
		}
		if _, err := tx.Vote(ctx, row.ID, who, true); err != nil {
			return err
		}
		row.Votes = 1
		rec := request.Audit(ctx, "connector-request.create", row.ID)
		rec.After = store.JSON(in)
		return tx.Audit(ctx, rec)
	})
	return row, err
}

// roomForPublic refuses a request from the public page that is one too many; recent are those of
// the person within a day.
func roomForPublic(ctx context.Context, tx *store.Tx, recent int64) error {
	if recent >= maxPublicPerDay {
		return problem.New(problem.RateLimited, "you asked for %d connectors within a day, which is the most", recent).Fix("vote for those of others, or ask again tomorrow")
	}
	n, err := tx.CountPublicRequests(ctx)
	if err == nil && n >= maxPublic {
		err = problem.New(problem.Conflict, "there are %d requests from this page, which is the most", n).Fix("vote for one that is there")
	}
	return err
}

// Vote gives a request the vote of whoever asks, or takes it back. There is one vote a
// person, and none for what was decided.
func (r *Room) Vote(ctx context.Context, ws *store.Workspace, id string, give bool) (row *store.ConnectorRequest, err error) {
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if row, err = tx.ConnectorRequest(ctx, id); err != nil {
			return err
		}
		if row.State == Published || row.State == Declined {
			return problem.New(problem.Conflict, "the request of %s is %s: there is nothing to vote for", row.Name, row.State)
		}
		changed, err := tx.Vote(ctx, id, person(ctx), give)
		if err != nil || !changed {
			return err
		}
		action := "connector-request.vote"
		if row.Votes++; !give {
			action = "connector-request.unvote"
			row.Votes -= 2
		}
		return tx.Audit(ctx, request.Audit(ctx, action, id))
	})
	return row, err
}

// Change decides what becomes of a request. Those who asked and voted are told when it is
// published, once each.
func (r *Room) Change(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, in *ChangeRequest) (*store.ConnectorRequest, error) {
	var row *store.ConnectorRequest
	told := false
	err := ws.Update(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.ConnectorRequest(ctx, id); err != nil {
			return err
		}
		if err := match.Check(row.Version, false); err != nil {
			return err
		}
		before := *row
		if err := r.change(ctx, ws, row, in, tx.Now()); err != nil {
			return err
		}
		if *row == before {
			return nil
		}
		if row.State == Published && before.State != Published {
			if err := r.tell(ctx, tx, row); err != nil {
				return err
			}
			told = row.ToldAt != before.ToldAt
		}
		if err := tx.SaveConnectorRequest(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "connector-request.change", id)
		rec.Before, rec.After = outcome(&before), outcome(row)
		rec.Reason = row.Reason
		return tx.Audit(ctx, rec)
	})
	if err == nil && told && r.Told != nil {
		r.Told()
	}
	return row, err
}

func outcome(row *store.ConnectorRequest) string {
	return store.JSON(map[string]string{"state": row.State, "entry": row.Entry})
}

func (r *Room) change(ctx context.Context, ws *store.Workspace, row *store.ConnectorRequest, in *ChangeRequest, now time.Time) error {
	if in.State != nil {
		row.State = *in.State
	}
	for _, f := range []struct {
		of, at   string
		to, from *string
		why      string
	}{
		{Published, "/entry", &row.Entry, in.Entry, "a published request names the entry of the catalog or the toolset"},
		{Declined, "/reason", &row.Reason, in.Reason, "a declined request says why"},
	} {
		if f.from != nil {
			*f.to = tidy(*f.from)
		}
		switch {
		case row.State == f.of && *f.to == "":
			return request.FieldFault(f.at, "%s", f.why)
		case row.State != f.of && f.from != nil && *f.to != "":
			return request.FieldFault(f.at, "only a %s request has it", f.of)
		case row.State != f.of:
			*f.to = ""
		}
	}
	if row.Entry != "" && in.Entry != nil {
		if ok, err := r.Exists(ctx, ws, row.Entry); err != nil {
			return err
		} else if !ok {
			return request.FieldFault("/entry", "there is no entry of the catalog and no toolset %.80q", row.Entry)
		}
	}
	text := tidy(in.Comment)
	if text == "" {
		return nil
	}
	var comments []Comment
	if err := json.Unmarshal([]byte(row.Comments), &comments); err != nil {
		return fmt.Errorf("reading the comments of %s: %w", row.ID, err)
	}
	if len(comments) >= maxComments {
		return request.FieldFault("/comment", "the request has %d comments, which is the most", len(comments))
	}
	row.Comments = store.JSON(append(comments, Comment{By: person(ctx), At: now, Text: text}))
	return nil
}

// maxNamed are the people that a notice names.
const maxNamed = 100

// tell writes the notice that a connector is there, and where the workspace has a channel for
// that, a mail to each person who asked or voted. Of a request that is published again, only
// those are told who voted since.
func (r *Room) tell(ctx context.Context, tx *store.Tx, row *store.ConnectorRequest) error {
	voters, err := tx.ConnectorVoters(ctx, row.ID, row.ToldAt)
	if err != nil {
		return err
	}
	again := !row.ToldAt.IsZero()
	people := []string{row.RequestedBy}
	for _, v := range voters {
		if v != row.RequestedBy {
			people = append(people, v)
		}
	}
	if again && len(people) == 1 {
		return nil
	}
	row.ToldAt = store.Time{Time: tx.Now()}
	channel, err := notify.Mailer(ctx, tx, MailChannel)
	if err != nil && !problem.Is(err, problem.NotFound) {
		return err
	}
	shown, err := Show(row, nil)
	if err != nil {
		return err
	}
	named, strangers := []string{}, 0
	for _, id := range people {
		name, reached := id, true
		if strings.HasPrefix(id, store.RequestPersonPrefix) {
			strangers++
			name = ""
		} else if m, err := tx.Member(ctx, id); err == nil {
			name = m.Email
		} else if !problem.Is(err, problem.NotFound) {
			return err
		} else {
			reached = false // a token that is nobody's, or somebody who left
		}
		if name != "" && len(named) < maxNamed {
			named = append(named, name)
		}
		if channel == nil || !reached || again && id == row.RequestedBy {
			continue
		}
		if err := notify.Add(ctx, tx, r.letter(channel.ID, id, row)); err != nil {
			return err
		}
	}
	whom := strings.Join(named, ", ")
	asked := "somebody on the public page"
	if !strings.HasPrefix(row.RequestedBy, store.RequestPersonPrefix) {
		asked = named[0]
	}
	if strangers > 0 {
		whom = strings.TrimPrefix(fmt.Sprintf("%s, and %d of the public page", whom, strangers), ", and ")
	}
	return notify.Add(ctx, tx, &notify.Notice{
		Type: TypePublished, Severity: notify.Info, Title: "The connector for " + row.Name + " that was asked for is there: " + row.Entry,
		Lines:   []notify.Line{{Name: "Asked for by", Value: asked}, {Name: "Votes", Value: fmt.Sprint(row.Votes)}, {Name: "For", Value: whom}},
		Command: "sluice request show " + row.ID,
		Data:    map[string]any{"workspace": tx.ID(), "request": shown, "people": named},
	})
}

// letter is the mail to one person who asked or voted.
func (r *Room) letter(channel, person string, row *store.ConnectorRequest) *notify.Notice {
	n := &notify.Notice{
		Type: TypePublished, Severity: notify.Info, Over: true, ChannelID: channel, Recipient: person,
		Title: "The connector for " + row.Name + " is there",
		Lines: []notify.Line{{Name: "Connector", Value: row.Entry}, {Name: "Why you get this", Value: "you asked for it, or voted for it"}},
	}
	if strings.HasPrefix(person, store.RequestPersonPrefix) {
		n.Link = r.Page
	} else {
		n.Command = "sluice request show " + row.ID
	}
	return n
}
