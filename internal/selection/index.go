package selection

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// Tool is what is known of a tool before it is called.
type Tool struct {
	Name        string
	Title       string
	Description string
	Params      []Param
	Tags        []string
	Method      string // HTTP method, where there is one
	Path        string // path template, where there is one
	Server      string // name of the service
	ServerText  string // what the service is
	Examples    []Example
}

// Param is an argument of a tool.
type Param struct {
	Name, Description string
	Required          bool
}

// The fields of BM25F, with their weights. The weights were chosen on the public
// sets with one group of sets left out at a time (docs/selection.md).
const (
	fieldName = iota
	fieldDescription
	fieldServer
	fieldParamNames
	fieldParamTexts
	fieldPath
	fieldAsked
	fieldMore // of a description, what follows its first sentence
	fields
)

var fieldWeight = [fields]float32{fieldName: 2, fieldDescription: 1, fieldServer: .5, fieldParamNames: .4, fieldParamTexts: .2, fieldPath: .4, fieldAsked: .6, fieldMore: .6}

const (
	bm25K1 = 1.0
	bm25B  = 0.75
	// maxDescription bounds the text of a description that is looked at, in bytes.
	maxDescription = 2000
	// n-grams are hashed to 2^minGramBits buckets in a small catalogue, where they
	// would be most of the index, and to 2^maxGramBits in a large one.
	minGramBits = 16
	maxGramBits = 18
)

// The weight of a bucket while an index is built: in tenths, which all weights of
// fields are multiples of.
const (
	gramWeightBits = 32 - maxGramBits
	gramWeightUnit = 10
)

// gramBitsFor is the logarithm of the number of buckets for n tools.
func gramBitsFor(n int) uint {
	switch {
	case n <= 256:
		return minGramBits
	case n <= 1024:
		return minGramBits + 1
	}
	return maxGramBits
}

// Index is the searchable form of a list of tools.
type Index struct {
	n       int
	terms   dict // stem → term
	surface dict // word as written → term, -1 for stop words
	idf     []float32
	starts  []uint32 // by term, one more than terms
	docs    []uint32
	weight  []float32 // of the term in the document, already normalised by length

	gramBits  uint     // logarithm of the number of buckets
	gramStart []uint32 // by bucket, one more than buckets
	gramDocs  []uint32
	gramW     []uint16 // share of the document's length, in units of 1/65535

	vectors   []int8    // n × dim, of length 127; zero where a tool has no known word
	common    []float32 // of each vector with the mean of all: how usual a tool is
	apart     []float32 // one over the distance of each vector from the mean of all
	meanNorm  float32   // square of the length of that mean
	nameEnds  []uint32  // of each tool's terms in nameTerms
	nameTerms []int32   // distinct terms of each name
	termRows  []int32   // of each term: its row in termVecs, -1 when no name or path has it or the table does not know it
	termVecs  []int8    // rows × dim, of length 127: the words of names and paths
	verbs     []int8    // class of the name's verb, 0 unknown
	paths     paths
	examples  examples
	asked     asked

	table *Table

	sensesOnce sync.Once
	meant      [][]int32 // by sense, its terms; filled once
	deeds      [5]int32  // by class of verbs, the term that stands for it, -1 when no tool has it; filled once
	many       [3]int32  // the terms of names that give several; filled once
}

// Len returns the number of tools.
func (x *Index) Len() int { return x.n }

type posting struct {
	doc uint32
	tf  [fields]uint8 // saturated: a word that often says nothing more
}

// Build makes the index of tools; positions in results are positions in tools.
func Build(tools []Tool, table *Table) *Index {
	x := &Index{n: len(tools), table: table}
	v := vocabulary{terms: map[string]int32{}, surface: map[string]int32{}}
	var lists [][]posting
	lengths := make([][fields]float32, len(tools))
	trust := make([]float32, len(tools))
	var total [fields]float32
	var buf []byte
	x.verbs = make([]int8, len(tools))
	for d := range tools {
		t := &tools[d]
		names := len(x.nameTerms)
		add := func(field int, text string) {
			buf = eachWord(text, buf, func(w []byte) {
				id := v.term(w)
				if id < 0 {
					return
				}
				if int(id) == len(lists) {
					lists = append(lists, nil)
				}
				l := lists[id]
				if len(l) == 0 || l[len(l)-1].doc != uint32(d) {
					l = append(l, posting{doc: uint32(d)})
				}
				if tf := &l[len(l)-1].tf[field]; *tf < math.MaxUint8 {
					*tf++
				}
				lists[id] = l
				lengths[d][field]++
				if field == fieldName && !slices.Contains(x.nameTerms[names:], id) {
					x.nameTerms = append(x.nameTerms, id)
				}
			})
		}
		add(fieldName, t.Name)
		if t.Title != "" && t.Title != t.Name {
			add(fieldDescription, t.Title)
		}
		first, more := firstSentence(describe(t.Description))
		add(fieldDescription, first)
		add(fieldMore, more)
		add(fieldServer, t.Server)
		add(fieldServer, t.ServerText)
		for _, tag := range t.Tags {
			add(fieldServer, tag)
		}
		for _, p := range t.Params {
			add(fieldParamNames, p.Name)
			add(fieldParamTexts, p.Description)
		}
		add(fieldPath, pathNouns(t.Path))
		buf = x.paths.add(t.Path, &v, buf)
		written := t.written()
		trust[d] = askedTrust(len(written))
		for _, text := range written {
			add(fieldAsked, text)
		}
		x.nameEnds = append(x.nameEnds, uint32(len(x.nameTerms)))
		x.verbs[d] = verbClass(t.Name, t.Method)
		for f := range fields {
			total[f] += lengths[d][f]
		}
	}
	x.paths.kinds = kindsOf(tools)
	x.terms, x.surface = newDict(v.terms), newDict(v.surface)
	x.postings(lists, lengths, total, trust)
	x.grams(tools)
	x.embed(tools)
	x.embedNames(tools)
	x.examples = buildExamples(tools, table)
	x.asked = buildAsked(tools, table)
	return x
}

// describe cuts a description and halves one that says everything twice, as
// generated specifications do.
func describe(s string) string {
	s = cut(s, maxDescription)
	if h := len(s) / 2; len(s) > 20 {
		a := strings.Trim(s[:h], " .\n")
		if b := strings.Trim(s[h:], " .\n"); a == b {
			return a
		}
	}
	return s
}

// firstSentence parts a description behind its first sentence or line: that one says what
// a tool does, the others what else is to be known.
func firstSentence(s string) (first, more string) {
	end := len(s)
	if i := strings.Index(s, ". "); i >= 0 {
		end = i + 1
	}
	if i := strings.IndexByte(s[:end], '\n'); i >= 0 {
		end = i
	}
	return s[:end], s[end:]
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// vocabulary numbers terms while an index is built.
type vocabulary struct{ terms, surface map[string]int32 }

// term returns the term of a word, making a new one when needed; -1 for stop words.
func (v *vocabulary) term(w []byte) int32 {
	if id, ok := v.surface[string(w)]; ok {
		return id
	}
	word := string(w)
	id := int32(-1)
	if !stop[word] {
		s := normal(word)
		var ok bool
		if id, ok = v.terms[s]; !ok {
			id = int32(len(v.terms))
			v.terms[s] = id
		}
	}
	v.surface[word] = id
	return id
}

// normal is the form of a word that terms are keyed by.
func normal(word string) string {
	s := stem(word)
	if to, ok := alike[s]; ok {
		return to
	}
	return s
}

func (x *Index) postings(lists [][]posting, lengths [][fields]float32, total [fields]float32, trust []float32) {
	var avg [fields]float32
	for f := range fields {
		avg[f] = max(total[f]/float32(max(x.n, 1)), 1e-6)
	}
	// Requests are as a description is: of one that says more, a word says less. Few tools
	// have any, so that their mean says nothing.
	avg[fieldAsked] = max(avg[fieldDescription]+avg[fieldMore], 1)
	x.starts = make([]uint32, 1, len(lists)+1)
	x.idf = make([]float32, len(lists))
	size := 0
	for _, l := range lists {
		size += len(l)
	}
	x.docs = make([]uint32, 0, size)
	x.weight = make([]float32, 0, size)
	for t, l := range lists {
		n, df := float64(x.n), float64(len(l))
		x.idf[t] = float32(math.Log(1 + (n-df+.5)/(df+.5)))
		for _, p := range l {
			var tf float32
			for f := range fields {
				if p.tf[f] > 0 {
					w := fieldWeight[f] * float32(p.tf[f]) / (1 - bm25B + bm25B*lengths[p.doc][f]/avg[f])
					if f == fieldAsked {
						w *= trust[p.doc]
					}
					tf += w
				}
			}
			x.docs = append(x.docs, p.doc)
			x.weight = append(x.weight, tf/(bm25K1+tf))
		}
		x.starts = append(x.starts, uint32(len(x.docs)))
	}
}

// gram is one bucket of a document or query with its weight.
type gram struct {
	bucket uint32
	w      float32
}

// appendGrams appends the buckets of the 3- to 5-grams of word, which is framed
// by blanks.
func appendGrams(dst []gram, word []byte, weight float32, bits uint) []gram {
	if len(word) > 64 {
		word = word[:64]
	}
	var framed [66]byte
	framed[0] = ' '
	n := 1 + copy(framed[1:], word)
	framed[n] = ' '
	n++
	for size := 3; size <= 5; size++ {
		for i := 0; i+size <= n; i++ {
			h := uint32(2166136261)
			for _, c := range framed[i : i+size] {
				h = (h ^ uint32(c)) * 16777619
			}
			h ^= h >> 15
			dst = append(dst, gram{h * 2654435769 >> (32 - bits), weight})
		}
	}
	return dst
}

// sumGrams sorts by bucket and adds up equal ones.
func sumGrams(g []gram) []gram {
	slices.SortFunc(g, func(a, b gram) int { return cmp.Compare(a.bucket, b.bucket) })
	out := g[:0]
	for _, e := range g {
		if len(out) > 0 && out[len(out)-1].bucket == e.bucket {
			out[len(out)-1].w += e.w
		} else {
			out = append(out, e)
		}
	}
	return out
}

// grams fills the n-gram side: TF-IDF with sublinear frequencies, normalised to
// length 1, so that a dot product is the cosine.
func (x *Index) grams(tools []Tool) {
	all := make([][]uint32, len(tools)) // buckets and weights, packed: these lists are most of what building needs
	x.gramBits = gramBitsFor(x.n)
	counts := make([]uint32, 1<<x.gramBits)
	var buf []byte
	var scratch []gram
	for d := range tools {
		t := &tools[d]
		scratch = scratch[:0]
		add := func(text string, w float32) {
			buf = eachWord(text, buf, func(word []byte) {
				if !stop[string(word)] {
					scratch = appendGrams(scratch, word, w, x.gramBits)
				}
			})
		}
		add(t.Name, 2)
		add(t.Title, .5)
		add(describe(t.Description), 1)
		add(t.Server, .5)
		for _, p := range t.Params {
			add(p.Name, .4)
		}
		g := sumGrams(scratch)
		all[d] = make([]uint32, len(g))
		for i, e := range g {
			all[d][i] = e.bucket<<gramWeightBits | uint32(min(e.w*gramWeightUnit+.5, 1<<gramWeightBits-1))
			counts[e.bucket]++
		}
	}
	x.gramStart = make([]uint32, len(counts)+1)
	for b, c := range counts {
		x.gramStart[b+1] = x.gramStart[b] + c
	}
	size := x.gramStart[len(counts)]
	x.gramDocs, x.gramW = make([]uint32, size), make([]uint16, size)
	next := slices.Clone(x.gramStart[:len(counts)])
	for d, packed := range all {
		g := scratch[:0]
		for _, p := range packed {
			g = append(g, gram{p >> gramWeightBits, float32(p&(1<<gramWeightBits-1)) / gramWeightUnit})
		}
		scratch = g
		var norm float64
		for i := range g {
			g[i].w = float32(1+math.Log(float64(max(g[i].w, .4))/.4)) * x.gramIDF(g[i].bucket)
			norm += float64(g[i].w) * float64(g[i].w)
		}
		scale := float32(1 / math.Sqrt(max(norm, 1e-9)))
		for _, e := range g {
			i := next[e.bucket]
			next[e.bucket]++
			x.gramDocs[i], x.gramW[i] = uint32(d), uint16(min(e.w*scale, 1)*math.MaxUint16+.5)
		}
		all[d] = nil
	}
}

func (x *Index) gramIDF(bucket uint32) float32 {
	df := float64(x.gramStart[bucket+1] - x.gramStart[bucket])
	return float32(math.Log((1+float64(x.n))/(1+df)) + 1)
}

func (x *Index) embed(tools []Tool) {
	if x.table == nil {
		return
	}
	dim := x.table.Dim()
	x.vectors = make([]int8, len(tools)*dim)
	v := make([]float32, dim)
	var s pieces
	for d := range tools {
		x.table.vector(embedText(&tools[d]), v, &s)
		for k, f := range v {
			x.vectors[d*dim+k] = quantise(f)
		}
	}
	x.center()
}

// quantise turns a number from -1 to 1 into an int8.
func quantise(f float32) int8 { return int8(math.RoundToEven(float64(f) * math.MaxInt8)) }

// center computes what turns a cosine into one between differences from the mean
// of the catalogue: what all of its tools have in common tells none of them apart.
func (x *Index) center() {
	dim := x.table.Dim()
	mean := make([]float32, dim)
	for i, q := range x.vectors {
		mean[i%dim] += float32(q)
	}
	for k := range mean {
		mean[k] /= float32(max(x.n, 1)) * math.MaxInt8
		x.meanNorm += mean[k] * mean[k]
	}
	x.common, x.apart = make([]float32, x.n), make([]float32, x.n)
	for d := range x.n {
		v := x.vectors[d*dim : (d+1)*dim]
		x.common[d] = dot(mean, v)
		var own float32
		for _, q := range v {
			own += float32(q) * float32(q)
		}
		if apart := own/(math.MaxInt8*math.MaxInt8) - 2*x.common[d] + x.meanNorm; apart > 1e-6 {
			x.apart[d] = 1 / float32(math.Sqrt(float64(apart)))
		}
	}
}

// embedNames keeps the vector of each term of a name or a path, of the first word that has it.
func (x *Index) embedNames(tools []Tool) {
	x.termRows = make([]int32, len(x.idf))
	for t := range x.termRows {
		x.termRows[t] = -1
	}
	if x.table == nil {
		return
	}
	dim := x.table.Dim()
	v := make([]float32, dim)
	seen := make([]bool, len(x.idf))
	var s pieces
	var buf []byte
	for d := range tools {
		buf = eachWord(tools[d].Name+" "+pathNouns(tools[d].Path), buf, func(w []byte) {
			t, ok := lookup(&x.surface, w)
			if !ok || t < 0 || seen[t] {
				return
			}
			seen[t] = true
			if !x.table.wordVector(w, v, &s) {
				return
			}
			x.termRows[t] = int32(len(x.termVecs) / dim)
			for _, f := range v {
				x.termVecs = append(x.termVecs, quantise(f))
			}
		})
	}
}

// embedText is the text of a tool that the table was trained to place: the
// service where the name does not say it, the name in words, the description.
func embedText(t *Tool) string {
	var b strings.Builder
	var buf []byte
	seen := map[string]bool{}
	var name []string
	buf = eachWord(t.Name, buf, func(w []byte) {
		seen[string(w)] = true
		name = append(name, string(w))
	})
	eachWord(t.Server, buf, func(w []byte) {
		switch s := string(w); {
		case seen[s], s == "api", s == "openapi", s == "mcp", s == "server", len(s) < 2:
		default:
			seen[s] = true
			b.WriteString(s + " ")
		}
	})
	b.WriteString(strings.Join(name, " "))
	b.WriteString(": ")
	if t.Title != "" && t.Title != t.Name {
		b.WriteString(t.Title + ". ")
	}
	b.WriteString(cut(describe(t.Description), 600))
	return b.String()
}

// verbUpdate is the class of verbs that change what is there; the one behind it deletes.
const verbUpdate = 3

// verbClasses groups the verbs of names by what they do.
var verbClasses = map[string]int8{}

func init() {
	for class, words := range []string{
		"", "get list read retrieve fetch show view find search query lookup check describe count download export",
		"create add make new insert post send upload generate register write submit start open book schedule",
		"update edit change modify patch set put rename move replace enable disable assign",
		"delete remove drop cancel clear stop close archive revoke unsubscribe",
	} {
		for w := range strings.FieldsSeq(words) {
			verbClasses[w] = int8(class)
		}
	}
}

// plainVerbs are never things: behind the word of the HTTP method they say what is done,
// as in "get_create_volume", where "post" is a thing in "get_post_comments".
var plainVerbs = wordSet("create add delete remove update modify edit list describe replace cancel enable disable revoke upload download fetch")

// verbClass returns the class of the first verb in name, or of the method.
func verbClass(name, method string) int8 {
	var class int8
	n, byMethod := 0, false
	eachWord(name, nil, func(w []byte) {
		if n++; n == 2 && byMethod && plainVerbs[string(w)] {
			class = verbClasses[string(w)]
		}
		byMethod = byMethod || n == 1 && strings.EqualFold(string(w), method)
		if class == 0 {
			class = verbClasses[string(w)]
		}
	})
	if class != 0 {
		return class
	}
	switch strings.ToUpper(method) {
	case "GET", "HEAD":
		return 1
	case "POST":
		return 2
	case "PUT", "PATCH":
		return 3
	case "DELETE":
		return 4
	}
	return 0
}
