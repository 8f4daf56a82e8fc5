package media

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestMend: what is nearly JSON is read as what it means; what is not, and what was cut, is
// not.
func TestMend(t *testing.T) {
	for _, c := range []struct{ body, want, beside string }{
		{`{"mean":NaN,"max":Infinity,"min":-Infinity}`, `{"mean":"NaN","max":"Infinity","min":"-Infinity"}`, ""},
		{`{'id': 7, 'name': 'O\'Neil "x"', 'ok': True, 'no': False, 'none': None}`, `{"id":7,"name":"O'Neil \"x\"","ok":true,"no":false,"none":null}`, ""},
		{`{"a":[1,2,],}`, `{"a":[1,2]}`, ""},
		{"// c\n{/* c */ a: undefined, $b_1: .5, c: 007, d: +5, e: 0x1F}", `{"a":null,"$b_1":".5","c":"007","d":"+5","e":"0x1F"}`, ""},
		{`cb.x_1({"a":1});`, `{"a":1}`, ""},
		{`/**/cb([1])`, `[1]`, ""},
		{`{"a":1}{"a":2} [3]`, `[{"a":1},{"a":2},[3]]`, ""},
		{"{\"a\":\"x\ny\tz\x01\"}", `{"a":"x\ny\tz\u0001"}`, ""},
		{`{"a":"C:\Users\x","b":"\u12","c":"\u00e9\n"}`, `{"a":"C:\\Users\\x","b":"\\u12","c":"\u00e9\n"}`, ""},
		{"{\"a\":'\xff'}", `{"a":"` + "\ufffd" + `"}`, ""},
		{`{"_id":ObjectId("65a"),"at":ISODate('2024-01-01')}`, `{"_id":"65a","at":"2024-01-01"}`, ""},
		{"<b>Warning</b>: x\n{\"a\":1}", `{"a":1}`, "<b>Warning</b>: x"},
		{"PHP Notice: [x] {y}\n{\"a\":1}\n<br>", `{"a":1}`, "PHP Notice: [x] {y} <br>"},
		{"<br>[{\"a\":1}]", `[{"a":1}]`, "<br>"},
		{strings.Repeat("w", maxBeside-2) + "\n{\"a\":1}", `{"a":1}`, strings.Repeat("w", maxBeside-2)},
		{strings.Repeat("w", maxBeside-1) + "\n{\"a\":1}", "", ""},
		{`{"a":1}` + strings.Repeat("w", maxBeside), `{"a":1}`, strings.Repeat("w", maxBeside)},
		{`{"a":1}` + strings.Repeat("w", maxBeside+1), "", ""},
		{`{"a":nope}`, "", ""},
		{`{"a":[{"b":1},{"b":2`, "", ""}, // cut: what is missing is not known
		{"x\n{\"a\":[\n{\"b\":1}", "", ""},
		{"data: {\"a\":1}\n\ndata: {\"a\":2}\n", "", ""},
		{"id,data\n1,{\"a\":1}\n", "", ""},
		{"<html><script>\n{\"a\":1}\n</script></html>", "", ""},
		{"<div><script>\n{\"a\":1}\n</script></div>", "", ""},
		{`"text"`, "", ""},
		{"OK", "", ""},
		{"", "", ""},
		{"cb(1)", "", ""},
		{"{", "", ""},
		{"[1 2]", "", ""},
		{`{"a" 1}`, "", ""},
		{"/*", "", ""},
	} {
		got, beside, ok := mend([]byte(c.body))
		if ok != (c.want != "") || ok && (string(got) != c.want || string(beside) != c.beside) {
			t.Errorf("%.80q:\ngot  %v %.200s %.80q\nwant %.200s %.80q", c.body, ok, got, beside, c.want, c.beside)
		}
	}
}

// TestRemark: what stood beside the JSON is told, without its tags and not at any length.
func TestRemark(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{'a':1}`, ""},
		{"<b>Warning</b>: x\n{\"a\":1}", "[beside the JSON was: Warning : x]"},
		{strings.Repeat("w", maxRemark) + "\n{}", "[beside the JSON was: " + strings.Repeat("w", maxRemark) + "]"},
		{strings.Repeat("w", maxRemark+1) + "\n{}", "[beside the JSON was: " + strings.Repeat("w", maxRemark) + " […]]"},
		{"OK", notJSON},
	} {
		if body, got, ok := Mend([]byte(c.body)); string(got) != c.want || ok == (c.want == notJSON) || !ok && string(body) != c.body {
			t.Errorf("%.40q: %v %q", c.body, ok, got)
		}
	}
	for body, want := range map[string]bool{"OK": true, "a,b\n1,2": true, "": true, " {'a'": false, "[1": false, "<b>": false, "\"x": false, "\xff": false, "a\x00": false} {
		if got := IsProse([]byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}

// TestMendHostile: nesting is bounded, and repeated beginnings take linear time.
func TestMendHostile(t *testing.T) {
	const most = jsonscan.DefaultMaxDepth
	if got, _, ok := mend([]byte(strings.Repeat("[", most) + strings.Repeat("]", most) + ",")); !ok || len(got) != 2*most {
		t.Errorf("%d lists in each other: %v, %d bytes", most, ok, len(got))
	}
	if _, _, ok := mend([]byte(strings.Repeat("[", most+1) + strings.Repeat("]", most+1))); ok {
		t.Errorf("%d lists in each other are read", most+1)
	}
	for _, unit := range []string{"[", "{a:", "a(", "/*", "//", "\n[{\"a\":", "'\\", "{}", "[1],", "<br>{\"a\":[", "\xef\xbb\xbf"} {
		mend([]byte(strings.Repeat(unit, 1<<20/len(unit))))
		mend([]byte("x\n" + strings.Repeat(unit, 1<<20/len(unit))))
	}
}

func FuzzMend(f *testing.F) {
	for _, s := range []string{`{'a':NaN,}`, "w\n{\"a\":1}", `cb([1]);`, `{"a":1}{"a":2}`, `{"a":ISODate("x")}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, _, ok := mend(body); ok {
			if _, err := jsonscan.Parse(got, 0); err != nil {
				t.Errorf("%q becomes %q: %v", body, got, err)
			}
		}
	})
}
