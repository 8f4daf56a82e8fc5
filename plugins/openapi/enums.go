package openapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Bounds of what is said of the values of an enum, in bytes.
const (
	maxMeanings = 300 // of all
	maxLabel    = 80  // of one
)

// enum writes the values of a text, or names the first of them when there are too
// many. Function calling of Gemini refuses enums of anything but texts, and empty
// texts in them: those are said in words.
func (p *publisher) enum(s *schema) (notes []string) {
	if s.types != operation.TypeString {
		return append(notes, p.listed(s))
	}
	start := len(p.b)
	p.b = append(p.b, `"enum":[`...)
	open := len(p.b)
	n, empty := 0, false
	for _, e := range s.enum {
		if n++; n > maxEnumValues || len(p.b)-open > maxEnumBytes {
			p.b = p.b[:start]
			return append(notes, p.listed(s))
		}
		was := len(p.b)
		if was > open {
			p.b = append(p.b, ',')
		}
		from := len(p.b)
		p.b = appendLiteral(p.b, e, s.types)
		if string(p.b[from:]) == `""` {
			p.b, empty = p.b[:from], true
		}
		if len(p.b) == from {
			p.b = p.b[:was]
		}
	}
	if len(p.b) == open {
		p.b = p.b[:start]
		if empty {
			notes = append(notes, "Only empty.")
		}
		return notes
	}
	p.b = append(p.b, `],`...)
	if text := s.meaningsText(); text != "" {
		notes = append(notes, text)
	}
	if empty {
		notes = append(notes, "May be empty.")
	}
	return notes
}

// listed names the values in words: all of them when they are few, with their
// names where the author gives these.
func (p *publisher) listed(s *schema) string {
	var names []string
	shown := s.enum
	most := maxListedEnum
	if s.types != operation.TypeString {
		most = maxEnumValues
	}
	if len(shown) > most {
		shown = shown[:maxListedEnum]
	}
	for i, e := range shown {
		text := cutText(e.text(), 40)
		if e.is("") {
			text = `""`
		}
		if label := s.label(i); label != "" && !sameWords(label, text) {
			text += " (" + label + ")"
		}
		names = append(names, text)
	}
	list := "One of " + cutText(strings.Join(names, ", "), maxMeanings)
	if len(shown) == len(s.enum) {
		if len(names) == 1 {
			return "Only " + names[0] + "."
		}
		return list + "."
	}
	return list + ", … (" + strconv.Itoa(len(s.enum)) + " values)."
}

// label is what the author calls value i: its name or its meaning, whichever is
// given; of a text, whose name says nothing new, the meaning.
func (s *schema) label(i int) string {
	if i < len(s.titles) {
		return s.titles[i]
	}
	order := [...]value{s.labels, s.meanings}
	if s.types == operation.TypeString {
		order = [...]value{s.meanings, s.labels}
	}
	for _, v := range order {
		text := ""
		switch {
		case v.isArray() && v.size() == len(s.enum):
			text = v.element(i).str()
		case v.isObject():
			text = v.get(s.enum[i].text()).str()
		}
		if text = plain(text); text != "" {
			return cutWords(firstSentences(text, maxLabel), maxLabel)
		}
	}
	return ""
}

// meaningsText says what the values mean where the author does and there is room.
func (s *schema) meaningsText() string {
	if !s.labels.exists() && !s.meanings.exists() && len(s.titles) == 0 {
		return ""
	}
	var parts []string
	size := 0
	for i, e := range s.enum {
		label := s.label(i)
		if label == "" || sameWords(label, e.text()) {
			continue
		}
		part := cutText(e.text(), 40) + ": " + strings.TrimSuffix(label, ".")
		if size += len(part) + 2; size > maxMeanings {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// sameWords reports that one text says no more than the other: "In Progress" and
// IN_PROGRESS.
func sameWords(a, b string) bool { return slices.Equal(wording.Split(a), wording.Split(b)) }
