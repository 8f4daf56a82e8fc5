package sign

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

// TestCatalog: only what a trusted publisher signed as a catalog is returned.
func TestCatalog(t *testing.T) {
	make1 := func() (*Key, *PublisherKey) {
		k, err := GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParsePublisherKey(k.PublicPEM())
		if err != nil {
			t.Fatal(err)
		}
		return k, p
	}
	ada, adaPublic := make1()
	_, eve := make1()
	env, err := SignCatalog(ada, []byte(`{"entries":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Sign(ada, PayloadPlugin, []byte(`{"entries":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if b, id, err := VerifyCatalog(env, []*PublisherKey{eve, adaPublic}); err != nil || string(b) != `{"entries":[]}` || id != ada.ID() {
		t.Errorf("%s %s %v", b, id, err)
	}
	changed := strings.Replace(string(env), `"payload":"ey`, `"payload":"ez`, 1)
	for name, c := range map[string]struct {
		env  []byte
		keys []*PublisherKey
		kind problem.Kind
		says string
	}{
		"nobody is trusted": {env, nil, problem.Forbidden, ada.ID()[:16]},
		"another publisher": {env, []*PublisherKey{eve}, problem.Forbidden, "--catalog-key"},
		"changed":           {[]byte(changed), []*PublisherKey{adaPublic}, problem.Forbidden, "names " + ada.ID()[:16] + ", which is trusted here, and is not what that key signed"},
		"for a plugin":      {other, []*PublisherKey{adaPublic}, problem.InvalidArgument, "not for a catalog"},
		"unsigned":          {[]byte(`{"payload":"e30=","payloadType":"` + PayloadCatalog + `","signatures":[]}`), []*PublisherKey{adaPublic}, problem.InvalidArgument, "not signed"},
		"no envelope":       {[]byte(`formatVersion: 1`), []*PublisherKey{adaPublic}, problem.InvalidArgument, "cannot be read"},
	} {
		b, id, err := VerifyCatalog(c.env, c.keys)
		if p := problem.As(err); b != nil || id != "" || p == nil || p.Kind != c.kind || !strings.Contains(p.Detail+p.Remedy, c.says) {
			t.Errorf("%s: %s %s %v", name, b, id, err)
		}
		if c.kind == problem.Forbidden && !errors.Is(err, ErrUnknownSigner) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
