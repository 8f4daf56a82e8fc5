package call

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// TestRemarks: what is remarked about an answer stands on a line of its own behind it, but not of
// a failure, within another call, or where something redacts, which has not seen it.
func TestRemarks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *rendering)
		want   string
	}{
		"one":                       {func(*rendering) {}, "text\nremark"},
		"none":                      {func(a *rendering) { a.remark = nil }, "text"},
		"of a failure":              {func(a *rendering) { a.isError = true }, "text"},
		"within a call":             {func(a *rendering) { a.inner = true }, "text"},
		"where something redacts":   {func(a *rendering) { a.ready.Answer.Redact = true }, "text"},
		"behind a stream's":         {func(a *rendering) { a.unfinished = true }, "\nremark"},
		"behind a JSON document":    {func(a *rendering) { a.isDocument = true }, "text"},
		"one letter":                {func(a *rendering) { a.remark = []byte("r") }, "text\nr"},
		"beside what can be looked": {func(a *rendering) { a.media = "image/png" }, "text"},
	} {
		x := exchangeOf(t, nil)
		x.ready.Answer = &answer.Plan{}
		a := x.render(received{status: 200, header: answered{}})
		a.text, a.remark = []byte("text"), []byte("remark")
		c.change(a)
		a.appendNotes()
		if got := string(a.text); got != c.want && !(a.unfinished && strings.HasSuffix(got, c.want)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAnswersWithoutContent: an answer without a byte says so, and so does one that should be JSON
// and has none; blank text is what it is.
func TestAnswersWithoutContent(t *testing.T) {
	const done = "Done. The API answered HTTP 204 without content."
	for _, c := range []struct {
		body   string
		broken bool
		done   bool
	}{{"", false, true}, {"", true, true}, {" \n", true, true}, {" x", true, false}, {" \n", false, false}, {"x", false, false}} {
		x := exchangeOf(t, nil)
		x.ready.Answer = &answer.Plan{}
		a := x.render(received{status: 204, contentType: typeText, body: []byte(c.body), header: answered{}})
		a.broken = c.broken
		a.remark = []byte("remark")
		if err := a.write(); err != nil {
			t.Fatal(err)
		}
		if (string(a.text) == done) != c.done || c.done && a.remark != nil {
			t.Errorf("%+v: %q, remark %q", c, a.text, a.remark)
		}
	}
}

// TestWhenToTryAgain: an API says after how many seconds, or when.
func TestWhenToTryAgain(t *testing.T) {
	for status, header := range map[int]string{429: "120", 503: "Fri, 31 Dec 2027 23:59:59 GMT", 500: "120"} {
		x := exchangeOf(t, nil)
		x.ready.Answer = &answer.Plan{}
		a := x.render(received{status: status, contentType: typeText, header: answered{"Retry-After": header}})
		a.statusFailure()
		want := "\nTry again after 120 seconds."
		switch status {
		case 503:
			want = "\nTry again after Fri, 31 Dec 2027 23:59:59 GMT."
		case 500:
			want = ""
		}
		if got := string(a.text); !a.isError || !strings.HasSuffix(got, want) || strings.Contains(got, "Try again") != (want != "") {
			t.Errorf("%d %s: %q", status, header, got)
		}
	}
}

// TestBrokenDocumentsAreWithheld: where settings redact, a document that cannot be read is shown to
// nobody, under the profile that changes nothing, too.
func TestBrokenDocumentsAreWithheld(t *testing.T) {
	for _, redact := range []bool{false, true} {
		for _, profile := range []string{registry.ProfileOff, registry.ProfileConcise} {
			x := exchangeOf(t, nil)
			x.ready.Answer, x.ready.JSON = &answer.Plan{Redact: redact, Profile: profile, Program: &answer.Program{}}, true
			a := x.render(received{status: 200, contentType: typeJSON, body: []byte(`{"password":"hunter2",`), header: answered{}})
			if err := a.transform(); (err != nil) != redact || err != nil && !problem.Is(err, problem.InvalidPlugin) && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("redacts %v, profile %s: %v", redact, profile, err)
			}
		}
	}
}

// TestMendedDocuments: what is nearly JSON is mended, before settings redact it; what they
// cannot read then either is withheld.
func TestMendedDocuments(t *testing.T) {
	for _, profile := range []string{registry.ProfileOff, registry.ProfileLossless} {
		for _, c := range []struct{ body, mended string }{
			{`{"password":"hunter2",}`, `{"password":"hunter2"}`},
			{`<b>Warning</b>: x in /y<br />{"password":"hunter2"}`, `{"password":"hunter2"}`},
			{`{"password":"hunter2","x":`, ""},
			{`<html><body>hunter2</body></html>`, ""},
		} {
			for _, redact := range []bool{false, true} {
				x := exchangeOf(t, nil)
				x.ready.Answer, x.ready.JSON = &answer.Plan{Redact: redact, Profile: profile, Program: &answer.Program{}}, true
				kind := typeJSON
				if c.body[0] == '<' {
					kind = []byte("text/html")
				}
				a := x.render(received{status: 200, contentType: kind, body: []byte(c.body), header: answered{}})
				err := a.transform()
				if (err != nil) != (redact && c.mended == "") || a.broken != (c.mended == "") || c.mended != "" && string(a.body) != c.mended {
					t.Errorf("%s of %s, redacts %v: %v, broken %v, body %q", profile, c.body, redact, err, a.broken, a.body)
				}
			}
		}
	}
}
