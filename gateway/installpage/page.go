// Package installpage writes the page that a browser shows at a toolset URL: the name of the
// toolset, the configuration of each AI application, and the tools. It has no script, asks
// for nothing else, and holds no secret.
package installpage

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/clientconfig"
	"github.com/sluicegate/sluice/registry"
)

// MaxTools that a page lists; it says how many more there are.
const MaxTools = 200

// Page is what a page says. Every text may be hostile: all of it is escaped.
type Page struct {
	URL         string // the toolset URL, as the browser reached it
	Slug        string
	Name        string // for people; "": the slug
	Description string // "": none
	Mode        string // how the URL is opened: an access mode of package registry
	// Tools are the first of All tools; none where only some callers may see them.
	Tools []snapshot.Summary
	All   int
}

// style adapts to what the reader prefers; there are no images and no fonts to load.
const style = `:root{color-scheme:light dark;background:Canvas;color:CanvasText;--line:#8886;--soft:#8881}
body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:2rem 1rem}
main{max-width:50rem;margin:auto;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}
code,pre{font:.9em/1.45 ui-monospace,monospace}
pre{white-space:pre-wrap;user-select:all;background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;margin:.5rem 0}
details{border-top:1px solid var(--line)}details:last-of-type{border-bottom:1px solid var(--line)}
summary{cursor:pointer;padding:.5rem 0;font-weight:600}
dl{margin:0}dt{border-top:1px solid var(--line);padding-top:.5rem}dd{margin:0 0 .5rem}
footer{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:.5rem;font-size:.9rem}`

// Policy is the Content-Security-Policy of the page (CSP level 3): nothing is loaded, nothing
// runs, and no other page shows it in a frame.
var Policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// HTML is the page.
func HTML(p *Page) string {
	var b strings.Builder
	put := func(parts ...string) {
		for i, s := range parts {
			if i%2 == 1 {
				s = html.EscapeString(s)
			}
			b.WriteString(s)
		}
	}
	name := cmp.Or(p.Name, p.Slug)
	put(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>`, name, `</title><style>`+style+`</style></head><body><main><h1>`, name, `</h1>`)
	if p.Description != "" {
		put(`<p>`, p.Description, `</p>`)
	}
	put(`<p>This is a toolset for AI agents. An application that speaks MCP connects to this address:</p><pre tabindex="0">`, p.URL, `</pre>`)
	p.access(put)
	put(`<h2>Connect</h2>`)
	p.applications(put)
	p.tools(put)
	put(`<footer>Applications that speak MCP are answered at the same address. Served by Sluice.</footer></main></body></html>` + "\n")
	return b.String()
}

// access says what a caller needs.
func (p *Page) access(put func(...string)) {
	switch p.Mode {
	case registry.AccessToken:
		put(`<p>It is opened by an access token, which you get from who runs it. Put the token into the environment variable <code>`, clientconfig.VariableOf(p.Slug), `</code>, or where the application asks for it: the texts below refer to it and never hold it.</p>`)
	case registry.AccessJWT:
		put(`<p>It is opened by a login: most applications start it by themselves when they connect first.</p>`)
	}
}

func (p *Page) applications(put func(...string)) {
	at := clientconfig.Endpoint{Name: p.Slug, URL: p.URL, Executable: "sluice", Token: p.Mode == registry.AccessToken, Login: p.Mode == registry.AccessJWT, Variable: clientconfig.VariableOf(p.Slug), Headers: "FILE"}
	for _, a := range clientconfig.Applications() {
		text := a.Snippet(at)
		link := strings.HasPrefix(text, "cursor://")
		if link {
			text = clientconfig.Document(a.Entry(at))
		}
		put(`<details><summary>`, a.Title, `</summary>`)
		if link {
			put(`<p><a href="`, a.Snippet(at), `">Add it to `, a.Title, `</a>, or do it by hand.</p>`)
		}
		if a.Secret == clientconfig.FromBridge && strings.Contains(text, `"sluice"`) {
			put(`<p>The application starts the program <code>sluice</code>, which connects to this address.`)
			if at.Token {
				put(` FILE has the line <code>Authorization: Bearer TOKEN</code>, and only you can read it.`)
			}
			put(`</p>`)
		}
		switch {
		case strings.Contains(text, "\n"):
			put(`<p>Write into <code>`, a.Where, `</code>:</p>`)
		case !a.Cloud:
			put(`<p>Run in a terminal:</p>`)
		}
		put(`<pre tabindex="0">`, text, `</pre>`)
		if at.Login && a.Login != "" {
			put(`<p>The login is started by: `, strings.ReplaceAll(a.Login, "%s", p.Slug), `</p>`)
		}
		put(`</details>`)
	}
}

func (p *Page) tools(put func(...string)) {
	if p.Mode != registry.AccessNone {
		put(`<h2>Tools</h2><p>They are listed to those who may call them.</p>`)
		return
	}
	put(`<h2>Tools (`, strconv.Itoa(p.All), `)</h2><dl>`)
	for i := range p.Tools {
		t := &p.Tools[i]
		put(`<dt><code>`, t.Name, `</code>`)
		switch {
		case t.Destructive:
			put(` · may delete or overwrite`)
		case !t.ReadOnly:
			put(` · makes changes`)
		}
		put(`</dt><dd>`, cmp.Or(t.Description, t.Title), `</dd>`)
	}
	put(`</dl>`)
	if more := p.All - len(p.Tools); more > 0 {
		put(`<p>and `, strconv.Itoa(more), ` more</p>`)
	}
}
