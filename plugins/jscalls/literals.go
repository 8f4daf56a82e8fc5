package jscalls

import (
	"encoding/json"
	"strings"
)

// Replace puts name in the place of each literal of a value in a script: a string, in
// whatever quotes, a number, true, false. count is how many there were.
func Replace(code string, value json.RawMessage, name string) (out string, count int) {
	var want string
	isText := json.Unmarshal(value, &want) == nil
	if !isText {
		want = string(value)
	}
	var b strings.Builder
	last := 0
	put := func(from, to int) {
		b.WriteString(code[last:from])
		b.WriteString(name)
		last, count = to, count+1
	}
	s := scan(code, 0, len(code))
	r := &reading{code: code, tokens: s.tokens}
	for i, t := range s.tokens {
		end := len(code)
		if i+1 < len(s.tokens) {
			end = s.tokens[i+1].offset
		}
		switch literal := strings.TrimSpace(code[t.offset:end]); {
		case isText && t.kind == text && t.text == want && !r.is(i+1, ":") && !r.is(i-1, "["):
			put(t.offset, t.offset+len(want)+2)
		case isText && t.kind == other && strings.HasPrefix(literal, "`"+want+"`"):
			put(t.offset, t.offset+len(want)+2)
		case !isText && (t.kind == other || t.kind == word) && strings.HasPrefix(literal, want) && !r.is(i-1, ".", "?.") && !r.is(i+1, ":"):
			if behind := code[t.offset+len(want):]; behind == "" || !isName(rune(behind[0])) && behind[0] != '.' {
				put(t.offset, t.offset+len(want))
			}
		}
	}
	b.WriteString(code[last:])
	return b.String(), count
}
