package access

import "testing"

func TestPrincipal(t *testing.T) {
	all := []Principal{
		{},
		TokenPrincipal("ts_1", "a"), TokenPrincipal("ts_2", "a"), TokenPrincipal("ts_1", "b"), TokenPrincipal("ts_1\x00a", ""),
		JWTPrincipal("https://a.example", "s"), JWTPrincipal("https://b.example", "s"), JWTPrincipal("https://a.example", "t"),
		JWTPrincipal("ts_1", "a"),
	}
	seen := map[string]Principal{}
	for _, p := range all {
		if q, twice := seen[p.Key()]; twice {
			t.Errorf("%+v and %+v have the same key", p, q)
		}
		seen[p.Key()] = p
	}
	if p := (Principal{}); p.Kind() != Anonymous || p.Key() != "" || p.ID() != "" {
		t.Errorf("the zero principal is %+v", p)
	}
	p := JWTPrincipal("https://a.example", "s")
	if p.Kind() != JWT || p.ID() != "s" || p.Issuer() != "https://a.example" || p != JWTPrincipal("https://a.example", "s") {
		t.Errorf("a JWT's principal is %+v", p)
	}
}
