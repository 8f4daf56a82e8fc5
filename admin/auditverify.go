package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/internal/problem"
)

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

type verifyAuditInput struct{ Body *VerifyAudit }

func (s *Server) registerAuditHead() {
	register(s, huma.Operation{
		OperationID: "get-audit-head", Method: http.MethodGet, Path: "/v1/audit/head", Summary: "Get the signed head of the audit log", Tags: []string{"audit"},
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[AuditHead], error) {
		if s.o.AuditHeads == nil {
			return nil, problem.New(problem.NotFound, "this control plane keeps no heads of its audit logs")
		}
		envelope, err := s.o.AuditHeads.Head(s.workspace(ctx).ID())
		return &bodyOutput[AuditHead]{AuditHead{envelope}}, err
	})
	register(s, huma.Operation{
		OperationID: "verify-audit", Method: http.MethodPost, Path: "/v1/audit/verify", Summary: "Check the audit log", Tags: []string{"audit"},
		Description: "Reads every record, checks their chain, and that it reaches the signed head. The answer has status 200 also when something is wrong: see ok and faults.",
	}, func(ctx context.Context, in *verifyAuditInput) (*bodyOutput[VerifiedAudit], error) {
		out, err := s.verifyAudit(ctx, in.Body)
		return &bodyOutput[VerifiedAudit]{out}, err
	})
}

// verifyAudit checks the chain of the records, the head, and whether an earlier start
// found that records were missing.
func (s *Server) verifyAudit(ctx context.Context, in *VerifyAudit) (out VerifiedAudit, err error) {
	ws := s.workspace(ctx)
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
	if heads := s.o.AuditHeads; heads != nil {
		var head []byte
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
