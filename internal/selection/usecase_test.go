package selection

import (
	"slices"
	"strings"
	"testing"
)

// forge is a small API with resources in resources.
func forge() []Tool {
	need := func(names ...string) (out []Param) {
		for _, n := range names {
			out = append(out, Param{Name: n, Required: true})
		}
		return out
	}
	return []Tool{
		{Name: "list_repos", Description: "List the repositories of the user.", Method: "GET", Path: "/user/repos", Server: "forge"},
		{Name: "list_org_repos", Description: "List the repositories of an organization.", Method: "GET", Path: "/orgs/{org}/repos", Server: "forge", Params: need("org")},
		{Name: "list_issues", Description: "List the issues of a repository.", Method: "GET", Path: "/repos/{repo}/issues", Server: "forge", Params: need("repo")},
		{Name: "close_issue", Description: "Close an issue.", Method: "POST", Path: "/repos/{repo}/issues/{issue_number}/close", Server: "forge", Params: need("repo", "issue_number")},
		{Name: "get_weather", Description: "Weather of a city.", Method: "GET", Path: "/weather", Server: "forge"},
		{Name: "conversations_list", Description: "Lists all channels.", Method: "GET", Path: "/conversations.list", Server: "chat"},
		{Name: "chat_post", Description: "Sends a message.", Method: "POST", Path: "/chat.post", Server: "chat", Params: need("channel", "text")},
		{Name: "delete_user", Description: "Delete an account.", Method: "DELETE", Path: "/users/{id}", Server: "chat", Params: need("id")},
		{Name: "users_list", Description: "Members.", Method: "GET", Path: "/users", Server: "chat"},
	}
}

func TestChoose(t *testing.T) {
	tools := forge()
	x := Build(tools, nil)
	f := func(useCase string, want ...string) {
		t.Helper()
		chosen := x.Choose(tools, useCase)
		var got []string
		for _, c := range chosen {
			got = append(got, tools[c.Tool].Name)
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%q: %q lacks %q", useCase, got, w)
			}
		}
		if !slices.Equal(chosen, x.Choose(tools, useCase)) {
			t.Errorf("%q: chosen differently a second time", useCase)
		}
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%q: %q, want none", useCase, got)
		}
	}
	// The number comes from the list of issues, its repository from the
	// list that needs nothing itself.
	f("Close an issue.", "close_issue", "list_issues", "list_repos")
	f("Close an issue and then send a message to the team.", "close_issue", "chat_post", "conversations_list")
	f("delete an account", "delete_user", "users_list")
	f("")
	f("zzzz qqqq")
	for _, c := range x.Choose(tools, "Close an issue.") {
		if (c.For < 0) != (c.Clause != "") || c.For >= 0 && c.Gives == "" {
			t.Errorf("%+v does not say why it was chosen", c)
		}
		if tools[c.Tool].Name == "list_repos" && tools[c.For].Name == "list_repos" {
			t.Errorf("%+v is needed by itself", c)
		}
	}
}

func TestSplitUseCase(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		var got []string
		for _, p := range splitUseCase(in) {
			got = append(got, p.query)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("")
	f("triage new issues: list open issues, label them, and comment; merge pull requests",
		"triage new issues", "list open issues", "label them triage new issues", "comment triage new issues", "merge pull requests")
	f("Close an issue and then send a message to the team.", "Close an issue", "send a message to the team")
	f("and, then, or")
	many := strings.Repeat("close the old issue. ", maxParts)
	if n := len(splitUseCase(many)); n != maxParts {
		t.Errorf("%d parts, want %d", n, maxParts)
	}
	if n := len(splitUseCase(many + "one more thing.")); n != maxParts {
		t.Errorf("one more: %d parts, want %d", n, maxParts)
	}
}

// TestCloseIsQuiet: what only looks like an identifier brings no tool, and nothing
// gives what it needs itself.
func TestCloseIsQuiet(t *testing.T) {
	need := func(names ...string) (out []Param) {
		for _, n := range names {
			out = append(out, Param{Name: n, Required: true})
		}
		return out
	}
	tools := []Tool{
		{Name: "merge", Method: "POST", Path: "/repos/{repo}/merges", Params: need("repo", "head", "event")},
		{Name: "list_heads", Method: "GET", Path: "/heads"},
		{Name: "list_events", Method: "GET", Path: "/events"},
		{Name: "private_repos", Method: "GET", Path: "/repos/{repo}/settings/private-repos", Params: need("repo")},
		{Name: "list_repos", Method: "GET", Path: "/user/repos"},
		{Name: "post", Method: "POST", Path: "/chat.post", Params: need("token", "channel", "text", "amount_requested")},
		{Name: "admin_channels", Method: "GET", Path: "/admin.conversations.search"},
		{Name: "channels", Method: "GET", Path: "/conversations.list", Params: need("token")},
		{Name: "tokens", Method: "GET", Path: "/oauth.token"},
		{Name: "search", Method: "GET", Path: "/search.messages", Params: need("query")},
		{Name: "requests", Method: "GET", Path: "/requests"},
	}
	f := func(tool int, want ...string) {
		t.Helper()
		var got []string
		for _, c := range Close(tools, []Choice{{Tool: tool, For: -1}})[1:] {
			got = append(got, tools[c.Tool].Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q", tools[tool].Name, got, want)
		}
	}
	f(0, "list_repos")
	f(5, "channels")
}

// TestChooseKeepsEachPart: a use case with too many tools keeps the best of each
// part, also of one whose scores are low.
func TestChooseKeepsEachPart(t *testing.T) {
	tools := catalogue(3000)
	x := Build(tools, nil)
	useCase := "list the order status. list the invoice status. list the customer status. list the repository status. list the issue status. list the channel status. what may be exported"
	chosen := x.Choose(tools, useCase)
	parts := map[string]int{}
	n := 0
	for _, c := range chosen {
		if c.For < 0 {
			parts[c.Clause]++
			n++
		}
	}
	if n != maxChosen || len(parts) != 7 {
		t.Errorf("%d tools of %v, want %d of 7 parts", n, parts, maxChosen)
	}
}
