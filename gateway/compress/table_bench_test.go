package compress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// issues makes a list shaped like an issue tracker's answer: nested users with
// URL families, labels, times.
func issues(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"number":%d,"title":"Crash number %d when saving","state":"open","url":"https://api.example.com/repos/o/r/issues/%d",`+
			`"user":{"login":"user%d","id":%d,"url":"https://api.example.com/users/user%d","type":"User"},`+
			`"labels":[{"name":"bug","color":"f00"},{"name":"p%d","color":"0f0"}],"created_at":"2026-01-02T03:%02d:05Z","closed_at":null}`,
			1000+i, i, i, i, i%7, i%7, i%7, i%3, i%60)
	}
	b.WriteByte(']')
	return b.Bytes()
}

func BenchmarkTable(b *testing.B) {
	for _, rows := range []int{30, 1000} {
		doc := issues(rows)
		b.Run(fmt.Sprintf("rows=%d/impl=encodingjson", rows), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(doc, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("rows=%d/impl=sluice", rows), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				var err error
				if out, _, err = AppendTable(out[:0], doc); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(out))/float64(len(doc)), "size-ratio")
		})
	}
}
