package operation

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// benchPlan creates an issue: path, query, header, cookie and a lifted JSON body.
func benchPlan() *Plan {
	str := &Schema{Type: TypeString}
	return &Plan{
		Version: 1, Method: "POST", Path: "/repos/{owner}/{repo}/issues", Accept: "application/json",
		Params: []Param{
			{Arg: "owner", Name: "owner", In: InPath, Required: true, Schema: str},
			{Arg: "repo", Name: "repo", In: InPath, Required: true, Schema: &Schema{Type: TypeString, Pattern: "^[A-Za-z0-9._-]+$"}},
			{Arg: "per_page", Name: "per_page", In: InQuery, Schema: &Schema{Type: TypeInteger, Min: "1", Max: "100"}},
			{Arg: "state", Name: "state", In: InQuery, Schema: &Schema{Type: TypeString, Enum: []string{`"open"`, `"closed"`, `"all"`}}},
			{Arg: "trace", Name: "X-Trace", In: InHeader, Schema: str},
			{Arg: "session", Name: "session", In: InCookie, Style: StyleForm, Schema: str},
			{Const: `"2022-11-28"`, Name: "X-Version", In: InHeader},
		},
		Body: &Body{MediaType: "application/json", Required: true, Fields: []Field{
			{Arg: "title", Name: "title", Required: true, Schema: &Schema{Type: TypeString, MaxLen: new(256)}},
			{Arg: "body", Name: "body", Schema: str},
			{Arg: "labels", Name: "labels", Schema: &Schema{Type: TypeArray, Items: str}},
			{Arg: "milestone", Name: "milestone", Schema: &Schema{Type: TypeInteger | TypeNull}},
		}},
	}
}

const benchArgs = `{"owner":"octo cat","repo":"hello-world","per_page":50,"state":"open","trace":"abc-123","session":"s 1",
	"title":"It does not work","body":"First line.\nSecond line with \"quotes\".","labels":["bug","needs triage"],"milestone":7}`

const benchWant = "/repos/octo%20cat/hello-world/issues?per_page=50&state=open"

var benchBytes = []byte(benchArgs)

func scan(b *testing.B) jsonscan.Value {
	v, err := jsonscan.Parse(benchBytes, 0)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// BenchmarkBuild: the baseline decodes with encoding/json and builds with net/url,
// as a hand-written handler would.
func BenchmarkBuild(b *testing.B) {
	b.Run("impl=baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var a map[string]any
			if err := json.Unmarshal([]byte(benchArgs), &a); err != nil {
				b.Fatal(err)
			}
			q := url.Values{}
			q.Set("per_page", fmt.Sprint(a["per_page"]))
			q.Set("state", a["state"].(string))
			target := "/repos/" + url.PathEscape(a["owner"].(string)) + "/" + url.PathEscape(a["repo"].(string)) + "/issues?" + q.Encode()
			body, err := json.Marshal(map[string]any{"title": a["title"], "body": a["body"], "labels": a["labels"], "milestone": a["milestone"]})
			if err != nil || target != benchWant || len(body) == 0 {
				b.Fatal(target)
			}
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		c := compile(b, benchPlan())
		var r Request
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Build(&r, scan(b)); err != nil || string(r.Target) != benchWant {
				b.Fatal(string(r.Target), err)
			}
		}
	})
}

// BenchmarkCheck: the baseline decodes and checks the same by hand.
func BenchmarkCheck(b *testing.B) {
	b.Run("impl=baseline", func(b *testing.B) {
		repo := regexp.MustCompile("^[A-Za-z0-9._-]+$")
		b.ReportAllocs()
		for b.Loop() {
			var a struct {
				Owner, Repo, State, Trace, Session, Title, Body string
				PerPage                                         int `json:"per_page"`
				Labels                                          []string
				Milestone                                       *int
			}
			dec := json.NewDecoder(strings.NewReader(benchArgs))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&a); err != nil || !repo.MatchString(a.Repo) || a.PerPage < 1 || a.PerPage > 100 ||
				a.State != "open" && a.State != "closed" && a.State != "all" || len([]rune(a.Title)) > 256 {
				b.Fatal(err)
			}
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		c := compile(b, benchPlan())
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Check(scan(b)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
