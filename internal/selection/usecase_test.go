package selection

import (
	"slices"
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
