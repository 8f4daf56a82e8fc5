package selection

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files")

// shop is a small catalogue with what matters: shared words, verbs, parameters.
func shop() []Tool {
	id := []Param{{Name: "id", Description: "identifier of the order"}}
	return []Tool{
		{Name: "listOrders", Description: "List orders of a customer, newest first.", Server: "shop", Method: "GET", Path: "/orders", Params: []Param{{Name: "status", Description: "only orders in this state"}}},
		{Name: "getOrder", Description: "Get one order.", Server: "shop", Method: "GET", Path: "/orders/{id}", Params: id},
		{Name: "createOrder", Description: "Create an order.", Server: "shop", Method: "POST", Path: "/orders"},
		{Name: "cancelOrder", Description: "Cancel an order that was not shipped.", Server: "shop", Method: "POST", Path: "/orders/{id}/cancel", Params: id},
		{Name: "refund_payment", Description: "Give money back to the card that paid.", Server: "pay", Method: "POST", Path: "/refunds", Tags: []string{"billing"}},
		{Name: "chat.postMessage", Description: "Sends a message to a channel.", Server: "chat", Method: "POST", Path: "/chat.postMessage"},
		{Name: "chat.scheduleMessage", Description: "Schedules a message to be sent to a channel later.", Server: "chat", Method: "POST"},
		{Name: "weather_now", Description: "Current weather and temperature of a city. Current weather and temperature of a city.", Server: "meteo", Method: "GET"},
		{Name: "wetter_für_straße", Description: "Wetterbericht für eine Straße in Zürich", Server: "meteo"},
		{Name: "查询天气", Description: "查询城市天气", Server: "meteo"},
		{},
	}
}

// smallTable is a table of a few words in which cash and money are close.
func smallTable() []byte {
	words := []string{"money", "cash", "back", "weather", "##s", "order", "rain"}
	rows := [][4]int8{{100, 0, 0, 0}, {90, 20, 0, 0}, {30, 60, 0, 0}, {0, 0, 100, 0}, {0, 0, 0, 1}, {0, 0, 0, 100}, {0, 10, 90, 0}}
	vocabulary := strings.Join(words, "\n")
	b := []byte(tableMagic)
	for _, n := range []int{len(words), 4, len(vocabulary)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = append(b, vocabulary...)
	for range words {
		b = appendFloat32(b, .01)
	}
	for _, r := range rows {
		for _, v := range r {
			b = append(b, byte(v))
		}
	}
	return b
}

func testTable(t testing.TB) *Table {
	table, err := ParseTable(smallTable())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestSearch(t *testing.T) {
	tools := shop()
	s := Build(tools, testTable(t)).NewSearcher()
	for _, c := range []struct{ query, want string }{
		{"list all orders", "listOrders"},
		{"cancelling order 17, please", "cancelOrder"},
		{"make a new order", "createOrder"}, // create and make are alike
		{"send a text to the channel", "chat.postMessage"},
		{"slack schedule message for later", "chat.scheduleMessage"},
		{"cash back", "refund_payment"}, // no word in common: the table says so
		{"temperatures in Paris", "weather_now"},
		{"temprature", "weather_now"}, // n-grams
		{"wetter zurich strasse", "wetter_für_straße"},
		{"天气", "查询天气"},
	} {
		hits := s.Search(c.query, 5)
		if len(hits) == 0 || tools[hits[0].Tool].Name != c.want {
			var got []string
			for _, h := range hits {
				got = append(got, tools[h.Tool].Name)
			}
			t.Errorf("%q: %q, want %q first", c.query, got, c.want)
		}
		if !slices.IsSortedFunc(hits, func(a, b Hit) int { return int(math.Copysign(1, float64(b.Score-a.Score))) }) {
			t.Errorf("%q: scores are not in order", c.query)
		}
	}
}

func TestSearchOfNothing(t *testing.T) {
	x := Build(shop(), nil)
	for _, q := range []string{"", "  ", "the of and", "zzzzqqqq", strings.Repeat("x", maxQuery+1), "\xff\xfe", strings.Repeat("a. ", 2000)} {
		if n := len(x.NewSearcher().Search(q, 3)); n > 3 {
			t.Errorf("%.20q: %d hits, asked for 3", q, n)
		}
	}
	if hits := x.NewSearcher().Search("order", 0); len(hits) != 0 {
		t.Errorf("k = 0: %v", hits)
	}
	if hits := Build(nil, nil).NewSearcher().Search("order", 3); len(hits) != 0 {
		t.Errorf("no tools: %v", hits)
	}
}

// TestRememberedWordsAreBounded asks for more unknown words than a searcher remembers.
func TestRememberedWordsAreBounded(t *testing.T) {
	s := Build(shop(), nil).NewSearcher()
	most := 0
	for i := range 2*maxStems + 1 {
		s.unknown("word" + strconv.Itoa(i))
		most = max(most, len(s.stems))
	}
	if most != maxStems || len(s.stems) != 1 {
		t.Errorf("at most %d words are remembered, and %d at last; want %d and 1", most, len(s.stems), maxStems)
	}
}

// TestBounds asks one byte more than what is looked at: what is behind the bound
// changes nothing, what is before does.
func TestBounds(t *testing.T) {
	if maxQuery != 2000 { // docs/selection.md
		t.Errorf("%d bytes of a query are looked at, want 2,000", maxQuery)
	}
	long := strings.Repeat("x", maxQuery-len(" tv"))
	x := Build([]Tool{{Name: "a", Description: "tv"}}, nil)
	if len(x.NewSearcher().Search(long+" tv", 3)) == 0 {
		t.Error("the last word of a query of the longest length is not seen")
	}
	if n := len(x.NewSearcher().Search(long+"x tv", 3)); n != 0 {
		t.Errorf("%d hits for a word that ends behind the bound", n)
	}
	text := strings.Repeat("x", maxDescription-len(" tv"))
	for d, want := range map[string]int{text + " tv": 1, text + "x tv": 0} {
		if n := len(Build([]Tool{{Name: "a", Description: d}}, nil).NewSearcher().Search("tv", 3)); n != want {
			t.Errorf("description of %d bytes: %d hits, want %d", len(d), n, want)
		}
	}
}

// TestGolden holds the bytes of an index and a ranking: an index is part of what
// is signed, so the same tools give the same bytes everywhere.
func TestGolden(t *testing.T) {
	x := Build(shop(), testTable(t))
	b := x.Append(nil)
	var got bytes.Buffer
	sum := sha256.Sum256(b)
	fmt.Fprintf(&got, "%d bytes %s\n", len(b), hex.EncodeToString(sum[:]))
	for _, q := range []string{"cancel the order and then send a message to the channel", "money back"} {
		for _, h := range x.NewSearcher().Search(q, 4) {
			fmt.Fprintf(&got, "%s: %d\n", q, h.Tool)
		}
	}
	const name = "testdata/index.golden"
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	if again := Build(shop(), testTable(t)).Append(nil); !bytes.Equal(b, again) {
		t.Error("a second build gives other bytes")
	}
}

func TestOpen(t *testing.T) {
	table := testTable(t)
	x := Build(shop(), table)
	b := x.Append([]byte("kept"))[4:]
	y, err := Open(b, table)
	if err != nil {
		t.Fatal(err)
	}
	clear(b) // nothing of it is kept
	if !bytes.Equal(y.Append(nil), x.Append(nil)) {
		t.Error("an opened index is stored with other bytes")
	}
	for _, q := range []string{"order", "send money back and list the orders", "weather"} {
		a, b := x.NewSearcher().Search(q, 20), y.NewSearcher().Search(q, 20)
		if !slices.Equal(a, b) {
			t.Errorf("%q: %v from the index, %v from its bytes", q, a, b)
		}
	}
	if _, err := Open(x.Append(nil), nil); err == nil {
		t.Error("an index with vectors was opened without their table")
	}
	stored := x.Append(nil)
	for cut := 0; cut < len(stored); cut += 1 + cut/50 {
		if _, err := Open(stored[:cut], table); err == nil {
			t.Fatalf("the first %d bytes were opened", cut)
		}
	}
}

// FuzzOpen holds that what opens is stored as the same bytes and can be asked.
func FuzzOpen(f *testing.F) {
	b := Build(shop()[:2], nil).Append(nil)
	f.Add(b, uint32(0), uint32(0))
	f.Add(b, uint32(12), uint32(1<<31))
	f.Fuzz(func(t *testing.T, data []byte, at, value uint32) {
		changed := slices.Clone(b)
		binary.LittleEndian.PutUint32(changed[int(at)%(len(b)-3):], value)
		for _, in := range [][]byte{data, changed} {
			x, err := Open(in, nil)
			if err != nil {
				continue
			}
			if !bytes.Equal(x.Append(nil), in) {
				t.Fatal("stored again, the bytes differ")
			}
			for _, h := range x.NewSearcher().Search("list orders and then cancel one of the orders", 5) {
				if h.Tool < 0 || h.Tool >= x.Len() {
					t.Fatalf("tool %d of %d", h.Tool, x.Len())
				}
			}
		}
	})
}

// FuzzParseTable holds that the vectors of every accepted table are of length 1
// or 0.
func FuzzParseTable(f *testing.F) {
	f.Add(smallTable(), "money back, moneys")
	f.Add(smallTable()[:30], "")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		table, err := ParseTable(data)
		if err != nil {
			return
		}
		v := make([]float32, table.Dim())
		known := table.vector(text, v, new(pieces))
		var sum float64
		for _, f := range v {
			sum += float64(f) * float64(f)
		}
		if known && math.Abs(sum-1) > 1e-3 || !known && sum != 0 {
			t.Fatalf("known %t, length² %g", known, sum)
		}
	})
}

func TestParseTableRefuses(t *testing.T) {
	good := smallTable()
	change := func(f func(b []byte) []byte) []byte { return f(slices.Clone(good)) }
	for name, b := range map[string][]byte{
		"nothing":       nil,
		"other magic":   change(func(b []byte) []byte { b[0] = 'x'; return b }),
		"short":         good[:len(good)-1],
		"long":          append(slices.Clone(good), 0),
		"no rows":       change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], 0); return b }),
		"too many rows": change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], maxRows+1); return b }),
		"too wide":      change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[12:], maxDim+1); return b }),
		"same word":     change(func(b []byte) []byte { return bytes.Replace(b, []byte("money"), []byte("order"), 1) }),
		"no number":     change(func(b []byte) []byte { copy(b[len(b)-7*4-28:], "\xff\xff\xff\xff"); return b }),
	} {
		if _, err := ParseTable(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := ParseTable(good); err != nil {
		t.Error(err)
	}
}

// TestIndexBefore: indexes that the versions before stored are read and ranked without paths,
// and one of this version is whole or refused.
func TestIndexBefore(t *testing.T) {
	tools := shop()
	for i := range tools {
		tools[i].Method, tools[i].Path = "GET", "/shops/{shop}/x"
	}
	x := Build(tools, testTable(t))
	now := x.Append(nil)
	at := len(now) - (4 + len(x.paths.kinds)) - (4 + 4*len(x.paths.ends)) - (4 + 4*len(x.paths.terms))
	before := now[len(magic):at]
	places := append(slices.Clone(before), now[at:at+4+len(tools)]...) // the number of parameters of each
	for version, stored := range map[string][]byte{magicBefore: before, magicPlaces: places} {
		old, err := Open(append([]byte(version), stored...), testTable(t))
		if err != nil {
			t.Fatal(version, err)
		}
		if len(old.paths.kinds) != 0 || old.NewSearcher().plain != &rerank || len(old.NewSearcher().Search("money back", 3)) == 0 {
			t.Errorf("%s: an index without paths: %+v", version, old.paths)
		}
	}
	for version, stored := range map[string][]byte{magic: places, magicPlaces: before, magicBefore: now[len(magic):]} {
		if _, err := Open(append([]byte(version), stored...), testTable(t)); err == nil {
			t.Errorf("an index of %s with the parts of another version is read", version)
		}
	}
	wrong := slices.Clone(now)
	binary.LittleEndian.PutUint32(wrong[len(wrong)-4:], uint32(len(x.idf)))
	if _, err := Open(wrong, testTable(t)); err == nil {
		t.Error("a path of a term that the index does not have is read")
	}
}

// TestWeightsByKind: operations of REST APIs are ranked by weights of their own, tools of
// other kinds and those with examples are not.
func TestWeightsByKind(t *testing.T) {
	rest := []Tool{{Name: "get_pet", Method: "GET", Path: "/pets/{id}"}, {Name: "list_pets", Method: "GET", Path: "/pets"}, {Name: "tool"}}
	if Build(rest, nil).NewSearcher().plain != &rerankAPI {
		t.Error("operations are not ranked as such")
	}
	if Build([]Tool{rest[0], rest[2]}, nil).NewSearcher().plain != &rerank {
		t.Error("half of the tools are operations")
	}
	rest[0].Examples = []Example{{Text: "who is rex", Weight: 1}}
	if Build(rest, nil).NewSearcher().plain != &rerank {
		t.Error("a tool has an example")
	}
}

func TestEachWord(t *testing.T) {
	for in, want := range map[string]string{
		"getHTTPStatus_v2":     "get http status v 2",
		"Crème brûlée":         "creme brulee",
		"listOrders/{orderId}": "list orders order id",
		"日本x":                  "日 本 x",
		"ÀÉ42b":                "ae 42 b",
		"":                     "",
	} {
		var got []string
		eachWord(in, nil, func(w []byte) { got = append(got, string(w)) })
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClauses(t *testing.T) {
	for in, want := range map[string]int{
		"find the order and then cancel it now": 2,
		"list orders":                           1,
		"a. b. c":                               0,
		strings.Repeat("do this thing. ", maxClauses):            maxClauses,
		strings.Repeat("do this thing. ", maxClauses+1):          maxClauses,
		"one more thing; another thing? third thing! the end ok": 4,
	} {
		if got := splitClauses(nil, in); len(got) != want {
			t.Errorf("%.30q: %q, want %d", in, got, want)
		}
	}
}

// catalogue makes n tools out of a small vocabulary, as real catalogues repeat
// theirs.
func catalogue(n int) []Tool {
	verbs := strings.Fields("get list create update delete search export send cancel approve")
	nouns := strings.Fields("order invoice customer repository issue channel message payment user team project ticket file folder event calendar report device policy token webhook branch commit release deployment cluster node alert metric dashboard")
	details := strings.Fields("status history comment label owner setting permission member version template attachment schedule quota rule key")
	tools := make([]Tool, n)
	for i := range tools {
		v, a, b, c := verbs[i%10], nouns[i/10%30], details[i/300%15], nouns[i/4500%30]
		tools[i] = Tool{
			Name:        fmt.Sprintf("%s_%s_%s", v, a, b),
			Description: fmt.Sprintf("%s the %s of a %s that belongs to a %s. Fails when the %s is not there or the caller may not see it (case %d).", v, b, a, c, a, i),
			Params:      []Param{{Name: a + "_id", Description: "identifier of the " + a}, {Name: b, Description: "the " + b + " to use"}},
			Server:      c, Method: "GET",
		}
	}
	return tools
}

var queries = []string{
	"list the invoices of a customer",
	"I need to approve the deployment and then send a message to the channel",
	"who may see this repository",
	"delete webhook token",
	"Export the history of the project, create a report about its quota and schedule an event for the team next week",
}

// TestTableBounds: a table may have maxRows rows, and rows of maxDim numbers, and not one more.
func TestTableBounds(t *testing.T) {
	table := func(rows, dim int) []byte {
		var vocabulary []byte
		for i := range rows {
			if i > 0 {
				vocabulary = append(vocabulary, '\n')
			}
			vocabulary = strconv.AppendInt(vocabulary, int64(i), 36)
		}
		b := []byte(tableMagic)
		for _, n := range []int{rows, dim, len(vocabulary)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
		b = append(b, vocabulary...)
		return append(b, make([]byte, 4*rows+rows*dim)...)
	}
	for _, c := range []struct {
		rows, dim int
		ok        bool
	}{{maxRows, 1, true}, {maxRows + 1, 1, false}, {1, maxDim, true}, {1, maxDim + 1, false}} {
		if _, err := ParseTable(table(c.rows, c.dim)); (err == nil) != c.ok {
			t.Errorf("%d rows of %d numbers: %v", c.rows, c.dim, err)
		}
	}
}
