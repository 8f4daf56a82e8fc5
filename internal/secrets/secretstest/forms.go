package secretstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// MinLength of a secret that can be searched for: parts of a shorter one would be
// found in ordinary text.
const MinLength = 9

// word is a machine word, as a stack trace prints arguments.
const word = 8

// Forms are the texts a secret could be written down as, by the form's name. It
// panics when the secret is shorter than [MinLength]: a search for it would prove
// nothing.
func Forms(secret string) map[string]string {
	if len(secret) < MinLength {
		panic(fmt.Sprintf("BUG: a secret of %d bytes cannot be searched for", len(secret)))
	}
	b := []byte(secret)
	out := map[string]string{
		"plain": secret, "hex": hex.EncodeToString(b), "HEX": strings.ToUpper(hex.EncodeToString(b)), "url": url.QueryEscape(secret), "path": url.PathEscape(secret),
	}
	if utf8.ValidString(secret) {
		text, err := json.Marshal(secret)
		if err != nil {
			panic("BUG: a string is not JSON: " + err.Error())
		}
		out["json"] = string(text[1 : len(text)-1])
	}
	for i := range 3 { // of a part of a longer text, at each of the three alignments
		part := b[i : i+(len(b)-i)/3*3]
		out["base64 at "+string(rune('0'+i))] = base64.StdEncoding.EncodeToString(part)
		out["base64url at "+string(rune('0'+i))] = base64.URLEncoding.EncodeToString(part)
	}
	for i := 0; i+word <= len(b); i += word { // an array that was passed by value
		out[fmt.Sprint("word at ", i)] = fmt.Sprintf("0x%x", binary.LittleEndian.Uint64(b[i:]))
	}
	return out
}

// Find returns the names of the forms of secret that are in text, sorted; nil when
// there is none.
func Find(text []byte, secret string) []string {
	var found []string
	for name, form := range Forms(secret) {
		if bytes.Contains(text, []byte(form)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// Search is Find for many secrets by their names, in one text; each finding reads
// "NAME (FORM, FORM)".
func Search(text []byte, named map[string]string) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if forms := Find(text, named[name]); forms != nil {
			found = append(found, name+" ("+strings.Join(forms, ", ")+")")
		}
	}
	return found
}
