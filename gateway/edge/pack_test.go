package edge

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/internal/atomicfile/atomicfiletest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

func one(s string) content { return content{registry.DigestOf([]byte(s)), []byte(s)} }

func open(t testing.TB, dir string) *packs {
	t.Helper()
	p, err := openPacks(dir, atomicfiletest.Fast())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func set(contents ...content) []*holding {
	var all []*holding
	for _, c := range contents {
		s, err := sumOf(c.digest)
		if err != nil {
			panic(err) // of a test's own digest
		}
		all = append(all, &holding{sums: []sum{s}})
	}
	return all
}

func TestPacks(t *testing.T) {
	dir := t.TempDir()
	a, b, empty := one("aaaa"), one("bb"), one("")
	p := open(t, dir)
	if err := p.add([]content{a, empty, a}); err != nil {
		t.Fatal(err)
	}
	if err := p.add([]content{b}); err != nil {
		t.Fatal(err)
	}
	f := func(p *packs, c content, ok bool) {
		t.Helper()
		got, err := p.get(c.digest, 10)
		if ok != (err == nil) || ok && !bytes.Equal(got, c.data) || !ok && !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("get(%q) = %q, %v; want it there: %v", c.data, got, err, ok)
		}
	}
	again := open(t, dir)
	for _, c := range []content{a, b, empty} {
		f(p, c, true)
		f(again, c, true)
	}
	again.release()
	f(again, a, true)
	f(again, one("x"), false)
	if _, err := p.get(a.digest, 3); !problem.Is(err, problem.TooLarge) {
		t.Fatalf("past the limit: %v", err)
	}
	if _, err := p.get("sha256:1", 3); !errors.Is(err, registry.ErrDigest) {
		t.Fatalf("no digest: %v", err)
	}
	if err := again.sweep(set(b), nil); err != nil {
		t.Fatal(err)
	}
	f(again, b, true)
	f(again, a, false)
	if err := again.sweep(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Fatalf("nothing is needed and %v is left", left)
	}
	if err := again.add([]content{a}); err != nil {
		t.Fatal(err)
	}
	f(open(t, dir), a, true)
}

// However a sweep ends, what is needed can be read, in this process and the next.
func TestSweepMakesOneOfMany(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir)
	var all []content
	for i := range maxPacks + 1 {
		c := one(fmt.Sprintf("content %d", i))
		all = append(all, c)
		if err := p.add([]content{c}); err != nil {
			t.Fatal(err)
		}
		if err := p.sweep(set(all...)); err != nil {
			t.Fatal(err)
		}
		if want := min(i+1, maxPacks); i < maxPacks && len(p.list) != want {
			t.Fatalf("%d packs after %d adds, want %d", len(p.list), i+1, want)
		}
	}
	if len(p.list) != 1 {
		t.Fatalf("%d packs, want one", len(p.list))
	}
	next := open(t, dir)
	for _, c := range all {
		for _, p := range []*packs{p, next} {
			if got, err := p.get(c.digest, 100); err != nil || !bytes.Equal(got, c.data) {
				t.Fatalf("get(%q) = %q, %v", c.data, got, err)
			}
		}
	}
}

// A power cut at any step of adding and sweeping leaves what was acknowledged.
func TestPacksPowerCut(t *testing.T) {
	kept, waste, added := one("kept"), one("waste waste waste"), one("added")
	for n := 1; ; n++ {
		root := t.TempDir()
		disk := atomicfiletest.New(root)
		dir := filepath.Join(root, "content")
		p, err := openPacks(dir, disk)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.add([]content{kept, waste}); err != nil {
			t.Fatal(err)
		}
		disk.FailAt = len(disk.Ops()) + n
		acknowledged := []content{kept}
		err = p.add([]content{added})
		if err == nil {
			acknowledged = append(acknowledged, added)
			err = p.sweep(set(kept, added)) // more waste than use: made into one
		}
		for _, crash := range []atomicfiletest.Crash{atomicfiletest.NamesLost, atomicfiletest.NamesKept} {
			after := t.TempDir()
			if err := disk.PowerCut(after, crash); err != nil {
				t.Fatal(err)
			}
			next := open(t, filepath.Join(after, "content"))
			for _, c := range acknowledged {
				if got, err := next.get(c.digest, 100); err != nil || !c.digest.Matches(got) {
					t.Fatalf("step %d, crash %d: %q is %q, %v", n, crash, c.data, got, err)
				}
			}
		}
		if err == nil {
			if n < 15 {
				t.Fatalf("only %d steps", n)
			}
			return
		}
	}
}

// No pack, whatever is in it, ends the process or gives bytes beyond its end.
func FuzzPack(f *testing.F) {
	dir := f.TempDir()
	p, err := openPacks(dir, atomicfiletest.Fast())
	if err != nil {
		f.Fatal(err)
	}
	if err := p.add([]content{one("a"), one("bb")}); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(p.list[0].path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append([]byte("another format"), good[len(packMagic):]...))
	f.Add([]byte(packMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &packs{index: map[sum]*place{}}
		k := &pack{path: filepath.Join(dir, "fuzzed")}
		if err := os.WriteFile(k.path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p.list = []*pack{k}
		defer p.release()
		if err := p.scan(k); err != nil {
			t.Fatal(err)
		}
		var total int64
		for s, at := range p.index {
			got, err := p.get(registry.DigestOfSum(s[:]), at.size)
			if err != nil || int64(len(got)) != at.size || cap(got) != len(got) {
				t.Fatalf("%d bytes of %d, %v", len(got), at.size, err)
			}
			total += at.size
		}
		if len(p.index) > 0 && !bytes.HasPrefix(b, []byte(packMagic)) {
			t.Fatalf("%d contents of what is no pack", len(p.index))
		}
		if total > int64(len(b)) {
			t.Fatalf("%d bytes in a pack of %d", total, len(b))
		}
	})
}
