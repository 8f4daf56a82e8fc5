package previewcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/cmd/internal/answers"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/projection"
)

func (a previewer) projectionCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "projection",
		Short: "Explain the default projections",
		Args:  command.Exactly(0, "a command: suggest"),
	}
	group.AddCommand(a.projectionSuggestCommand())
	return group
}

func (a previewer) projectionSuggestCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "suggest SPEC|URL|- [OPERATION]",
		Aliases: []string{"explain"},
		Short:   "Print the default projection of an operation",
		Long: `Print what the default projection of an operation leaves out of its answers, and why:
the members that its response schema declares, and with --all the rules that hold for
every answer too. Without an operation, a line for each operation. No node is needed.`,
		Example: "  sluice projection suggest petstore.yaml listPets\n" +
			"  sluice projection suggest petstore.yaml 'GET /pets' -o json\n" +
			"  sluice projection suggest petstore.yaml",
		Args: command.Between(1, 2, "a specification and at most one operation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			spec, err := specification.Read(ctx, a.Session, args[0])
			if err != nil {
				return err
			}
			api, err := answers.Compile(ctx, openapi.Source{Name: spec.Name, Data: spec.Data, BaseURL: spec.URL})
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return a.suggestOne(api, args[1], all)
			}
			return a.suggestAll(api)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list the rules that hold for every answer too")
	return cmd
}

// suggestion is the default projection of one operation.
type suggestion struct {
	Operation   string            `json:"operation"`
	OperationID string            `json:"operationId,omitempty"`
	Left        []projection.Left `json:"left"`
	Kept        []string          `json:"kept"`
	Rules       []projection.Rule `json:"rules,omitempty"`
	Bytes       int               `json:"programBytes"`

	schema bool
}

func suggestionOf(api *answers.API, i int, all bool) (suggestion, error) {
	op := api.Ops[i]
	made := projection.New(op, api.Index)
	table, err := projection.Compile(op, api.Index, &engine.Memory{})
	if err != nil {
		return suggestion{}, fmt.Errorf("compiling the response program of %s %s: %w", op.Method, op.Path, err)
	}
	s := suggestion{
		Operation: op.Method + " " + op.Path, OperationID: op.ID, Left: made.Left(), Kept: made.Kept(), Bytes: len(table), schema: op.Response != nil,
	}
	if s.Left == nil {
		s.Left = []projection.Left{}
	}
	if s.Kept == nil {
		s.Kept = []string{}
	}
	if all {
		s.Rules = projection.Rules()
	}
	return s, nil
}

func (a previewer) suggestOne(api *answers.API, name string, all bool) error {
	op, err := api.Find(name)
	if err != nil {
		return err
	}
	for i := range api.Ops {
		if api.Ops[i] != op {
			continue
		}
		s, err := suggestionOf(api, i, all)
		if err != nil {
			return err
		}
		return a.Object(s, func(w io.Writer) { s.print(w) })
	}
	panic("BUG: an operation that was found is not there")
}

func (s *suggestion) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n", terminal.Printable(s.Operation))
	if !s.schema {
		fmt.Fprintln(w, "The specification says nothing of its answer: the rules that hold for every answer apply.")
	}
	if len(s.Left) > 0 {
		fmt.Fprintln(w, "\nLeft out:")
	}
	for _, l := range s.Left {
		fmt.Fprintf(w, "  %-40s %s\n", terminal.Printable(l.Path), l.Why)
	}
	if len(s.Kept) > 0 {
		fmt.Fprintln(w, "\nKept, also with an address of an API: what a tool takes or sets, pages and files:")
	}
	for _, k := range s.Kept {
		fmt.Fprintf(w, "  %s\n", terminal.Printable(k))
	}
	if len(s.Rules) > 0 {
		fmt.Fprintln(w, "\nIn every answer:")
	}
	for _, r := range s.Rules {
		fmt.Fprintf(w, "  %-40s %s\n", r.What, r.Why)
	}
}

func (a previewer) suggestAll(api *answers.API) error {
	all := make([]suggestion, len(api.Ops))
	for i := range api.Ops {
		var err error
		if all[i], err = suggestionOf(api, i, false); err != nil {
			return err
		}
	}
	return terminal.List(&a.Terminal, all, nil, []terminal.Column[suggestion]{
		{Header: "operation", Value: func(s suggestion) string { return s.Operation }},
		{Header: "id", Value: func(s suggestion) string { return s.OperationID }},
		{Header: "left out", Value: func(s suggestion) string { return terminal.Thousands(len(s.Left)) }},
		{Header: "kept", Value: func(s suggestion) string { return terminal.Thousands(len(s.Kept)) }},
		{Header: "program", Value: func(s suggestion) string { return terminal.ByteSize(int64(s.Bytes)) }},
	}, func(s suggestion) string { return cmp.Or(s.OperationID, s.Operation) })
}
