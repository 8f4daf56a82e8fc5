package connector

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// form is what clients accept as a value. Those of the official TypeScript SDK refuse a whole list
// for one member of another form, and servers in languages that write null for what they do not
// have send such members.
type form struct {
	kind    jsonscan.Kind             // Missing: any but null
	fits    func(jsonscan.Value) bool // nil: every value of the kind
	members map[string]*form          // of an object; what is not named here stays as it is
	needs   string                    // member without which an object is left out
	each    *form                     // elements of a list
	schemas bool                      // the members of an object are JSON Schemas
}

var (
	textForm = &form{kind: jsonscan.String}
	boolForm = &form{kind: jsonscan.Bool}

	iconsForm = &form{kind: jsonscan.Array, each: &form{kind: jsonscan.Object, needs: "src", members: map[string]*form{
		"src": textForm, "mimeType": textForm, "sizes": {kind: jsonscan.Array, each: textForm}, "theme": wordForm("light", "dark"),
	}}}
	annotationsForm = &form{kind: jsonscan.Object, members: map[string]*form{
		"audience":     {kind: jsonscan.Array, each: wordForm("user", "assistant")},
		"priority":     {kind: jsonscan.Number, fits: isShare},
		"lastModified": {kind: jsonscan.String, fits: isTime},
	}}
	schemaForm = &form{members: map[string]*form{
		"properties": {kind: jsonscan.Object, schemas: true}, "required": {kind: jsonscan.Array, each: textForm},
	}}
	toolForm = &form{kind: jsonscan.Object, members: map[string]*form{
		"title": textForm, "description": textForm, "icons": iconsForm, "_meta": {kind: jsonscan.Object}, "annotations": {kind: jsonscan.Object},
		"inputSchema": schemaForm, "outputSchema": schemaForm,
	}}
	// itemForm is that of prompts, resources and templates together.
	itemForm = &form{kind: jsonscan.Object, members: map[string]*form{
		"title": textForm, "description": textForm, "icons": iconsForm, "_meta": {kind: jsonscan.Object}, "annotations": annotationsForm,
		"mimeType": textForm, "size": {kind: jsonscan.Number},
		"arguments": {kind: jsonscan.Array, each: &form{kind: jsonscan.Object, needs: "name", members: map[string]*form{
			"name": textForm, "title": textForm, "description": textForm, "required": boolForm,
		}}},
	}}
)

func wordForm(words ...string) *form {
	return &form{kind: jsonscan.String, fits: func(v jsonscan.Value) bool { return slices.ContainsFunc(words, v.EqualText) }}
}

func isShare(v jsonscan.Value) bool {
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	return err == nil && f >= 0 && f <= 1
}

func isTime(v jsonscan.Value) bool {
	_, err := time.Parse(time.RFC3339, string(v.AppendText(nil)))
	return err == nil
}

// formed is the definition without the members that clients could not read; null is what is not
// there, and all else is noted.
func (a *acceptor) formed(f *form, definition jsonscan.Value) jsonscan.Value {
	out, _ := a.appendFormed(make([]byte, 0, len(definition.Raw())), f, definition, a.at)
	return jsonscan.Trusted(out)
}

// appendFormed reports false, and appends nothing, for what is to be left out.
func (a *acceptor) appendFormed(dst []byte, f *form, v jsonscan.Value, at string) ([]byte, bool) {
	kind, mark := v.Kind(), len(dst)
	switch {
	case f == nil:
		return append(dst, v.Raw()...), true
	case kind == jsonscan.Null:
		return dst, false
	case f.kind != jsonscan.Missing && f.kind != kind, f.fits != nil && !f.fits(v):
		a.misfit(at, v)
		return dst, false
	case kind == jsonscan.Array && f.each != nil:
		return a.appendFormedList(dst, f.each, v, at), true
	case kind != jsonscan.Object || f.members == nil && !f.schemas:
		return append(dst, v.Raw()...), true
	}
	dst = append(dst, '{')
	had := f.needs == ""
	for m := v.Members(); m.Next(); {
		before, name := len(dst), string(m.KeyText(nil))
		dst = jsonscan.AppendKey(dst, mark+1, m.Key())
		if f.schemas {
			dst = a.appendProperty(dst, m.Value(), at+"/"+pointerToken.Replace(name))
			continue
		}
		var kept bool
		if dst, kept = a.appendFormed(dst, f.members[name], m.Value(), at+"/"+name); !kept {
			dst = dst[:before]
		}
		had = had || kept && name == f.needs
	}
	if !had {
		a.misfit(at, v)
		return dst[:mark], false
	}
	return append(dst, '}'), true
}

func (a *acceptor) appendFormedList(dst []byte, f *form, v jsonscan.Value, at string) []byte {
	dst = append(dst, '[')
	mark, i := len(dst), 0
	for e := v.Elements(); e.Next(); i++ {
		before := len(dst)
		if before > mark {
			dst = append(dst, ',')
		}
		var kept bool
		if dst, kept = a.appendFormed(dst, f, e.Value(), at+"/"+strconv.Itoa(i)); !kept {
			dst = dst[:before]
		}
	}
	return append(dst, ']')
}

// appendProperty appends the schema of a property, which clients want to be an object.
func (a *acceptor) appendProperty(dst []byte, v jsonscan.Value, at string) []byte {
	switch v.Kind() {
	case jsonscan.Object:
		return append(dst, v.Raw()...)
	case jsonscan.Bool:
		if anything, _ := v.Bool(); !anything {
			return append(dst, `{"not":{}}`...)
		}
	case jsonscan.Null:
	default:
		a.misfit(at, v)
	}
	return append(dst, '{', '}')
}

var pointerToken = strings.NewReplacer("~", "~0", "/", "~1") // RFC 6901

func (a *acceptor) misfit(at string, v jsonscan.Value) {
	a.note(CodeMalformed, textfilter.Visible(at, 2*MaxServerTitle), "it is left out, because clients would refuse the whole list for it; ask the server's operator to correct it",
		"not as MCP has it: %s", textfilter.Visible(string(v.Raw()), MaxServerTitle))
}
