package held

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// FuzzShared: what another node wrote is a result of who asks, or none, and a result that was
// read is written as it was.
func FuzzShared(f *testing.F) {
	who := Owner{"shop", "ada"}
	h := Answer{Owner: who, Doc: []byte("{}\n{}"), Text: true, Budget: 7, Tool: "dig", Made: registry.DigestOf(nil), expires: time.Unix(1_700_000_000, 0)}
	f.Add(h.shared())
	f.Add([]byte("{\"format\":\"x\",\"expires\":1e3}\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := readShared(b, who)
		if got == nil {
			return
		}
		if got.Made == "" {
			got.Made = registry.DigestOf(nil) // no node writes none
		}
		if got.Owner != who || !bytes.HasSuffix(b, got.Doc) {
			t.Fatalf("%+v of %q", got, b)
		}
		if again := readShared(got.shared(), who); again == nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v, and written again %+v", got, again)
		}
	})
}
