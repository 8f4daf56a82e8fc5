package media

import (
	"bytes"
	"html"
)

// AppendHTMLText appends the readable text of a web page: no tags, scripts,
// styles or comments, entities resolved, white space joined. It is not a parser:
// it is meant for error pages, never fails and looks at each byte once.
func AppendHTMLText(dst, page []byte) []byte {
	mark := len(dst)
	for len(page) > 0 {
		i := bytes.IndexByte(page, '<')
		if i < 0 {
			i = len(page)
		}
		dst = appendWords(dst, mark, page[:i])
		page = page[i:]
		if len(page) == 0 {
			break
		}
		page = page[skipTag(page):]
		if len(dst) > mark && dst[len(dst)-1] != ' ' {
			dst = append(dst, ' ')
		}
	}
	return bytes.TrimRight(dst, " ")
}

// skipTag is the length of the tag, comment or element without text that page,
// which starts with "<", begins with.
func skipTag(page []byte) int {
	if bytes.HasPrefix(page, []byte("<!--")) {
		if i := bytes.Index(page, []byte("-->")); i >= 0 {
			return i + 3
		}
		return len(page)
	}
	end := bytes.IndexByte(page, '>')
	if end < 0 {
		return len(page)
	}
	for _, name := range [...]string{"script", "style", "svg", "noscript", "template"} {
		if len(page) <= len(name)+1 || !bytes.EqualFold(page[1:1+len(name)], []byte(name)) {
			continue
		}
		if c := page[1+len(name)]; c != '>' && c != ' ' && c != '\n' && c != '\t' {
			continue
		}
		rest := page[end+1:]
		for at := 0; ; {
			i := bytes.Index(rest[at:], []byte("</"))
			if i < 0 {
				return len(page)
			}
			at += i + 2
			if len(rest)-at >= len(name) && bytes.EqualFold(rest[at:at+len(name)], []byte(name)) {
				tail := bytes.IndexByte(rest[at:], '>')
				if tail < 0 {
					return len(page)
				}
				return end + 1 + at + tail + 1
			}
		}
	}
	return end + 1
}

// appendWords appends text with entities resolved and white space joined.
func appendWords(dst []byte, mark int, text []byte) []byte {
	if bytes.IndexByte(text, '&') >= 0 {
		text = []byte(html.UnescapeString(string(text)))
	}
	for i, word := range bytes.Fields(text) {
		space := i > 0 || text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r'
		if space && len(dst) > mark && dst[len(dst)-1] != ' ' {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
	}
	if n := len(text); n > 0 && len(dst) > mark && (text[n-1] == ' ' || text[n-1] == '\n') && dst[len(dst)-1] != ' ' {
		dst = append(dst, ' ')
	}
	return dst
}
