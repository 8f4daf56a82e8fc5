package engine

import "bytes"

// maxSegments: segments of a path in which APIs have their version. Behind them a
// "v2" is rather the name of something.
const maxSegments = 3

// forPrograms tells whether a URL between the quotes of a string, which isURL
// accepted, is one that programs follow and people do not open: a template, the
// address of an API, the picture of a person (docs/response-programs.md §1). A brace
// in the host makes no template: documents write it where each customer has a host.
func forPrograms(raw []byte) bool {
	raw = raw[bytes.IndexByte(raw, ':')+1:]
	for range 2 {
		if raw[0] == '\\' {
			raw = raw[1:]
		}
		raw = raw[1:]
	}
	n := hostEnd(raw)
	host, rest := raw[:n], raw[n:]
	if bytes.ContainsAny(rest, "{}") {
		return true
	}
	for _, w := range [...]string{"doc", "develop", "help", "support"} {
		if bytes.HasPrefix(host, []byte(w)) {
			return false
		}
	}
	word := 0
	for i := 0; i <= len(host); i++ {
		if i < len(host) && host[i] != '.' && host[i] != '-' && host[i] != ':' {
			continue
		}
		w := host[word:i]
		if string(w) == "api" || bytes.HasPrefix(w, []byte("avatar")) || bytes.HasPrefix(w, []byte("gravatar")) {
			return true
		}
		word = i + 1
	}
	return apiPath(rest)
}

// addressNames are ends of names that say that the value is an address, and not the
// thing itself, or which way it leads: each of at most 8 bytes.
var addressNames = [...]string{"url", "urls", "uri", "uris", "iri", "href", "hrefs", "link", "links", "self", "ref", "@id", "first", "last", "prev", "previous", "parent", "avatar", "icon"}

// addressName tells whether a decoded name ends as one that says so.
func addressName(name []byte) bool {
	if len(name) > MaxName {
		return false
	}
	for _, w := range addressNames {
		n := len(name) - len(w)
		if n < 0 {
			continue
		}
		same := true
		for i := range len(w) {
			c := name[n+i]
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			same = same && c == w[i]
		}
		if same {
			return true
		}
	}
	return false
}

// hostEnd is where a host or a segment of a path ends. A backslash is in front of
// a slash.
func hostEnd(b []byte) int {
	for i, c := range b {
		if c == '/' || c == '\\' || c == '?' || c == '#' {
			return i
		}
	}
	return len(b)
}

// apiPath tells whether a path, with what is behind it, is that of an API.
func apiPath(b []byte) bool {
	api := false // the segment before is "api"
	for k := 1; ; k++ {
		if len(b) > 0 && b[0] == '\\' {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != '/' {
			return false
		}
		b = b[1:]
		n := hostEnd(b)
		s := b[:n]
		b = b[n:]
		last := len(b) == 0 || b[0] != '/' && b[0] != '\\'
		if last && bytes.HasSuffix(s, []byte(".json")) {
			return true
		}
		if k > maxSegments {
			if last {
				return false
			}
			continue
		}
		switch string(s) {
		case "_apis":
			return true
		case "api", "rest":
			if k == 1 || api {
				return true
			}
			api = true
			continue
		}
		if !last && version(s, api) {
			return true
		}
		api = false
	}
}

// version tells whether a segment is the version of an API: v1, v2.0, v1beta1, and
// behind "api" also 3 or 1.0.
func version(s []byte, api bool) bool {
	i := 0
	if len(s) > 0 && s[0] == 'v' {
		i = 1
	} else if !api {
		return false
	}
	from := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i > from && i <= from+2 && len(s) <= 8 && (i == len(s) || s[i] == '.' || s[i] >= 'a' && s[i] <= 'z')
}
