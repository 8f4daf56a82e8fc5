package media

import "bytes"

// guards are what APIs write in front of JSON so that a page of another site that loads the
// answer as a script gets none of it. White space may stand in them and behind them.
var guards = [...]string{
	")]}',", ")]}'", // Gerrit, Angular
	"while(1);", "while(true);", "for(;;);", // an endless loop
	"throw1;<don'tbeevil'>", "throw1;<don'tbeevil>", "throw1;",
	"{}&&", "&&&START&&&",
}

// maxGuard is how far a guard is looked for, white space included.
const maxGuard = 64

// Bare is an answer that its Content-Type calls JSON, as what it is: without a guard in front
// of it, and, where one document stands on each line, with the type of a stream of them. Any other
// answer stays as it is. Behind a guard an object or an array must begin.
func Bare(contentType, body []byte) (kind, bare []byte) {
	start := bytes.TrimLeft(body[:min(len(body), maxGuard)], blanks)
	if len(start) == 0 || start[0] == '[' || KindOf(contentType, nil, false) != JSON {
		return contentType, body
	}
	if start[0] == '{' && !bytes.HasPrefix(start, []byte("{}")) {
		if lines(body) {
			return typeLines, body
		}
		return contentType, body
	}
	for _, guard := range guards {
		n, ok := skip(body, guard)
		if !ok {
			continue
		}
		if rest := bytes.TrimLeft(body[n:min(len(body), n+maxGuard)], blanks); len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') {
			return contentType, body[n:]
		}
	}
	return contentType, body
}

var typeLines = []byte("application/x-ndjson")

// lines reports whether a text that begins as an object does has another one on its second line:
// between the end of an object and the start of the next, one document has a comma.
func lines(text []byte) bool {
	first, rest, more := bytes.Cut(text, []byte("\n"))
	first, rest = bytes.TrimRight(first, blanks), bytes.TrimLeft(rest[:min(len(rest), maxGuard)], blanks)
	return more && bytes.HasSuffix(first, []byte("}")) && bytes.HasPrefix(rest, []byte("{"))
}

// skip is how many bytes of text hold word, with any white space in it.
func skip(text []byte, word string) (n int, ok bool) {
	i := 0
	for n < min(len(text), maxGuard) && i < len(word) {
		switch c := text[n]; {
		case c == word[i]:
			i++
		case bytes.IndexByte([]byte(blanks), c) < 0:
			return 0, false
		}
		n++
	}
	return n, i == len(word)
}
