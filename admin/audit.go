package admin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

func showAudit(row *store.Audit) AuditRecord {
	return AuditRecord{
		ID: row.ID, Seq: row.Seq, Time: row.At.Time, Actor: AuditActor{Type: row.ActorType, ID: row.ActorID, IP: row.ActorIP},
		Action: row.Action, Resource: row.Resource, Before: json.RawMessage(row.Before), After: json.RawMessage(row.After),
		Digest: row.Digest, Reason: row.Reason, RequestID: row.RequestID, Outcome: row.Outcome, Hash: hex.EncodeToString(row.Hash),
	}
}

func (s *Server) registerAudit() {
	register(s, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/v1/audit", Summary: "Read the audit log, newest first", Tags: []string{"audit"},
		Description: "Every write, every deploy and every refused one; requests that were refused for who sent them are sampled. " +
			"Records are chained by hashes and never changed.",
	}, func(ctx context.Context, in *ListInput) (*listOutput[AuditRecord], error) {
		p, err := in.page("/v1/audit")
		if err != nil {
			return nil, err
		}
		rows, next, err := s.workspace(ctx).AuditLog(ctx, p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/audit", rows, next, showAudit), nil
	})
	s.registerAuditHead()
	register(s, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/v1/me", Summary: "Who is asking", Tags: []string{"access"},
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[Me], error) {
		t := request.Of(ctx).Token
		me := Me{Workspace: t.WorkspaceID, TokenID: t.ID, Name: t.Name, Role: t.Role, Version: s.o.Version}
		if t.MemberID != "" {
			m, err := s.workspace(ctx).Member(ctx, t.MemberID)
			if err != nil {
				return nil, err
			}
			me.Member = m.Email
		}
		return &bodyOutput[Me]{me}, nil
	})
}
