package answers

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sluicegate/sluice/gateway/compress"
)

// Decode returns the JSON that an answer stands for, and the lines behind it
// that are notes to the agent. Table text is never valid JSON; TOON is table text
// only where both stand for the same.
func Decode(text []byte) (doc []byte, notes []string, err error) {
	text = bytes.TrimSuffix(text, []byte{'\n'})
	for {
		doc, failed := decodeText(text)
		if failed == nil {
			return doc, notes, nil
		}
		if err == nil {
			err = failed // of the whole text
		}
		cut := bytes.LastIndexByte(text, '\n')
		if line := text[cut+1:]; cut < 0 || !isNote(line) {
			return nil, nil, err
		}
		notes = slices.Insert(notes, 0, string(text[cut+1:]))
		text = text[:cut]
	}
}

func decodeText(text []byte) ([]byte, error) {
	if json.Valid(text) {
		return text, nil
	}
	doc, err := compress.DecodeTable(nil, text)
	if err == nil {
		return doc, nil
	}
	if looksTOON(text) {
		return compress.DecodeTOON(nil, text)
	}
	return nil, err
}

// looksTOON tells TOON from damaged table text, much of which TOON's decoder would
// take for comments and strings: there is no type in front, and what follows the
// first colon outside quotes is a blank, the end of the line or of a header.
func looksTOON(text []byte) bool {
	if len(text) > 0 && text[0] == '#' {
		return false
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted || c != ':':
		case i+1 == len(line):
			return true
		default:
			return bytes.IndexByte([]byte(" ]|\t\r"), line[i+1]) >= 0
		}
	}
	return true
}

// noteStarts are how the lines begin that the gateway writes behind an answer.
var noteStarts = []string{"[items ", "[members ", "[lines ", "[no ", "[nothing beyond ", "[cut: ", "[next page: ", "[left out: ", "[headers: ", "[the stream goes on"}

func isNote(line []byte) bool {
	return bytes.HasSuffix(line, []byte{']'}) && slices.ContainsFunc(noteStarts, func(s string) bool { return bytes.HasPrefix(line, []byte(s)) })
}
