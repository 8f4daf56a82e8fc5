package enginepool

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
)

// member keeps the order that a Go map would lose.
type member struct {
	name  string
	value any
}

func appendValue(b []byte, v any) []byte {
	switch x := v.(type) {
	case []member:
		b = append(b, '{')
		for i, m := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, m.name)
			b = appendValue(append(b, ':'), m.value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	}
	j, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(b, j...)
}

var vocabulary = strings.Fields(`the scheduler stalls when a lease expires during rotation of keys and the queue is drained by two workers expected result
	actual result steps to reproduce version platform server client timeout retry request answer header body pool overflow trace please add an option
	for regional endpoints documentation build leak regression since upgrade flaky fails on arm64`)

func prose(r *rand.Rand, n int) string {
	var s strings.Builder
	for s.Len() < n {
		s.WriteString(vocabulary[r.IntN(len(vocabulary))])
		switch r.IntN(24) {
		case 0:
			s.WriteString(".\r\n\r\n")
		case 1:
			s.WriteString(" `run()` ")
		case 2:
			s.WriteString(` "quoted {text} [x]" `)
		case 3:
			s.WriteString("\r\n```go\r\n\tif err != nil {\r\n\t\treturn err\r\n\t}\r\n```\r\n")
		case 4:
			s.WriteString(" déjà — ✓ ")
		default:
			s.WriteByte(' ')
		}
	}
	return s.String()
}

func account(r *rand.Rand) []member {
	id := r.IntN(90_000_000) + 1000
	login := fmt.Sprintf("%s%s%d", vocabulary[r.IntN(len(vocabulary))], vocabulary[r.IntN(len(vocabulary))], r.IntN(99))
	u := "https://api.forge.example/users/" + login
	return []member{
		{"login", login},
		{"id", id},
		{"node_id", fmt.Sprintf("MDQ6VXNlcj%d", id)},
		{"avatar_url", fmt.Sprintf("https://avatars.forge.example/u/%d?v=4", id)},
		{"gravatar_id", ""},
		{"url", u},
		{"html_url", "https://forge.example/" + login},
		{"followers_url", u + "/followers"},
		{"following_url", u + "/following{/other_user}"},
		{"gists_url", u + "/gists{/gist_id}"},
		{"starred_url", u + "/starred{/owner}{/repo}"},
		{"subscriptions_url", u + "/subscriptions"},
		{"organizations_url", u + "/orgs"},
		{"repos_url", u + "/repos"},
		{"events_url", u + "/events{/privacy}"},
		{"received_events_url", u + "/received_events"},
		{"type", "User"},
		{"user_view_type", "public"},
		{"site_admin", false},
	}
}

// listIssues is a page of issues in the shape of GitHub's list: n issues whose
// body is bodyBytes long on average. 30 issues of 1,950 bytes are about 247 KB.
func listIssues(n, bodyBytes int) []byte {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	repo, html := "https://api.forge.example/repos/acme-org/gateway-server", "https://forge.example/acme-org/gateway-server"
	list := make([]any, n)
	for i := range list {
		num := 4000 - i
		self := fmt.Sprintf("%s/issues/%d", repo, num)
		labels, assignees := []any{}, []any{}
		for range 1 + r.IntN(5) {
			name := vocabulary[r.IntN(len(vocabulary))]
			labels = append(labels, []member{
				{"id", 208045946 + r.IntN(1e6)},
				{"node_id", "MDU6TGFiZWwyMDgwNDU5NDY="},
				{"url", repo + "/labels/" + name},
				{"name", "kind/" + name},
				{"description", prose(r, 30)},
				{"color", "f29513"},
				{"default", false},
			})
		}
		for range r.IntN(3) {
			assignees = append(assignees, account(r))
		}
		var assignee, milestone any
		if len(assignees) > 0 {
			assignee = assignees[0]
		}
		if r.IntN(2) == 0 {
			milestone = []member{
				{"url", repo + "/milestones/1"},
				{"html_url", html + "/milestones/v1.0"},
				{"labels_url", repo + "/milestones/1/labels"},
				{"id", 1002604},
				{"node_id", "MDk6TWlsZXN0b25lMTAwMjYwNA=="},
				{"number", 1},
				{"title", "v1.0"},
				{"description", prose(r, 80)},
				{"creator", account(r)},
				{"open_issues", 4},
				{"closed_issues", 8},
				{"state", "open"},
				{"created_at", "2024-04-10T20:09:31Z"},
				{"updated_at", "2025-03-03T18:58:10Z"},
				{"due_on", "2026-10-09T23:39:01Z"},
				{"closed_at", nil},
			}
		}
		list[i] = []member{
			{"url", self},
			{"repository_url", repo},
			{"labels_url", self + "/labels{/name}"},
			{"comments_url", self + "/comments"},
			{"events_url", self + "/events"},
			{"html_url", fmt.Sprintf("%s/issues/%d", html, num)},
			{"id", 2_700_000_000 + num},
			{"node_id", fmt.Sprintf("I_kwDOABCDEF6f%d", num)},
			{"number", num},
			{"title", prose(r, 50)},
			{"user", account(r)},
			{"labels", labels},
			{"state", "open"},
			{"locked", false},
			{"assignee", assignee},
			{"assignees", assignees},
			{"milestone", milestone},
			{"comments", r.IntN(40)},
			{"created_at", "2026-04-22T13:33:48Z"},
			{"updated_at", "2026-05-22T13:33:48Z"},
			{"closed_at", nil},
			{"author_association", "CONTRIBUTOR"},
			{"type", nil},
			{"active_lock_reason", nil},
			{"sub_issues_summary", []member{{"total", 0}, {"completed", 0}, {"percent_completed", 0}}},
			{"body", prose(rand.New(rand.NewPCG(7, uint64(i))), bodyBytes*(1+i%3)/2)},
			{"closed_by", nil},
			{"reactions", []member{
				{"url", self + "/reactions"},
				{"total_count", 3},
				{"+1", 2},
				{"-1", 0},
				{"laugh", 0},
				{"hooray", 0},
				{"confused", 0},
				{"heart", 1},
				{"rocket", 0},
				{"eyes", 0},
			}},
			{"timeline_url", self + "/timeline"},
			{"performed_via_github_app", nil},
			{"state_reason", nil},
		}
	}
	return appendValue(nil, list)
}

// listAccounts is a short page: two accounts are about 2 KB.
func listAccounts(n int) []byte {
	r := rand.New(rand.NewPCG(7, 7))
	list := make([]any, n)
	for i := range list {
		list[i] = account(r)
	}
	return appendValue(nil, list)
}

// issueProgram keeps what a person reads in a list of issues.
func issueProgram(more ...string) *engine.Program {
	only := func(names ...string) *engine.Node {
		n := &engine.Node{DropRest: true}
		for _, s := range names {
			n.Fields = append(n.Fields, engine.Field{Name: s})
		}
		return n
	}
	root := only(append([]string{"number", "title", "state", "comments", "created_at", "html_url"}, more...)...)
	root.Fields = append(root.Fields,
		engine.Field{Name: "user", Node: only("login")},
		engine.Field{Name: "assignees", Node: only("login")},
		engine.Field{Name: "labels", Node: only("name")},
		engine.Field{Name: "milestone", Node: only("title")},
	)
	return &engine.Program{Root: root}
}

// rulesProgram drops by rule at every depth.
func rulesProgram() *engine.Program {
	n := &engine.Node{Rules: engine.DropNull | engine.DropEmpty | engine.DropURL | engine.KeyLinks}
	n.Rest = n
	return &engine.Program{Root: n}
}

// issue is what encoding/json and sonic decode the list into, with types.
type issue struct {
	Number    int     `json:"number"`
	Title     string  `json:"title"`
	State     string  `json:"state"`
	User      login   `json:"user"`
	Labels    []label `json:"labels"`
	Assignees []login `json:"assignees"`
	Milestone *title  `json:"milestone"`
	Comments  int     `json:"comments"`
	CreatedAt string  `json:"created_at"`
	HTMLURL   string  `json:"html_url"`
}

type (
	login struct {
		Login string `json:"login"`
	}
	label struct {
		Name string `json:"name"`
	}
	title struct {
		Title string `json:"title"`
	}
)
