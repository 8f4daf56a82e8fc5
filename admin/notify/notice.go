package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
)

// Severities of notices, from the least.
const (
	Info     = "info"
	Warning  = "warning"
	Critical = "critical"
)

var rank = map[string]int{Info: 1, Warning: 2, Critical: 3}

// Worse reports whether a severity is above another.
func Worse(a, b string) bool { return rank[a] > rank[b] }

// TypeTest is the type of the notice that tries a channel.
const TypeTest = "test"

// Notice is what is said of something that happened. It never holds a secret.
type Notice struct {
	Type      string   // alert.fired …
	Subject   string   // what it is routed by: the kind of an alert; "": Type
	Severity  string   // Info, Warning or Critical; of what is over, what it was
	Over      bool     // it says that something is over: people are not shown its severity
	Reminder  bool     // of something that is due: who gets it by e-mail can unsubscribe
	ToolsetID string   // "": of no toolset, or of several
	Toolsets  []string // all that it is about; nil: ToolsetID
	AlertID   string   // notices of one alert are delivered in their order; "": of no alert
	ChannelID string   // only this channel gets it; "": by the routes of the channels
	// Recipient gets it by e-mail instead of the addresses of the channel ChannelID, at once: a
	// member, or somebody of the public page of connector requests, by id. "": nobody.
	Recipient string

	Title   string // one line, for people
	Lines   []Line // what else people are told, in this order
	Remedy  string // what resolves it; "": nothing has to be done
	Command string // the command that does it; "": there is none
	Link    string // a page for the recipient of an e-mail; "": there is none
	Data    any    // what programs get, as JSON
}

// Line is one fact of a notice.
type Line struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Reminder bool   `json:"reminder,omitempty"` // of a digest: the line is a reminder
}

// document is what the outbox keeps of a notice.
type document struct {
	Title    string   `json:"title"`
	Toolsets []string `json:"toolsets,omitempty"`
	Over     bool     `json:"over,omitempty"`
	Reminder bool     `json:"reminder,omitempty"` // or it has one in it
	Lines    []Line   `json:"lines,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	Command  string   `json:"command,omitempty"`
	Link     string   `json:"link,omitempty"`
	// Recipient is [Notice.Recipient]: never an address, which is in clear nowhere.
	Recipient string          `json:"recipient,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// Add writes a notice into the outbox of the transaction's workspace. It is delivered
// when the transaction is committed, and not when it is not; see [Room.Wake].
func Add(ctx context.Context, tx *store.Tx, n *Notice) error {
	if rank[n.Severity] == 0 {
		return fmt.Errorf("BUG: a notice has the severity %q", n.Severity)
	}
	data, err := json.Marshal(n.Data)
	if err != nil {
		return fmt.Errorf("encoding a notice: %w", err)
	}
	subject := n.Subject
	if subject == "" {
		subject = n.Type
	}
	return tx.AddEvent(ctx, &store.Event{
		Type: n.Type, Subject: subject, Severity: n.Severity, ToolsetID: n.ToolsetID, AlertID: n.AlertID, ChannelID: n.ChannelID,
		Document: store.JSON(document{Title: n.Title, Toolsets: n.Toolsets, Over: n.Over, Reminder: n.Reminder, Lines: n.Lines, Remedy: n.Remedy, Command: n.Command, Link: n.Link, Recipient: n.Recipient, Data: data}),
	})
}

// head is the title with the severity, for people.
func (m *message) head() string {
	if m.doc.Over {
		return m.doc.Title
	}
	return strings.ToUpper(m.ev.Severity[:1]) + m.ev.Severity[1:] + ": " + m.doc.Title
}

func documentOf(ev *store.Event) (*document, error) {
	d := new(document)
	if err := json.Unmarshal([]byte(ev.Document), d); err != nil {
		return nil, fmt.Errorf("reading event %s: %w", ev.ID, err)
	}
	return d, nil
}
