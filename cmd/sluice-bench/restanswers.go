package main

import (
	"fmt"
	"strings"
)

// restShape is one kind of answer of the benchmarked API.
type restShape struct {
	name   string // in the name of the line, with the size
	want   string // at the end of the answer
	cut    string // what Sluice's answer has there, when it is over the token budget; else ""
	answer func() []byte
}

// restShapes are the answers that benchREST measures. The list of 247 KB is over the
// default token budget: Sluice passes its beginning on and holds the rest.
var restShapes = []restShape{
	{"list.2k", "end of the list", "", func() []byte { return restList(12) }},
	{"list.20k", "end of the list", "", func() []byte { return restList(130) }},
	{"list.247k", "end of the list", "grep and fields narrow it", func() []byte { return restList(1580) }},
	{"github.20k", "the last issue", "", func() []byte { return restIssues(7) }},
	{"object.2k", "end of the object", "", restObject},
	{"text.20k", "end of the text", "", restText},
}

// path is that of the shape at the upstream.
func (s restShape) path() string { return strings.ReplaceAll(s.name, ".", "-") }

// tool is the name of its tool.
func (s restShape) tool() string { return "get_" + strings.ReplaceAll(s.name, ".", "_") }

// restList is a list of n objects that have objects and lists in them, all of which
// is worth keeping.
func restList(n int) []byte {
	statuses, cities := []string{"active", "inactive", "pending"}, []string{"Berlin", "Lagos", "Lima", "Osaka"}
	out := []byte(`{"items":[`)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"id":%d,"name":"item %d","status":%q,"price":%d.%02d,"owner":{"email":"u%d@acme.test","address":{"zip":"%05d","city":%q}},"tags":["t%d","t%d"]}`,
			1000+i, i, statuses[i%3], 10+i%90, i*7%100, i, 10000+i*37%80000, cities[i%4], i%5, i%7)
	}
	return append(out, `],"next":null,"end":"end of the list"}`...)
}

// restIssues are n issues as GitHub lists them: most bytes are links.
func restIssues(n int) []byte {
	out := []byte{'['}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		body := "It happens when the second request arrives before the first one is answered."
		if i == n-1 {
			body = "This is the last issue."
		}
		issue := fmt.Sprintf("https://api.example.com/repos/acme/project/issues/%d", 100+i)
		out = fmt.Appendf(out, `{"url":"%[1]s","repository_url":"https://api.example.com/repos/acme/project","labels_url":"%[1]s/labels{/name}",`+
			`"comments_url":"%[1]s/comments","events_url":"%[1]s/events","html_url":"https://example.com/acme/project/issues/%[2]d",`+
			`"id":%[3]d,"node_id":"I_kwDOAbCdEf5%[3]d","number":%[2]d,"title":"Issue number %[4]d of the project","user":`, issue, 100+i, 1296269000+i, i)
		out = appendUser(out, fmt.Sprintf("person%d", i), 42+i)
		out = fmt.Appendf(out, `,"labels":[{"id":%d,"node_id":"LA_kwDOAbCdEf%d","url":"https://api.example.com/repos/acme/project/labels/bug","name":"bug","color":"d73a4a","default":true,"description":"Something does not work"}],`+
			`"state":"open","locked":false,"assignee":null,"assignees":[`, 208045946, i)
		out = appendUser(out, fmt.Sprintf("helper%d", i), 142+i)
		out = fmt.Appendf(out, `],"milestone":null,"comments":%d,"created_at":"2026-01-%02dT19:01:12Z","updated_at":"2026-02-%02dT08:30:00Z","closed_at":null,`+
			`"author_association":"CONTRIBUTOR","active_lock_reason":null,"body":%q,"reactions":{"url":"%s/reactions","total_count":%d,"+1":%d,"-1":0,"heart":0},`+
			`"timeline_url":"%s/timeline","performed_via_github_app":null,"state_reason":null}`, i%9, 1+i, 1+i, body, issue, i, i, issue)
	}
	return append(out, ']')
}

// appendUser appends a person as GitHub describes one.
func appendUser(out []byte, login string, id int) []byte {
	out = fmt.Appendf(out, `{"login":%q,"id":%d,"node_id":"MDQ6VXNlcj%d","avatar_url":"https://avatars.example.com/u/%d?v=4","gravatar_id":""`, login, id, id, id)
	for _, link := range []string{"", "html_", "followers_", "following_", "gists_", "starred_", "subscriptions_", "organizations_", "repos_", "events_", "received_events_"} {
		out = fmt.Appendf(out, `,"%surl":"https://api.example.com/users/%s/%s"`, link, login, strings.TrimSuffix(link, "_"))
	}
	return append(out, `,"type":"User","site_admin":false}`...)
}

// restObject is one object of about 2 KB.
func restObject() []byte {
	out := []byte(`{"id":4711,"name":"Acme order"`)
	for i := range 25 {
		out = fmt.Appendf(out, `,"field_%02d":{"label":"The value of field %d","amount":%d.%d,"approved":%t}`, i, i, 100+i*13, i%10, i%2 == 0)
	}
	return append(out, `,"end":"end of the object"}`...)
}

// restText is about 20 KB of Markdown in one string.
func restText() []byte {
	out := []byte(`{"path":"docs/guide.md","content":"# Guide\n`)
	for i := range 84 {
		out = fmt.Appendf(out, `\n## Section %d\n\nThe *second* request is **not** sent before the first one is answered; see [the reference](guide.md#section-%d).\n\n`+
			`* run \"make install\" once\n* then read the log\n\n`+"```sh\\nsluice run --demo\\ncurl -s localhost\\n```"+`\n`, i, i)
	}
	return append(out, `\nThis is the end of the text.\n"}`...)
}

// restRepositories is about 20 KB shaped like a list of GitHub's repositories: half of it
// links.
func restRepositories() []byte {
	out := []byte{'['}
	for i := range 14 {
		if i > 0 {
			out = append(out, ',')
		}
		const api = "https://api.example.com/repos/acme/project"
		out = fmt.Appendf(out, `{"id":%d,"node_id":"R_kgDOAbCdEf%02d","name":"project-%d","full_name":"acme/project-%d","private":false,`+
			`"owner":{"login":"acme","id":42,"avatar_url":"https://avatars.example.com/u/42","html_url":"https://example.com/acme","type":"Organization","site_admin":false},`+
			`"html_url":"https://example.com/acme/project-%d","description":"The project that does thing number %d, and does it well.","fork":false,`,
			1296269+i, i, i, i, i, i)
		for _, link := range []string{"forks", "keys", "teams", "hooks", "events", "assignees", "branches", "tags", "blobs", "git_refs", "trees", "statuses"} {
			out = fmt.Appendf(out, `"%s_url":"%s-%d/%s{/x}",`, link, api, i, link)
		}
		out = fmt.Appendf(out, `"created_at":"2011-01-26T19:01:12Z","stargazers_count":%d,"language":"Go","has_issues":true,"topics":["a","b","c"],`+
			`"license":null,"visibility":"public","open_issues_count":%d,"default_branch":"main"}`, 80+i, i)
	}
	return append(out, ']')
}
