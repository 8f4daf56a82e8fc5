//go:build !race

package jsonscan

import "testing"

func TestNoAllocations(t *testing.T) {
	in := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_issue","arguments":{"owner":"a","n":[1,2,3],"s":"x\ny"}}}`)
	dst := make([]byte, 0, 512)
	n := testing.AllocsPerRun(100, func() {
		v, err := Parse(in, 0)
		if err != nil {
			t.Fatal(err)
		}
		args := v.Get("params").Get("arguments")
		for it := args.Members(); it.Next(); {
			dst = it.Value().AppendText(it.KeyText(dst[:0]))
		}
		dst = AppendMinified(dst[:0], in)
		dst = AppendStringOf(dst[:0], "é\n\xff")
		if !args.Get("s").EqualText("x\ny") {
			t.Fatal("wrong text")
		}
		v.Get("id").Int64()
	})
	if n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}
