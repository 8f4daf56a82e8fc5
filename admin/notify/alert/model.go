package alert

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/store"
)

// States of an alert.
const (
	Pending      = "pending"      // its cause is there, and not for long enough
	Firing       = "firing"       // it was reported
	Acknowledged = "acknowledged" // somebody works on it
	Snoozed      = "snoozed"      // it is reported again later, if its cause is still there
	Resolved     = "resolved"     // its cause is gone
)

// Types of the notices of alerts.
const (
	TypeFired    = "alert.fired"    // it fires, for the first time or after it was snoozed
	TypeChanged  = "alert.changed"  // it is worse than before, or a reminder that is due
	TypeResolved = "alert.resolved" // its cause is gone
)

// Alert is something that is wrong.
type Alert struct {
	ID           string    `json:"id" example:"alert_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Kind         string    `json:"kind" doc:"What is wrong, such as upstream.auth_failed; it is also the name of its rule."`
	Severity     string    `json:"severity" enum:"info,warning,critical"`
	State        string    `json:"state" enum:"pending,firing,acknowledged,snoozed,resolved"`
	Title        string    `json:"title" doc:"What is wrong, in a sentence."`
	ToolsetID    string    `json:"toolsetId,omitempty"`
	Details      Details   `json:"details" doc:"Cause and remedy."`
	Since        time.Time `json:"since" doc:"When its cause was first seen."`
	FiredAt      time.Time `json:"firedAt,omitzero" doc:"When it was reported first; absent: not yet."`
	HandledBy    string    `json:"handledBy,omitempty" doc:"API token that acknowledged or snoozed it."`
	HandledAt    time.Time `json:"handledAt,omitzero"`
	Note         string    `json:"note,omitempty" doc:"What they said."`
	SnoozedUntil time.Time `json:"snoozedUntil,omitzero"`
	ResolvedAt   time.Time `json:"resolvedAt,omitzero"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

// Details name the cause of an alert and what resolves it.
type Details struct {
	Cause   string `json:"cause" doc:"What was seen."`
	Remedy  string `json:"remedy" doc:"What resolves it."`
	Command string `json:"command,omitempty" doc:"The command that does it."`

	Toolset    string    `json:"toolset,omitempty" doc:"Slug."`
	Toolsets   []string  `json:"toolsets,omitempty" doc:"Slugs, when there are several; at most 20."`
	ToolsetIDs []string  `json:"toolsetIds,omitempty" doc:"Of an alert that usage is the cause of: the toolsets that are hit."`
	Connector  string    `json:"connector,omitempty" doc:"Name of the connector in the toolset."`
	Upstream   string    `json:"upstream,omitempty" doc:"Host that is called."`
	Tools      []string  `json:"tools,omitempty" doc:"Tools that are hit, at most 20."`
	Status     int       `json:"status,omitempty" doc:"HTTP status of the upstream."`
	Sent       string    `json:"sent,omitempty" doc:"How the credential is sent, masked: X-Api-Key: ••••1234."`
	Calls      uint64    `json:"calls,omitempty" doc:"Calls that are hit."`
	Callers    uint64    `json:"callers,omitempty" doc:"Callers that are hit."`
	FirstCall  string    `json:"firstCall,omitempty" doc:"Id of the first call that is hit, in the call log."`
	FirstAt    time.Time `json:"firstAt,omitzero"`
	LastCall   string    `json:"lastCall,omitempty" doc:"Id of the last."`
	LastAt     time.Time `json:"lastAt,omitzero"`
	Edge       string    `json:"edge,omitempty" doc:"Name of the edge."`
	Caller     *Caller   `json:"caller,omitempty" doc:"Of a rule over single callers. Notices do not name it."`
	Rule       string    `json:"rule,omitempty" doc:"Name of the rule, of alerts that usage is the cause of."`
	Value      float64   `json:"value,omitempty" doc:"Of a rule with a threshold: what was measured."`
	Threshold  float64   `json:"threshold,omitempty"`
	Unit       string    `json:"unit,omitempty" doc:"Of both: %, ms, calls, errors, tokens."`
	DueAt      time.Time `json:"dueAt,omitzero" doc:"Of a reminder: by when."`
	Preceded   *Change   `json:"preceded,omitempty" doc:"The last change before it, which may have caused it."`
}

// Change is a change that came before an alert.
type Change struct {
	At     time.Time `json:"at"`
	Action string    `json:"action" doc:"As in the audit log: toolset.deploy, authentication.set, …"`
	Actor  string    `json:"actor"`
}

// Show is an alert as the API shows it.
func Show(row *store.Alert) (Alert, error) {
	a := Alert{
		ID: row.ID, Kind: row.Kind, Severity: row.Severity, State: row.State, Title: row.Title, ToolsetID: row.ToolsetID,
		Since: row.Since.Time, FiredAt: row.FiredAt.Time, HandledBy: row.HandledBy, HandledAt: row.HandledAt.Time, Note: row.Note,
		SnoozedUntil: row.SnoozedUntil.Time, ResolvedAt: row.ResolvedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}
	d, err := detailsOf(row)
	a.Details = d
	return a, err
}

func detailsOf(row *store.Alert) (Details, error) {
	var d Details
	if err := json.Unmarshal([]byte(row.Document), &d); err != nil {
		return d, fmt.Errorf("reading alert %s: %w", row.ID, err)
	}
	return d, nil
}

// noticeData is what programs are notified of an alert.
type noticeData struct {
	Workspace string `json:"workspace"`
	Alert     Alert  `json:"alert"`
}

// noticeOf is what a notice says of an alert.
func noticeOf(kind string, row *store.Alert) (*notify.Notice, error) {
	a, err := Show(row)
	if err != nil {
		return nil, err
	}
	d := &a.Details
	if d.Caller != nil { // also in the command
		d.Caller, d.Command = nil, "sluice alert show "+row.ID
	}
	n := &notify.Notice{
		Type: kind, Subject: row.Kind, Severity: row.Severity, ToolsetID: row.ToolsetID, Toolsets: d.ToolsetIDs, AlertID: row.ID, Title: row.Title,
		Remedy: d.Remedy, Command: d.Command, Data: noticeData{row.WorkspaceID, a},
		Reminder: !d.DueAt.IsZero() && row.Severity != notify.Critical, // what stopped working is not a reminder
	}
	if kind == TypeResolved {
		n.Title, n.Over, n.Remedy, n.Command = "Resolved: "+row.Title, true, "", ""
	}
	add := func(name, value string) {
		if value != "" {
			n.Lines = append(n.Lines, notify.Line{Name: name, Value: value})
		}
	}
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	add("Cause", d.Cause)
	add("Toolset", d.Toolset)
	add("Toolsets", strings.Join(d.Toolsets, ", "))
	add("Connector", d.Connector)
	add("Upstream", d.Upstream)
	add("Edge", d.Edge)
	add("Tools", strings.Join(d.Tools, ", "))
	add("Sent", d.Sent)
	add("Since", stamp(a.Since))
	if kind == TypeResolved {
		add("Until", stamp(a.ResolvedAt))
	}
	if d.Calls > 0 {
		add("Calls", fmt.Sprintf("%d of %d callers", d.Calls, max(d.Callers, 1)))
	}
	if d.FirstCall != "" {
		add("First and last call", d.FirstCall+", "+d.LastCall)
	}
	add("Due", stamp(d.DueAt))
	if p := d.Preceded; p != nil {
		add("Change before it", p.Action+" by "+p.Actor+", "+stamp(p.At))
	}
	add("Alert", row.ID)
	return n, nil
}
