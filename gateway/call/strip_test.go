package call_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// hiddenText is what answers are tried with: raw, and as JSON escapes it.
const (
	hiddenText    = "ab\u200bc\U000e0041\U000e0042\x1b[31md\u202ee\u00adf"
	hiddenEscaped = `ab\u200bc\udb40\udc41\uDB40\uDC42\u001b[31md\u202Ee\u00adf`
	visibleText   = "abcdef"
)

// TestHiddenCharacters: whatever an answer is and whatever is made of it, nobody reads
// what nobody sees, unless the operator keeps it.
func TestHiddenCharacters(t *testing.T) {
	rows := func(text string) string {
		return `{"items":[` + strings.Repeat(`{"id":1,"name":"`+text+`","owner":{"login":"x"}},`, 40) + `{"id":2,"name":"` + text + `"}],"total":2}`
	}
	raw := strings.ReplaceAll(hiddenText, "\x1b", `\u001b`) // JSON has no other way
	w := newWorld(t)
	for _, c := range []struct {
		name, contentType, body string
		status                  int
	}{
		{"JSON escapes", "application/json", rows(hiddenEscaped), 200},
		{"JSON", "application/json", rows(raw), 200},
		{"member name", "application/json", `{"` + hiddenEscaped + `":1,"b` + raw + `":2}`, 200},
		{"stream", "application/x-ndjson", `{"a":"` + hiddenEscaped + "\"}\n{\"a\":2}\n", 200},
		{"XML", "application/xml", "<r><p>" + strings.ReplaceAll(hiddenText, "\x1b[31m", "") + "</p></r>", 200},
		{"broken XML", "application/xml", "<r>" + hiddenText, 200},
		{"web page", "text/html", "<html><body><p>ab&#8203;c" + strings.ReplaceAll(hiddenText, "\x1b[31m", "") + "</p></body></html>", 200},
		{"text", "text/plain", hiddenText, 200},
		{"DEL alone", "text/plain", "plain\x7ftext", 200},
		{"carriage return alone", "text/plain", "plain\rtext", 200},
		{"CSV", "text/csv", "a,b\r\n1," + hiddenText + "\r\n", 200},
		{"error in JSON", "application/json", `{"message":"` + hiddenEscaped + `","code":7}`, 422},
		{"error in text", "text/plain", hiddenText, 500},
		{"error in XML", "text/xml", "<e><m>&#8203;" + strings.ReplaceAll(hiddenText, "\x1b[31m", "") + "</m></e>", 500},
		{"error as a page", "text/html", "<html><body>" + hiddenText + "</body></html>", 502},
		{"malformed JSON", "application/json", `{"a":"` + hiddenText, 200},
		{"over the budget", "text/plain", strings.Repeat(hiddenText+"\n", 4000), 200},
		{"list over the budget", "application/json", rows(strings.Repeat(hiddenEscaped, 100)), 200},
		{"odd media type", "application/x-" + "\u202e", "\x00\x01", 200},
	} {
		for _, profile := range []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise} {
			for _, settings := range []registry.Answers{{}, {Format: registry.FormatTable}, {Format: registry.FormatTOON}, {Structured: true}} {
				settings.Budget = 2000
				w.answer = upstreamtest.Text(c.status, c.contentType, c.body)
				tool := w.serve(petOperation(), func(b *registry.Toolset) { b.Profile, b.Answers = profile, &settings })
				r := w.call(tool, "{}", call.CallOptions{})
				at := c.name + " " + profile + " " + settings.Format
				checkVisible(t, at, r)
				text := r.Content[0].Text
				if strings.Contains(c.body, "ab") && !strings.Contains(text, visibleText) {
					t.Errorf("%s: the text itself is lost: %+q", at, text)
				}
				if handle := handlePattern.FindString(text); handle != "" {
					checkVisible(t, at, w.call(w.tool("fetch_result"), handle, call.CallOptions{}))
				} else if c.name == "over the budget" {
					t.Errorf("%s: was not cut: %.200s", at, text)
				}
			}
		}
	}
}

func checkVisible(t *testing.T, what string, r result) {
	t.Helper()
	all := []string{string(r.StructuredContent)}
	for _, c := range r.Content {
		all = append(all, c.Text, c.MIMEType, c.Resource.MIMEType)
	}
	for _, text := range all {
		if at := textfilter.Index([]byte(text)); at >= 0 {
			t.Errorf("%s: hidden characters at %d of %+q", what, at, text)
		}
		for _, escape := range []string{`\u200b`, `\udb40`, `\u001b`, `\u202e`, `\uDB40`, `\u202E`, `[31m`} {
			if strings.Contains(text, escape) {
				t.Errorf("%s: %s stays in %.300q", what, escape, text)
			}
		}
	}
}

// What is legitimate stays as it is, under every profile.
func TestLegitimateText(t *testing.T) {
	const text = "می\u200cخواهم क्\u200dष 👩\u200d🚀 ❤\ufe0f שלום Zürich 東京\ttab\nline"
	for _, profile := range []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise} {
		w := newWorld(t)
		doc, err := json.Marshal(map[string]any{"items": []any{map[string]any{"id": 1, "name": text}}})
		if err != nil {
			t.Fatal(err)
		}
		w.answer = upstreamtest.JSON(200, string(doc))
		tool := w.serve(petOperation(), func(b *registry.Toolset) {
			b.Profile, b.Answers = profile, &registry.Answers{Format: registry.FormatJSON}
		})
		var got struct{ Items []struct{ Name string } }
		if err := json.Unmarshal([]byte(w.text(tool, "{}")), &got); err != nil || got.Items[0].Name != text {
			t.Errorf("%s: %+q, want %+q (%v)", profile, got, text, err)
		}
		w.answer = upstreamtest.Text(200, "text/plain", text)
		if got := w.text(tool, "{}"); got != text {
			t.Errorf("%s: %+q, want %+q", profile, got, text)
		}
		// An escape that the text shows is not a character.
		w.answer = upstreamtest.JSON(200, `{"items":[{"id":1,"name":"write \\u200b here"}]}`)
		if got := w.text(tool, "{}"); !strings.Contains(got, `write \\u200b here`) {
			t.Errorf("%s: %s", profile, got)
		}
	}
}

func TestKeepHidden(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		profile, contentType, body string
	}{
		{registry.ProfileOff, "application/json", `{"a":"` + hiddenEscaped + `"}`},
		{registry.ProfileLossless, "application/json", `{"a":"` + hiddenEscaped + `"}`},
		{registry.ProfileLossless, "text/plain", hiddenText + "\r\n"},
	} {
		w.answer = upstreamtest.Text(200, c.contentType, c.body)
		tool := w.serve(gatewaytest.Operation("other", "GET", "/other"), func(b *registry.Toolset) {
			b.Profile, b.Answers = c.profile, &registry.Answers{KeepHidden: true}
		})
		if got := w.text(tool, "{}"); got != c.body {
			t.Errorf("%+q became %+q", c.body, got)
		}
	}
}
