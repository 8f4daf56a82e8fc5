package registry

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func notice(absent ...Absence) *AbsenceNotice {
	return &AbsenceNotice{Edge: "edge_1", Release: ReleaseName{Epoch: 1, Revision: 2, Digest: DigestOf(nil)}, Absent: absent}
}

func TestAbsenceNotice(t *testing.T) {
	f := func(n *AbsenceNotice, fault string) {
		t.Helper()
		b, err := n.Encode()
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%+v: %v, want %q", n, err, fault)
			}
			return
		}
		if err != nil {
			t.Fatalf("%+v: %v", n, err)
		}
		got, err := ParseAbsence(b)
		if err != nil || got.Edge != n.Edge || got.Release != n.Release || !slices.Equal(got.Absent, n.Absent) {
			t.Errorf("%s: %+v, %v", b, got, err)
		}
	}
	many := make([]Absence, MaxAbsences+1)
	for i := range many {
		many[i] = Absence{fmt.Sprintf("cred_%026d", i), AbsentUnavailable}
	}
	f(notice(), "")
	f(notice(Absence{"cred_1", AbsentDeleted}, Absence{"cred_2", AbsentUnavailable}), "")
	f(notice(many[:MaxAbsences]...), "")
	f(notice(many...), "more than")
	f(notice(Absence{"cred_1", "because"}), "because")
	f(notice(Absence{"cred_1", AbsentDeleted}, Absence{"cred_1", AbsentDeleted}), "named twice")
	f(notice(Absence{"", AbsentDeleted}), "not an identifier")
	f(&AbsenceNotice{Edge: "edge_1"}, "digest")
	f(&AbsenceNotice{Release: notice().Release}, "edge")
	for _, doc := range []string{``, `{}`, `{"formatVersion":2}`, `{"formatVersion":1,"formatVersion":1}`, `{"FormatVersion":1}`} {
		if n, err := ParseAbsence([]byte(doc)); err == nil {
			t.Errorf("%s was read as %+v", doc, n)
		}
	}
}

func TestReleaseNameBefore(t *testing.T) {
	f := func(e1, r1, e2, r2 uint64, want bool) {
		t.Helper()
		if got := (ReleaseName{Epoch: e1, Revision: r1}).Before(ReleaseName{Epoch: e2, Revision: r2}); got != want {
			t.Errorf("%d.%d before %d.%d: %v", e1, r1, e2, r2, got)
		}
	}
	f(1, 5, 1, 6, true)
	f(1, 6, 1, 6, false)
	f(1, 7, 1, 6, false)
	f(1, 9, 2, 1, true)
	f(2, 1, 1, 9, false)
}

// FuzzParseAbsence: what is accepted is encoded and read again as the same.
func FuzzParseAbsence(f *testing.F) {
	b, err := notice(Absence{"cred_1", AbsentDeleted}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"formatVersion":1,"absent":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := ParseAbsence(b)
		if err != nil {
			return
		}
		first, err := n.Encode()
		if err != nil {
			t.Fatalf("%s was accepted and cannot be encoded: %v", b, err)
		}
		again, err := ParseAbsence(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}
