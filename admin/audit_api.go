package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
)

type verifyAuditInput struct{ Body *audit.VerifyAudit }

func registerAudit(s *Server) {
	register(s, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/v1/audit", Summary: "Read the audit log, newest first", Tags: []string{"audit"},
		Description: "Every write, every deploy and every refused one; requests that failed authentication or authorization are sampled. " +
			"Records are chained by hashes and never changed.",
	}, paged(s, "/v1/audit", func(ws *store.Workspace, ctx context.Context, p store.Page) ([]audit.AuditRecord, string, error) {
		return audit.Page(ctx, ws, p)
	}, plain(same[audit.AuditRecord])))
	register(s, huma.Operation{
		OperationID: "get-audit-head", Method: http.MethodGet, Path: "/v1/audit/head", Summary: "Get the signed head of the audit log", Tags: []string{"audit"},
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[audit.AuditHead], error) {
		return answer(s.audit.Head(s.workspace(ctx)))
	})
	register(s, huma.Operation{
		OperationID: "verify-audit", Method: http.MethodPost, Path: "/v1/audit/verify", Summary: "Check the audit log", Tags: []string{"audit"},
		Description: "Reads every record, checks their chain, and that it reaches the signed head. The answer has status 200 also when something is wrong: see ok and faults.",
	}, func(ctx context.Context, in *verifyAuditInput) (*bodyOutput[audit.VerifiedAudit], error) {
		return answer(s.audit.Verify(ctx, s.workspace(ctx), in.Body))
	})
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
