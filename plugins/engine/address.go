package engine

import (
	"bytes"
	"slices"
	"strings"
)

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

// askedBytes: bytes of a word that is looked for among askedWords.
const askedBytes = 16

// askedWords are words of names whose addresses people open, send on, fetch a file from or
// have set themselves, by their first letters; docs/response-programs.md §1 lists them.
var askedWords = func() map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(AskedWords) {
		m[w] = struct{}{}
	}
	return m
}()

// AskedWords are the words that [Asked] looks for, with white space between.
const AskedWords = `
	accept acs activate activation answer approval approve artifact artifacts artwork attachment audience audio authorization
	badge banner barcode base booking browser
	calendar callback cancellation canonical captions checkout clone conference confirm confirmation console content cover csv
	dash dashboard data decline destination details dial dialin docs document documentation download dsn
	embed endpoint epub esign export external
	failover fallback faq feed file files final form forum
	gif guide
	hangout hangup health help hls homepage hook hosted html
	ical identifier image ingest install installer invitation invite invoice iss issuer
	join jpeg jpg json jwks
	label license location log login logo logout logs long
	m3u8 manifest manual media meet meeting metadata mp3 mp4 mpd
	namespace next notification
	oauth ogg openapi original
	pay payment pdf permalink permanent photo picture play playback player png policy poll polling portal poster presigned preview privacy proof public put
	qr qrcode
	raw receipt recording recordings recovery redirect register registration registry report reschedule reset restore result results return ring room rss rtmp runbook
	saml screenshot session setup share shared short sign signature signed signin signing signon signup slo source srt sso start status stream subtitles success support svg system
	tarball target terms thumb thumbnail thumbnails thumbs token tracking transcript tutorial
	ui unsubscribe upload userinfo
	verification verify video vtt
	watch wav web webhook webm webpage website webui whep whip wiki
	xlsx xml
	zip zipball zpl
`

// wayWords are words of names that lead around in an API.
var wayWords = strings.Fields("api association avatar collection curies edit favicon first gravatar icon index last list navigation odata page parent prev previous related resource self up")

// A said is what the name of an address says of it.
type said int

const (
	saysNothing said = iota
	saysOwn          // which one it is, and not that it leads around in an API
	saysAsked        // that people ask for it
)

// Asked tells whether a name has a word that says that its address is what people ask for:
// recording_url, answerUrl. Words end at what is no letter or digit and in front of
// capitals: PDFUrl has two.
func Asked[T string | []byte](name T) bool { return nameSays(name) == saysAsked }

// Own tells whether a name says more than that it is an address, and leads to no other part of
// an API: agent_url, and not url, selfUrl or comments_url. An asked one is its own, too.
func Own[T string | []byte](name T) bool { return nameSays(name) != saysNothing }

func nameSays[T string | []byte](name T) said {
	var memory [askedBytes]byte
	word, size := memory[:0], 0 // of the word, and how long it is
	count, way := 0, false
	many, before := false, false // the word that ended last is that of many; the one before it
	ends := func() bool {
		if size == 0 {
			return false
		}
		_, ok := askedWords[string(word)]
		ok = ok && size <= askedBytes
		way = way || size <= askedBytes && slices.Contains(wayWords, string(word))
		before, many = many, size <= askedBytes && plural(word)
		count++
		word, size = memory[:0], 0
		return ok
	}
	capital := false // the one before
	for i := range len(name) {
		c := name[i]
		upper, lower := c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80
		small := i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z'
		if (!upper && !lower || upper && (!capital || small)) && ends() {
			return saysAsked
		}
		if capital = upper; upper {
			c |= 0x20
		}
		if upper || lower {
			if size++; size <= askedBytes {
				word = append(word, c)
			}
		}
	}
	switch {
	case ends():
		return saysAsked
	case count > 1 && !way && !before:
		return saysOwn
	}
	return saysNothing
}

// plural tells whether a word is that of many: events, and not status, access or sms.
func plural(word []byte) bool {
	n := len(word)
	return n >= 4 && word[n-1] == 's' && word[n-2] != 's' && word[n-2] != 'u' && word[n-2] != 'i'
}
