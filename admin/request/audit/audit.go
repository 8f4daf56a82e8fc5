package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// AuditRecord is one record of the audit log.
type AuditRecord struct {
	ID        string          `json:"id"`
	Seq       uint64          `json:"seq" doc:"Number in the workspace, without gaps."`
	Time      time.Time       `json:"time"`
	Actor     AuditActor      `json:"actor"`
	Action    string          `json:"action" example:"toolset.deploy"`
	Resource  string          `json:"resource"`
	Name      string          `json:"resourceName,omitempty" doc:"What the resource is called now: the slug of a toolset, the e-mail address of a member, the name of an API token, an edge or a service that was asked for. Absent of others, and once it is gone." example:"billing"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	Digest    string          `json:"digest,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	RequestID string          `json:"requestId,omitempty"`
	Outcome   string          `json:"outcome" enum:"ok,failed,refused"`
	Hash      string          `json:"hash" doc:"SHA-256 over this record and the hash of the one before."`
}

// AuditActor is who did it.
type AuditActor struct {
	Type    string `json:"type" example:"member" doc:"member, token, user (a caller of a toolset), edge, system, or unknown for a refused request."`
	ID      string `json:"id"`
	Name    string `json:"name,omitempty" doc:"What the actor is called now: the e-mail address of a member, the name of an API token or an edge. Absent once it is gone."`
	Session string `json:"session,omitempty" doc:"Id of the browser session."`
	IP      string `json:"ip,omitempty"`
}

// Show shows a record.
func Show(row *store.Audit) AuditRecord {
	actor := AuditActor{Type: row.ActorType, ID: row.ActorID, IP: row.ActorIP}
	// See request.SessionActor. The id of a caller of a toolset may have a slash of its own.
	if id, session, ok := strings.Cut(row.ActorID, "/"); ok && (row.ActorType == "member" || row.ActorType == "token") {
		actor.ID, actor.Session = id, session
	}
	return AuditRecord{
		ID: row.ID, Seq: row.Seq, Time: row.At.Time, Actor: actor,
		Action: row.Action, Resource: row.Resource, Before: json.RawMessage(row.Before), After: json.RawMessage(row.After),
		Digest: row.Digest, Reason: row.Reason, RequestID: row.RequestID, Outcome: row.Outcome, Hash: hex.EncodeToString(row.Hash),
	}
}

// Page reads a page of the audit log of a workspace, newest first, with the names of who acted
// and of what was changed.
func Page(ctx context.Context, ws *store.Workspace, p store.Page) (out []AuditRecord, next string, err error) {
	rows, next, err := ws.AuditLog(ctx, p)
	if err != nil {
		return nil, "", err
	}
	var ids []string
	for i := range rows {
		r := Show(&rows[i])
		out, ids = append(out, r), append(ids, r.Actor.ID, r.Resource)
	}
	slices.Sort(ids)
	names, err := ws.Names(ctx, slices.Compact(ids))
	if err != nil {
		return nil, "", err
	}
	for i := range out {
		out[i].Actor.Name, out[i].Name = names[out[i].Actor.ID], names[out[i].Resource]
	}
	return out, next, nil
}

// AuditHead is the signed head of the audit log of a workspace.
type AuditHead struct {
	Envelope json.RawMessage `json:"envelope" doc:"DSSE envelope, signed by the release key: workspace, number and hash of the newest record, and when it was signed. Keep it on another machine, and verify with it later."`
}

// VerifyAudit asks for a check of the audit log.
type VerifyAudit struct {
	Head json.RawMessage `json:"head,omitempty" doc:"Envelope that was kept elsewhere. Default: the one this control plane keeps outside of its database."`
}

// VerifiedAudit is what a check of the audit log found.
type VerifiedAudit struct {
	OK      bool     `json:"ok"`
	Records uint64   `json:"records" doc:"Records whose chain is whole, from the first."`
	Faults  []string `json:"faults" doc:"What is wrong; empty when nothing is."`
}

// Head returns the signed head of the audit log of a workspace.
func (l *Log) Head(ws *store.Workspace) (AuditHead, error) {
	if l.Heads == nil {
		return AuditHead{}, problem.New(problem.NotFound, "this control plane keeps no heads of its audit logs")
	}
	envelope, err := l.Heads.Head(ws.ID())
	return AuditHead{envelope}, err
}

// Verify checks the chain of the records, the head, and whether an earlier start
// found that records were missing.
func (l *Log) Verify(ctx context.Context, ws *store.Workspace, in *VerifyAudit) (out VerifiedAudit, err error) {
	out.Faults = []string{}
	fault := func(err error) error {
		p := problem.As(err)
		if p == nil {
			return err
		}
		out.Faults = append(out.Faults, p.Detail)
		return nil
	}
	if out.Records, err = ws.VerifyAudit(ctx); err != nil && fault(err) != nil {
		return out, err
	}
	if heads := l.Heads; heads != nil {
		var head []byte
		var err error // what is wrong with the records says nothing of the head
		if in != nil {
			head = in.Head
		}
		if head == nil {
			head, err = heads.Head(ws.ID())
		}
		if err == nil {
			err = heads.VerifyHead(ctx, ws, head)
		}
		if err != nil && fault(err) != nil {
			return out, err
		}
		lost, err := heads.Lost(ws.ID())
		if err != nil {
			return out, err
		}
		for _, name := range lost {
			out.Faults = append(out.Faults, "the records did not reach their signed head at an earlier start, which was kept as "+name)
		}
	}
	out.OK = len(out.Faults) == 0
	return out, nil
}
