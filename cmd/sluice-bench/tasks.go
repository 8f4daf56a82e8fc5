package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/internal/tokens"
)

// codeTask is what an agent does with the demo API: by one call after the other, and in code
// mode by a search and one script.
type codeTask struct {
	name, what string
	search     map[string]any
	code       string // of the script
	calls      string // a script that lists the single calls, as [name, arguments]
}

var codeTasks = []codeTask{
	{
		"code.task1.saved", "18 open issues, each with its details and comments",
		map[string]any{"query": "list issues of a repository; get an issue; list comments", "limit": 3},
		"const r = {owner: \"acme\", repo: \"anvil\"};\nconst open = await tools.demo.list_repository_issues({...r, state: \"open\", per_page: 100});\n" +
			"return Promise.all(open.map(async ({number}) => {\n  const [i, c] = await Promise.all([tools.demo.get_issue({...r, issue_number: number}), tools.demo.list_comments({...r, issue_number: number})]);\n" +
			"  return {number, title: i.title, user: i.user.login, labels: i.labels.map(l => l.name).join(), comments: c.map(x => x.user.login).join()};\n}));",
		"const r = {owner: \"acme\", repo: \"anvil\"}, list = {...r, state: \"open\", per_page: 100}; const open = await tools.demo.list_repository_issues(list);" +
			"return [[\"list_repository_issues\", list], ...open.map(i => [\"get_issue\", {...r, issue_number: i.number}]), ...open.filter(i => i.comments > 0).map(i => [\"list_comments\", {...r, issue_number: i.number}])];",
	},
	{
		"code.task2.saved", "which customers paid how much, with their names",
		map[string]any{"query": "list charges; get a customer", "limit": 2},
		"const paid = {};\nfor (const c of (await tools.demo.list_charges({status: [\"succeeded\"], limit: 100})).data) paid[c.customer] = (paid[c.customer] ?? 0) + c.amount;\n" +
			"return Promise.all(Object.keys(paid).map(async id => ({name: (await tools.demo.get_customer({customer: id})).name, paid: paid[id]})));",
		"const list = {status: [\"succeeded\"], limit: 100}; const of = new Set((await tools.demo.list_charges(list)).data.map(c => c.customer));" +
			"return [[\"list_charges\", list], ...[...of].map(customer => [\"get_customer\", {customer}])];",
	},
	{
		"code.task3.saved", "one lookup",
		map[string]any{"query": "get an issue", "limit": 1},
		"return tools.demo.get_issue({owner: \"acme\", repo: \"anvil\", issue_number: 23});",
		"return [[\"get_issue\", {owner: \"acme\", repo: \"anvil\", issue_number: 23}]];",
	},
}

// told is the text that an agent reads of a call, and what it wrote for it.
func (n *node) told(ctx context.Context, slug, tool string, arguments any) (text string, read, written int, err error) {
	given, err := json.Marshal(arguments)
	if err != nil {
		return "", 0, 0, err
	}
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := n.mcp(ctx, slug, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s,`, tool, given), &r); err != nil {
		return "", 0, 0, err
	}
	if r.IsError || len(r.Content) != 1 {
		return "", 0, 0, fmt.Errorf("%s %s: %v", tool, given, r)
	}
	text = r.Content[0].Text
	return text, tokens.CountString(text), tokens.CountString(tool) + tokens.Count(given), nil
}

// defined is what the definitions of all listed tools cost.
func (n *node) defined(ctx context.Context, slug string) (int, error) {
	var listed struct{ Tools json.RawMessage }
	err := n.mcp(ctx, slug, "tools/list", "", "", &listed)
	return tokens.Count(listed.Tools), err
}

// benchTasks counts what three tasks cost an agent in tokens at their end, as all single
// calls of concise tools, and in code mode: the definitions, what it wrote and what it read.
func benchTasks(ctx context.Context, b *bench) error {
	n, slug, tools, err := b.demoNode(ctx)
	if err != nil {
		return err
	}
	defer n.Close()
	deploy := func(selection string) error {
		patch := map[string]any{"selection": selection}
		if err := n.api(ctx, http.MethodPatch, "/v1/toolsets/"+slug, patch, nil); err != nil {
			return err
		}
		return n.api(ctx, http.MethodPost, "/v1/toolsets/"+slug+"/test", map[string]any{"tool": tools[0]}, nil)
	}
	if err := deploy("code"); err != nil {
		return err
	}
	defined, err := n.defined(ctx, slug)
	if err != nil {
		return err
	}
	code, notes, calls := make([]int, len(codeTasks)), make([]string, len(codeTasks)), make([][][2]any, len(codeTasks))
	for i, t := range codeTasks {
		_, found, asked, err := n.told(ctx, slug, "search_tools", t.search)
		if err != nil {
			return err
		}
		_, value, script, err := n.told(ctx, slug, "run_code", map[string]string{"code": t.code})
		if err != nil {
			return err
		}
		code[i] = defined + asked + found + script + value
		notes[i] = fmt.Sprintf("code mode %d tokens of o200k_base: definitions %d, search and script %d, signatures %d, value %d", code[i], defined, asked+script, found, value)
		single, _, _, err := n.told(ctx, slug, "run_code", map[string]string{"code": "const all = await (async () => {" + t.calls + "})(); return \"calls: \" + JSON.stringify(all)"})
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(single, "calls: ")), &calls[i]); err != nil {
			return fmt.Errorf("%s: %w: %s", t.name, err, single)
		}
	}
	if err := deploy("all"); err != nil {
		return err
	}
	if defined, err = n.defined(ctx, slug); err != nil {
		return err
	}
	for i, t := range codeTasks {
		read, written := 0, 0
		for _, c := range calls[i] {
			_, r, w, err := n.told(ctx, slug, c[0].(string), c[1])
			if err != nil {
				return err
			}
			read, written = read+r, written+w
		}
		concise := defined + read + written
		b.report(t.name, 100*(1-float64(code[i])/float64(concise)), fmt.Sprintf("%s: %s; %d calls %d: definitions %d, written %d, answers %d", t.what, notes[i], len(calls[i]), concise, defined, written, read))
	}
	return nil
}
