package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/change/transfer"
)

type exportInput struct {
	Toolsets  []string `query:"toolset" maxItems:"200" doc:"Only these, by id or slug. Default: all."`
	Recipient string   `query:"recipient" maxLength:"200" doc:"age public key (age1…) that secrets are sealed for; needs the role admin. Default: secrets are left out."`
}

type exportOutput struct {
	ETag string `header:"ETag" doc:"Of what import would change, for its If-Match."`
	Body declare.Declaration
}

func registerExport(s *Server) {
	tags := []string{"export"}
	register(s, huma.Operation{
		OperationID: "export-workspace", Method: http.MethodGet, Path: "/v1/export", Summary: "Read the workspace as a document", Tags: tags,
		Description: "Toolsets with their specifications, settings, edits, plugins, access and labels. The same toolsets give the same bytes on every server. " +
			"Without a recipient no secret is in it; access tokens, the tokens of OAuth logins, history and usage never are.",
	}, of(s, exportWorkspace))
	registerImport(s)
}

func exportWorkspace(ctx context.Context, s *Server, in *exportInput) (*exportOutput, error) {
	tag, doc, err := s.transfers.Export(ctx, s.workspace(ctx), in.Toolsets, in.Recipient)
	if err != nil {
		return nil, err
	}
	return &exportOutput{ETag: tag, Body: *doc}, nil
}

type importInput struct {
	DryRun  bool   `query:"dryRun" doc:"Say what would change, and change nothing."`
	Prune   bool   `query:"prune" doc:"Delete toolsets that are not in the document. Needs the role admin."`
	Reason  string `query:"reason" maxLength:"500" doc:"Recorded with what is published, such as a commit. Default: imported."`
	IfMatch string `header:"If-Match" maxLength:"512" doc:"ETag of the export or dry run the document was compared with."`
	Body    declare.Declaration
}

type importOutput struct {
	ETag string `header:"ETag" doc:"Of the present state of the workspace."`
	Body declare.ImportPlan
}

func registerImport(s *Server) {
	register(s, huma.Operation{
		OperationID: "import-workspace", Method: http.MethodPost, Path: "/v1/import", Summary: "Make the workspace as a document says", Tags: []string{"export"},
		Description: "Toolsets are created and changed to what the document says, and published where it says live; nothing is read from the network. " +
			"The whole document is checked before anything is changed. What is as it should be is left alone, so importing again changes nothing. " +
			"Toolsets are changed one after the other: when one fails, those before it are done, and the same import goes on from there.",
	}, of(s, importWorkspace))
}

func importWorkspace(ctx context.Context, s *Server, in *importInput) (*importOutput, error) {
	tag, plan, err := s.transfers.Import(ctx, s.workspace(ctx), &transfer.Import{Document: &in.Body, IfMatch: in.IfMatch, Prune: in.Prune, DryRun: in.DryRun, Reason: in.Reason})
	if err != nil {
		return nil, err
	}
	return &importOutput{ETag: tag, Body: *plan}, nil
}
