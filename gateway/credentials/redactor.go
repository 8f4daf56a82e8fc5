package credentials

import (
	"bytes"
	"cmp"
	"encoding/binary"
	stdhex "encoding/hex"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// maxKept redactors are held, and as many that were used before those: the
	// credentials of the toolsets and callers that are called at a time.
	maxKept = 1024
	// maxKeptBytes of secrets are held, likewise: an access token may have some kilobytes.
	// A redactor has thirty kilobytes beside its secret, and seventy times of it once the
	// secret was in an answer.
	maxKeptBytes = 512 << 10
)

// Redactors keeps what is searched for of the credentials that were used last, so that
// it is worked out once for each value. The zero Redactors is empty. It is safe for
// concurrent use.
type Redactors struct {
	mu     sync.RWMutex
	recent map[redactorKey]*redactor // guarded by mu
	older  map[redactorKey]*redactor // guarded by mu; what is used of it becomes recent again
	size   int                       // guarded by mu; bytes of the secrets in recent
}

// redactorKey has the value itself, because versions are counted for each credential
// and each caller.
type redactorKey struct {
	basic bool
	value string
}

// Prepare returns c, which goes where r says, so that [Rule.Redact] with it is fast.
func (rs *Redactors) Prepare(r Rule, c Credential) Credential {
	if !r.sends() || c.Value.IsZero() {
		return c
	}
	key := redactorKey{r.Type == Basic, c.Value.Reveal()}
	rs.mu.RLock()
	c.redactor = rs.recent[key]
	rs.mu.RUnlock()
	if c.redactor != nil {
		return c
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if c.redactor = rs.recent[key]; c.redactor != nil { // another call was faster
		return c
	}
	if c.redactor = rs.older[key]; c.redactor == nil {
		c.redactor = newRedactor(r.Type, c.Value)
	}
	if len(rs.recent) >= maxKept || rs.size+len(key.value) > maxKeptBytes {
		rs.older, rs.recent, rs.size = rs.recent, nil, 0
	}
	if rs.recent == nil {
		rs.recent = make(map[redactorKey]*redactor)
	}
	rs.recent[key] = c.redactor
	rs.size += len(key.value)
	return c
}

// redactor finds one credential in text. It is immutable but for the forms, which are
// made when the first text has the credential.
type redactor struct {
	secrets [][]byte // of Basic there are two
	long    grams    // of the probes that are long enough
	short   [][]byte // the other probes, in small letters

	once   sync.Once
	groups [][]form // guarded by once; one for each secret
}

// form is one way to write a secret.
type form struct {
	text []byte
	// fold says that letters of any case are meant; text is in small ones then.
	fold bool
	// probe is the longest run of letters and digits in text. Few encodings change them,
	// so what is without the probe is without the secret, but for those that follow.
	probe []byte
	// escaped is what probe is where letters are escaped as well, in small letters.
	escaped [][]byte
}

const (
	// minGrams is the shortest probe that is found by its grams: with a shorter one nearly
	// every byte would be looked at.
	minGrams = 8
	// probeBytes bytes of a probe tell that it is there; a token has kilobytes.
	probeBytes = 64
)

func newRedactor(t Type, value secrets.Secret) *redactor {
	r := &redactor{}
	if t == Basic {
		r.add(appendBasic(nil, value))
		if _, password, ok := strings.Cut(value.Reveal(), ":"); ok {
			r.add([]byte(password))
		}
	} else {
		r.add([]byte(value.Reveal()))
	}
	var long [][]byte
	for _, secret := range r.secrets {
		for _, f := range forms(secret) {
			for _, p := range append(f.escaped, f.probe) {
				if p = lowered(p[:min(len(p), probeBytes)]); len(p) >= minGrams {
					long = append(long, p)
				} else {
					r.short = append(r.short, p)
				}
			}
		}
	}
	r.long = newGrams(long)
	return r
}

func (r *redactor) add(secret []byte) {
	if len(secret) >= minRedact {
		r.secrets = append(r.secrets, secret)
	}
}

// forms are the ways to write a secret.
func forms(secret []byte) []form {
	small, digits := lowered(secret), stdhex.AppendEncode(nil, secret)
	back := slices.Clone(small)
	slices.Reverse(back)
	backProbe := longestPlain(back)
	if len(backProbe) < minGrams {
		backProbe = back // as it is: one more short probe makes all answers slow
	}
	all := []form{
		{small, true, longestPlain(small), escapes(secret)},
		{back, true, backProbe, nil},
		{digits, true, longestPlain(digits), nil},
	}
	add := func(text []byte, fold bool) {
		if len(text) >= minRedact {
			all = append(all, form{text, fold, longestPlain(text), nil})
		}
	}
	// What is encoded twice is looked for where that costs nothing: short probes make all
	// answers slow.
	twice := func(text []byte, fold bool) {
		if len(longestPlain(text)) >= minGrams {
			add(text, fold)
		}
	}
	for i := range listFormats {
		text := listFormats[i].list(secret)
		all = append(all, form{text, true, text[:min(len(text), probeBytes)], nil})
	}
	for skip := range 5 {
		text := appendInner32(nil, secret, skip)
		add(lowered(text), true)
		add(lowered(extended32(text)), true)
	}
	for _, url := range []bool{false, true} {
		for skip := range 3 {
			once := appendInner(nil, secret, skip, url)
			if len(once) == 0 {
				continue
			}
			add(once, false)
			for skip := range 3 { // base64 of letters is the same in the alphabet of URLs
				add(appendInner(nil, once, skip, false), false)
			}
			twice(stdhex.AppendEncode(nil, once), true)
			back := slices.Clone(once)
			slices.Reverse(back)
			twice(back, false)
		}
	}
	mirrored := slices.Clone(secret)
	slices.Reverse(mirrored)
	wide := wideChars(secret)
	twice(stdhex.AppendEncode(nil, wide), true)
	inside := [][]byte{digits, mirrored, wide}
	if text := inString(secret); len(text) > len(secret) {
		inside = append(inside, text)
	}
	for _, text := range inside {
		for _, url := range []bool{false, true} {
			for skip := range 3 {
				twice(appendInner(nil, text, skip, url), false)
			}
		}
	}
	return all
}

// wideChars is what an ASCII text is in UTF-16 of either byte order, which Windows encodes in
// base64: from the first byte that is not 0 to the last one.
func wideChars(text []byte) []byte {
	wide := make([]byte, 0, 2*len(text))
	for _, c := range text {
		wide = append(wide, c, 0)
	}
	return wide[:max(0, len(wide)-1)]
}

// inString is a text in a string of JSON.
func inString(text []byte) []byte {
	b, _ := json.Marshal(string(text)) // a string can always be written
	return b[1 : len(b)-1]
}

// extended32 is text of base32 in the other alphabet of RFC 4648, §7.
func extended32(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		if c >= 'A' {
			out[i] = extended[c-'A']
		} else {
			out[i] = extended[c-'2'+26]
		}
	}
	return out
}

const extended = "0123456789ABCDEFGHIJKLMNOPQRSTUV"

// listFormats are ways to write the bytes of a secret as a list of numbers; what is in
// front of the first of them does not matter.
var listFormats = [...]written{
	{":", 16, 2, ""}, {" ", 16, 2, ""}, {",0x", 16, 2, ""}, {", 0x", 16, 2, ""}, {" 0x", 16, 2, ""}, {",", 10, 1, ""}, {", ", 10, 1, ""}, {" ", 10, 1, ""},
}

// list is a list of bytes.
func (w *written) list(bytes []byte) []byte {
	out := make([]byte, 0, len(bytes)*(len(w.before)+3))
	for _, c := range bytes {
		out = w.append(out, c)
	}
	return out[len(w.before):]
}

// redact replaces the secrets in all the ways they are written. Nearly always there is
// none, and one walk tells.
func (r *redactor) redact(body []byte) []byte {
	if len(body) < minRedact || !r.meets(body) {
		return body
	}
	for _, g := range r.forms() {
		for i := range g {
			body = g[i].redact(body)
		}
	}
	return body
}

// forms are the ways to write each of the secrets.
func (r *redactor) forms() [][]form {
	r.once.Do(func() {
		for _, secret := range r.secrets {
			r.groups = append(r.groups, forms(secret))
		}
	})
	return r.groups
}

// spans appends where body has the secrets, in no order.
func (r *redactor) spans(dst []span, body []byte) []span {
	if len(body) < minRedact || !r.meets(body) {
		return dst
	}
	for _, g := range r.forms() {
		for i := range g {
			dst = g[i].spans(dst, body)
		}
	}
	return dst
}

// meets reports whether any probe is in body.
func (r *redactor) meets(body []byte) bool {
	for _, p := range r.short {
		if containsFold(body, p) {
			return true
		}
	}
	return r.long.in(body)
}

const (
	// gramBytes are looked at in one step.
	gramBytes = 4
	// maxStride is the longest step: longer ones save little and make the table longer.
	maxStride = 16
	// smallBits makes four letters small and leaves digits as they are. Of other
	// characters it makes others, which prefixFold tells apart.
	smallBits = 0x20202020
	// bitsPerGram keep the table nearly empty, so that few steps need a look.
	bitsPerGram = 32
	// startBits of a hash lead to a handful of grams.
	startBits = 8
)

// grams finds out whether any of some probes is in a text. Wherever a probe stands, a
// place that is a multiple of the stride begins a gram of four bytes inside of it, so
// only those places are looked at. Probes are in small letters; text may have any.
type grams struct {
	stride int      // 0: there is no probe
	shift  uint     // from a hash to a place in table
	table  []uint64 // a bit for each hash of a gram
	list   []gram   // by hash, those of the same text together
	starts []uint16 // where in list the hashes begin that begin with these startBits
	probes [][]byte
}

// gram is where four bytes are in a probe.
type gram struct {
	text  uint32
	probe uint16
	at    uint8
}

func newGrams(probes [][]byte) grams {
	if len(probes) == 0 {
		return grams{}
	}
	slices.SortFunc(probes, bytes.Compare)
	g := grams{stride: maxStride, probes: slices.CompactFunc(probes, bytes.Equal)}
	for _, p := range g.probes {
		g.stride = min(g.stride, len(p)-gramBytes+1)
	}
	width := bits.Len(uint(len(g.probes)*g.stride*bitsPerGram - 1))
	g.shift, g.table = uint(32-width), make([]uint64, 1<<(width-6))
	for i, p := range g.probes {
		for at := range g.stride {
			t := binary.LittleEndian.Uint32(p[at:]) | smallBits
			g.list = append(g.list, gram{t, uint16(i), uint8(at)})
			h := hash(t) >> g.shift
			g.table[h>>6] |= 1 << (h & 63)
		}
	}
	slices.SortFunc(g.list, func(a, b gram) int {
		return cmp.Or(cmp.Compare(hash(a.text), hash(b.text)), cmp.Compare(a.probe, b.probe))
	})
	g.starts = make([]uint16, 1<<startBits+1)
	for _, x := range g.list {
		g.starts[hash(x.text)>>(32-startBits)+1]++
	}
	for i := range 1 << startBits {
		g.starts[i+1] += g.starts[i]
	}
	return g
}

// hash spreads four bytes over 32 bits (Fibonacci hashing).
func hash(t uint32) uint32 { return t * 0x9e3779b1 }

// in reports whether any of the probes is in body.
func (g *grams) in(body []byte) bool {
	if g.stride == 0 {
		return false
	}
	table, shift, stride := g.table, g.shift&31, g.stride
	for i := 0; i <= len(body)-gramBytes; i += stride {
		t := binary.LittleEndian.Uint32(body[i:]) | smallBits
		h := hash(t) >> shift
		if table[h>>6]>>(h&63)&1 != 0 && g.at(body, i, t) {
			return true
		}
	}
	return false
}

// at reports whether a probe has t, which is at body[i:], where the rest of it stands in
// body, too.
func (g *grams) at(body []byte, i int, t uint32) bool {
	h := hash(t) >> (32 - startBits)
	for _, x := range g.list[g.starts[h]:g.starts[h+1]] {
		if at := int(x.at); x.text == t && at <= i && prefixFold(body[i-at:], g.probes[x.probe]) {
			return true
		}
	}
	return false
}
