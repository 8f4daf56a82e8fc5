package workflowcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/workflow"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/registry"
)

// Scripts is "sluice toolset script".
func Scripts(s *command.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "script", Aliases: []string{"scripts"}, Short: "Create tools from scripts that worked",
		Long: "A script that an agent ran once with run_code, or that is in a file, becomes a tool that all agents share.",
	}
	o := offered[workflow.ToolsetScript]{
		Session: s, word: "script", path: "scripts", empty: "There are no scripts yet. Make a tool of one: sluice toolset script save %s NAME --from RUN|FILE",
		name: func(x workflow.ToolsetScript) string { return x.Name },
		columns: []terminal.Column[workflow.ToolsetScript]{
			{Header: "name", Value: func(x workflow.ToolsetScript) string { return x.Name }},
			{Header: "state", Value: func(x workflow.ToolsetScript) string { return x.State }},
			{Header: "calls", Value: func(x workflow.ToolsetScript) string { return fmt.Sprint(len(x.Calls)) }},
			{Header: "description", Value: func(x workflow.ToolsetScript) string { return terminal.FirstSentence(x.Description) }},
		},
		write: func(w io.Writer, x *workflow.ToolsetScript) {
			writeScript(w, x)
			fmt.Fprintln(w)
			for line := range strings.Lines(x.Code) {
				fmt.Fprintln(w, terminal.Printable(strings.TrimRight(line, "\n")))
			}
		},
	}
	cmd.AddCommand(save(s), o.list("List the scripts of a toolset that are tools"), o.show("Show a script with what it calls"), o.remove("Remove the tool of a script"))
	return cmd
}

// callID is what the call log names a call.
var callID = regexp.MustCompile(`^call_[0-9]+$`)

func save(s *command.Session) *cobra.Command {
	var in draft.SaveScript
	var from, inputs, outputs string
	var params []string
	cmd := &cobra.Command{
		Use: "save TOOLSET NAME --from RUN|FILE", Short: "Make a tool of a run of run_code, or of a file", Args: command.Exactly(2, "a toolset and the name of the tool"),
		Example: "  sluice logs shop --tool run_code\n  sluice toolset script save shop open_orders --from call_1042 --description 'Lists open orders with their customers' --param state=open\n" +
			"  sluice toolset script save shop open_orders --from open.js --description 'Lists open orders' --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := source(&in, from); err != nil {
				return err
			}
			in.Name, in.Parameters = args[1], nil
			for _, p := range params {
				one, err := parameter(p)
				if err != nil {
					return err
				}
				in.Parameters = append(in.Parameters, one)
			}
			for name, to := range map[string]*json.RawMessage{inputs: &in.Inputs, outputs: &in.Outputs} {
				if name == "" {
					continue
				}
				text, err := readFile(name, maxSchemaFile)
				if err != nil {
					return err
				}
				if *to = json.RawMessage(text); !json.Valid(*to) {
					return exit.Usagef("%s is not JSON", name)
				}
			}
			c, t, etag, err := s.Toolset(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var out workflow.ToolsetScript
			if _, err := c.Do(cmd.Context(), client.Call{Method: http.MethodPost, Path: client.ToolsetPath(t, "scripts"), In: in, Out: &out, IfMatch: etag}); err != nil {
				return err
			}
			return s.Object(out, func(w io.Writer) {
				writeScript(w, &out)
				if in.DryRun {
					fmt.Fprintln(w, "Nothing was changed.")
				} else {
					fmt.Fprintf(w, "Try it and deploy it: sluice toolset test %s %s\n", t.Slug, out.Name)
				}
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "a run in the call log, such as call_1042, or a file with JavaScript")
	fs.StringVar(&in.Description, "description", "", "what the tool does: agents choose it by that")
	fs.StringVar(&in.Title, "title", "", "a title for people")
	fs.StringArrayVar(&params, "param", nil, "NAME=VALUE: turn a value in the script into an argument; the value becomes its default")
	fs.StringSliceVar(&in.Calls, "call", nil, "GROUP.NAME of a tool that the script calls in a way that its text does not show")
	fs.StringVar(&inputs, "input-schema", "", "`FILE` with the JSON Schema of the arguments, which the script has as args")
	fs.StringVar(&outputs, "output-schema", "", "`FILE` with the JSON Schema of the value")
	fs.BoolVar(&in.DryRun, "dry-run", false, "show the tool, and change nothing")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

// maxSchemaFile is how large a file with a schema may be: as large as the schema.
const maxSchemaFile = 64 << 10

func source(in *draft.SaveScript, from string) error {
	if in.Run, in.Code = "", ""; callID.MatchString(from) {
		in.Run = from
		return nil
	}
	code, err := readFile(from, registry.MaxScript)
	if err == nil && strings.TrimSpace(code) == "" {
		err = exit.Usagef("%s is empty", from)
	}
	in.Code = code
	return err
}

// parameter reads NAME=VALUE, where a value that is not JSON is a text.
func parameter(s string) (workflow.Parameter, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return workflow.Parameter{}, exit.Usagef("--param is NAME=VALUE, not %s", terminal.Printable(s))
	}
	var scalar any
	if json.Unmarshal([]byte(value), &scalar) != nil {
		text, _ := json.Marshal(value) // a string: never fails
		value = string(text)
	}
	return workflow.Parameter{Name: name, Value: json.RawMessage(value)}, nil
}

func writeScript(w io.Writer, x *workflow.ToolsetScript) {
	fmt.Fprintf(w, "%s  %s  %s\n", x.Name, x.State, terminal.Printable(x.Description))
	for _, m := range x.Missing {
		fmt.Fprintf(w, "   waits for %s\n", terminal.Printable(m))
	}
	for _, c := range x.Calls {
		fmt.Fprintf(w, "   calls %s, %s %s\n", terminal.Printable(c.Name), c.Operation.Method, terminal.Printable(c.Operation.Path))
	}
	for _, m := range []struct {
		name string
		text json.RawMessage
	}{{"arguments", x.Inputs}, {"value", x.Outputs}} {
		if len(m.text) > 0 {
			fmt.Fprintf(w, "   %s %s\n", m.name, terminal.Printable(string(m.text)))
		}
	}
}
