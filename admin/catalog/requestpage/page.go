package requestpage

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// style adapts to what the reader prefers; there are no images and no fonts to load.
const style = `:root{color-scheme:light dark;background:Canvas;color:CanvasText;--line:#8886;--soft:#8881}
body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:2rem 1rem}
main{max-width:46rem;margin:auto;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.15rem;margin:1.5rem 0 .25rem}
ul{list-style:none;padding:0}li{border-top:1px solid var(--line);padding:.75rem 0}li h2{margin:0}
li p{margin:.25rem 0}nav a{margin-right:1rem;display:inline-block;padding:.25rem 0}nav a[aria-current]{font-weight:700;text-decoration:none}
label{display:block;font-weight:600;margin-top:1rem}input,textarea,button{font:inherit}
input,textarea{box-sizing:border-box;width:100%;padding:.4rem .5rem}button{padding:.4rem .9rem;min-height:2.5rem;cursor:pointer}
form.inline{display:inline-block;margin:.25rem .5rem .25rem 0}
.hint{font-weight:400;font-size:.9rem}.note,.fault{border:1px solid var(--line);background:var(--soft);border-radius:6px;padding:.5rem .8rem}
footer{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:.5rem;font-size:.9rem}`

// Policy is the Content-Security-Policy of the page (CSP level 3): nothing is loaded, nothing
// runs, forms go to the page itself, and no other page shows it in a frame.
var Policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}()

// page is HTML that is being written.
type page struct{ strings.Builder }

// put writes parts: those at odd places are texts of anybody, which are escaped.
func (p *page) put(parts ...string) {
	for i, s := range parts {
		if i%2 == 1 {
			s = html.EscapeString(s)
		}
		p.WriteString(s)
	}
}

// show answers with a page.
func (v *visit) show(status int, title string, body func(*page)) {
	p := &page{}
	v.status = status
	p.put(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>`, title, `</title><style>`+style+`</style></head><body><main><h1>`, title, `</h1>`)
	body(p)
	p.put(`<footer>Served by Sluice.</footer></main></body></html>` + "\n")
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = io.WriteString(v.w, p.String()) // the client is gone when this fails
}

// said are the notes after a form, by the word in the address: nothing else is shown of it.
var said = map[string]string{
	"asked": "Your request is in the list, with your vote.", "voted": "Your vote is counted.", "taken": "Your vote was taken back.",
	"confirmed": "Your address is confirmed. You can ask for connectors and vote.", "out": "This browser is signed out.",
	"forgotten": "Your address and your votes were removed. What you asked for stays in the list, under nobody's name.",
}

func (p *page) says(word string) {
	if text := said[word]; text != "" {
		p.put(`<p class="note" role="status">`, text, `</p>`)
	}
}

// intro says what a visitor can do.
func (p *page) intro(signedIn, open bool) {
	p.put(`<p>Services that people want to use with their AI agents, those with the most votes first.</p>`)
	switch {
	case signedIn:
		p.put(`<p><a href="/new">Ask for a connector</a></p>`)
	case !open:
		p.put(`<p class="note">Requests and votes are not possible at the moment: no e-mail can be sent from here.</p>`)
	default:
		p.put(`<form method="post" action="/sign-in"><label for="email">To ask for one, or to vote, confirm your e-mail address</label>` +
			`<input id="email" name="email" type="email" autocomplete="email" required maxlength="` + strconv.Itoa(maxAddress) + `"><p><button type="submit">Send me a link</button></p></form>`)
	}
}

func (p *page) filters(state string) {
	p.put(`<nav aria-label="States">`)
	for _, s := range append([]string{""}, shownStates...) {
		at, name := "/", "All"
		if s != "" {
			at, name = "/?state="+s, upper(s)
		}
		p.put(`<a href="`, at, `"`)
		if s == state {
			p.put(` aria-current="page"`)
		}
		p.put(`>`, name, `</a>`)
	}
	p.put(`</nav>`)
}

// requests writes a list of requests. What members wrote about themselves is theirs: of their
// requests only the service is shown.
func (p *page) requests(rows []store.ConnectorRequest, voted map[string]bool, votes bool) {
	if len(rows) == 0 {
		p.put(`<p>There are none.</p>`)
		return
	}
	p.put(`<ul>`)
	for i := range rows {
		r := &rows[i]
		p.put(`<li><h2>`, r.Name, `</h2><p>`, upper(r.State), ` · `, counted(r.Votes))
		p.link(r.Website, "website")
		p.link(r.Documentation, "API")
		p.put(`</p>`)
		if strings.HasPrefix(r.RequestedBy, store.RequestPersonPrefix) {
			p.put(`<p>`, r.UseCase, `</p>`)
		}
		if r.Entry != "" {
			p.put(`<p>The connector is `, r.Entry, `.</p>`)
		}
		if r.Reason != "" {
			p.put(`<p>Declined: `, r.Reason, `</p>`)
		}
		if votes && r.State != connectorrequest.Published {
			p.vote(r.ID, r.Name, voted[r.ID])
		}
		p.put(`</li>`)
	}
	p.put(`</ul>`)
}

// link writes a link to a page of a service: of what is not a web page there is none.
func (p *page) link(at, what string) {
	if strings.HasPrefix(at, "https://") || strings.HasPrefix(at, "http://") {
		p.put(` · <a rel="nofollow ugc noopener noreferrer" href="`, at, `">`, what, `</a>`)
	}
}

func (p *page) vote(id, name string, voted bool) {
	p.put(`<form class="inline" method="post" action="/vote"><input type="hidden" name="id" value="`, id, `">`)
	if voted {
		p.put(`<input type="hidden" name="take" value="1"><button type="submit" aria-label="Take back your vote for `, name, `">Take back your vote</button>`)
	} else {
		p.put(`<button type="submit" aria-label="Vote for `, name, `">Vote</button>`)
	}
	p.put(`</form>`)
}

// form writes the form of a request; fault: what is wrong with what was sent.
func (p *page) form(in *connectorrequest.NewRequest, fault *problem.Error) {
	p.put(`<p>Everybody who opens this page sees the service, its links and the use case. The volume is for those who build connectors.</p>`)
	if fault != nil {
		p.put(`<p class="fault" role="alert">The request was not sent: see below.</p>`)
	}
	p.put(`<form method="post" action="/new">`)
	for i := range connectorrequest.Fields {
		f := &connectorrequest.Fields[i]
		bad := fault != nil && fault.Place.Pointer == "/"+f.Name
		p.put(`<label for="`, f.Name, `">`, f.Title, ` <span class="hint">(`, f.Hint, `)</span></label>`)
		attributes := ` id="` + f.Name + `" name="` + f.Name + `" required maxlength="` + strconv.Itoa(f.Max) + `" minlength="` + strconv.Itoa(f.Min) + `"`
		if bad {
			attributes += ` aria-invalid="true" aria-describedby="` + f.Name + `-fault"`
		}
		if f.Long {
			p.put(`<textarea rows="6"`+attributes+`>`, "\n"+*f.Of(in), `</textarea>`) // a first newline is not part of the text
		} else {
			kind := "text"
			if f.Link {
				kind = "url"
			}
			p.put(`<input type="`+kind+`"`+attributes+` value="`, *f.Of(in), `">`)
		}
		if bad {
			p.put(`<p class="fault" id="`+f.Name+`-fault">`, f.Title+": "+sentence(fault.Detail), `</p>`)
		}
	}
	p.put(`<p><button type="submit">Send the request</button></p></form><p><a href="/">Back to the list</a></p>`)
}

// similar shows what is like a request that is about to be sent.
func (p *page) similar(in *connectorrequest.NewRequest, found []connectorrequest.Likeness) {
	p.put(`<p>Others asked for something that is similar. A vote helps more than a second request.</p><ul>`)
	for i := range found {
		r := &found[i].Request
		p.put(`<li><h2>`, r.ServiceName, `</h2><p>`, upper(r.State), ` · `, counted(r.Votes), ` · similar by `, strings.Join(found[i].Because, ", "))
		p.link(r.Website, "website")
		p.put(`</p>`)
		if r.State != connectorrequest.Published {
			p.vote(r.ID, r.ServiceName, r.Voted)
		}
		p.put(`</li>`)
	}
	p.put(`</ul><form method="post" action="/new"><input type="hidden" name="anyway" value="1">`)
	for i := range connectorrequest.Fields {
		f := &connectorrequest.Fields[i]
		p.put(`<input type="hidden" name="`, f.Name, `" value="`, *f.Of(in), `">`)
	}
	p.put(`<p><button type="submit">None of these: send my request</button></p></form><p><a href="/">Back to the list</a></p>`)
}

// leave writes the ways out.
func (p *page) leave() {
	p.put(`<h2>You</h2><p>You confirmed an e-mail address. It is kept sealed and shown to nobody.</p>` +
		`<form class="inline" method="post" action="/sign-out"><button type="submit">Sign this browser out</button></form>` +
		`<form class="inline" method="post" action="/forget"><button type="submit">Remove my address and my votes</button></form>`)
}

func counted(votes int64) string {
	if votes == 1 {
		return "1 vote"
	}
	return strconv.FormatInt(votes, 10) + " votes"
}

// upper is a text that begins with a capital letter.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// sentence is a text that begins with a capital letter and ends with a full stop.
func sentence(s string) string { return upper(strings.TrimSuffix(s, ".")) + "." }
