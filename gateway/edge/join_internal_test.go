package edge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// TestPartsOfAToolset are the ones that were meant: what has the digest of another module,
// or is of another kind, makes no toolset.
func TestPartsOfAToolset(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*loaded)
		says   string
	}{
		"":                         {func(*loaded) {}, ""},
		"a plugin for a connector": {func(l *loaded) { l.modules["c"] = &module{plugin: &guest.Package{}, digest: "cm"} }, "names a plugin as its connector"},
		"another connector":        {func(l *loaded) { l.modules["c"].digest = "x" }, "wants connector"},
		"a connector for a plugin": {func(l *loaded) { l.modules["p"] = &module{connector: connector.Later(nil), digest: "pm"} }, "wants plugin"},
		"another plugin":           {func(l *loaded) { l.modules["p"].digest = "x" }, "wants plugin"},
		"another id":               {func(l *loaded) { l.bundles["b"].toolset.ID = "x" }, "with a bundle of"},
		"another slug":             {func(l *loaded) { l.bundles["b"].toolset.Slug = "x" }, "with a bundle of"},
		"another workspace":        {func(l *loaded) { l.bundles["b"].toolset.Workspace = "x" }, "with a bundle of"},
		"another toolset's access": {func(l *loaded) { l.entries["a"].document.Toolset = "x" }, "with an access document of"},
		"another workspace's":      {func(l *loaded) { l.entries["a"].document.Workspace = "x" }, "with an access document of"},
	} {
		l := &loaded{
			bundles: map[registry.Digest]*bundle{"b": {toolset: &registry.Toolset{
				ID: "i", Slug: "s", Workspace: "w", Connectors: []registry.ConnectorRef{{Name: "main", Manifest: "c", Digest: "cm"}}, Plugins: []registry.PluginRef{{Name: "mask", Manifest: "p", Digest: "pm"}},
			}}},
			modules: map[registry.Digest]*module{"c": {connector: connector.Later(nil), digest: "cm"}, "p": {plugin: &guest.Package{}, digest: "pm"}},
			entries: map[registry.Digest]*entry{"a": {document: &registry.AccessDocument{Toolset: "i", Workspace: "w"}}},
		}
		c.change(l)
		out, err := l.join(registry.ReleaseToolset{ID: "i", Slug: "s", Workspace: "w", Bundle: "b", Access: "a"})
		if c.says == "" && (err != nil || out.Connectors["main"] == nil || len(out.Plugins) != 1 || out.Access == nil) || c.says != "" && (!problem.Is(err, problem.InvalidRelease) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
	}
}

// TestWhatNobodyUsesGoes: what toolsets share stays as long as one of them has it, and goes
// with the last one.
func TestWhatNobodyUsesGoes(t *testing.T) {
	l := newLoader(nil, nil)
	toolset := func(id string) *Toolset {
		return &Toolset{
			ReleaseToolset: registry.ReleaseToolset{ID: id, Bundle: "b", Access: "a"},
			Bundle:         &registry.Toolset{Connectors: []registry.ConnectorRef{{Manifest: "c"}}, Plugins: []registry.PluginRef{{Manifest: "p"}}},
		}
	}
	one, two := toolset("1"), toolset("2")
	two.Candidate = toolset("2")
	l.keep(&loaded{
		state: &State{}, bundles: map[registry.Digest]*bundle{"b": {}}, modules: map[registry.Digest]*module{"c": {}, "p": {}}, entries: map[registry.Digest]*entry{"a": {}},
		fresh: []*Toolset{one, two},
	})
	has := func() (out string) {
		for _, d := range []registry.Digest{"a", "b", "c", "p", "x"} {
			if l.needs(d) {
				out += string(d)
			}
		}
		return out
	}
	if got := has(); got != "abcp" {
		t.Errorf("of two toolsets %q is kept", got)
	}
	l.keep(&loaded{state: &State{}, gone: []*Toolset{two}})
	if got := has(); got != "abcp" {
		t.Errorf("of the one that is left %q is kept", got)
	}
	one.ReleaseToolset.Access = "" // its document was not there when it was opened
	l.count(one, 1)
	one.ReleaseToolset.Access = "a"
	l.count(one, -1)
	if got := has(); got != "bcp" {
		t.Errorf("without the access document %q is kept", got)
	}
	one.ReleaseToolset.Access = ""
	l.keep(&loaded{state: &State{}, gone: []*Toolset{one}})
	if got := has(); got != "" {
		t.Errorf("of none %q is kept", got)
	}
}

// nothing is a source that has nothing, and counts how often it is asked.
type nothing struct{ asked int }

func (*nothing) Release(context.Context, registry.Digest) ([]byte, error) { return nil, errDisk }

func (n *nothing) Artifact(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) {
	n.asked++
	return nil, errDisk
}

// TestConnectorThatIsNowhere: calls do not ask for it one after the other, but every few
// seconds.
func TestConnectorThatIsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &nothing{}
		open := newLoader(nil, n).later(&module{}, reference{name: "main", repository: "acme/c", manifest: registry.DigestOf(nil), digest: registry.DigestOf(nil)})
		for i, c := range []struct {
			after time.Duration
			asked int
		}{{0, 1}, {0, 1}, {openAgain - 1, 1}, {1, 2}, {1, 2}, {openAgain, 3}} {
			time.Sleep(c.after)
			if got, err := open(); got != nil || !errors.Is(err, errDisk) || n.asked != c.asked {
				t.Errorf("%d: %v, asked %d times, want %d", i, err, n.asked, c.asked)
			}
		}
	})
}

// giving is a source that has one artifact for everybody.
type giving struct {
	nothing

	artifact *oci.Artifact
}

func (g *giving) Artifact(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) {
	return g.artifact, nil
}

// TestOtherArtifacts: what a source gives instead of what was asked for is refused and not kept,
// and what is no connector is told as that.
func TestOtherArtifacts(t *testing.T) {
	a, err := oci.New(oci.KindPlugin, []byte("no connector"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		digest registry.Digest
		kind   oci.Kind
		want   error
	}{
		"":               {a.Digest(), oci.KindPlugin, nil},
		"another digest": {registry.DigestOf(nil), oci.KindPlugin, registry.ErrCorrupt},
		"another kind":   {a.Digest(), oci.KindToolset, registry.ErrCorrupt},
	} {
		l := newLoader(nil, &giving{artifact: a})
		if _, err := l.artifact(t.Context(), "acme/c", c.digest, c.kind, true); !errors.Is(err, c.want) || (l.pending[c.digest] != nil) != (c.want == nil) {
			t.Errorf("%s: %v, kept %v", what, err, l.pending)
		}
	}
	l := newLoader(nil, &giving{artifact: a})
	if got, err := l.open(t.Context(), &module{}, reference{name: "main", manifest: a.Digest(), digest: a.LayerDigest()}, true); got != nil || err == nil || !strings.Contains(err.Error(), "open connector main") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestAttempts: what was fetched for a release is not fetched again when it is tried again, and goes
// when another one comes.
func TestAttempts(t *testing.T) {
	key, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &registry.Release{Trusted: []registry.TrustedKey{key.Trusted(registry.UseRelease, "")}}
	l := newLoader(nil, &nothing{})
	for i, c := range []struct {
		release registry.Digest
		stays   bool
	}{{"a", false}, {"a", true}, {"b", false}, {"b", true}, {"a", false}} {
		l.pending["x"] = nil
		if _, err := l.load(t.Context(), r, c.release, true); err != nil {
			t.Fatal(err)
		}
		if _, stays := l.pending["x"]; stays != c.stays {
			t.Errorf("%d: what was fetched stays: %t", i, stays)
		}
	}
}

// TestAccessDocumentsAreNeeded: a toolset without the document that its release names is not served,
// nor with one that no key of the release signed.
func TestAccessDocumentsAreNeeded(t *testing.T) {
	key, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := oci.New(oci.KindAccess, []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, source := range map[string]Source{"load the access document of toolset s": &nothing{}, "open the access document of toolset s": &giving{artifact: unsigned}} {
		l := newLoader(nil, source)
		l.bundles["b"] = &bundle{toolset: &registry.Toolset{ID: "i", Slug: "s"}}
		out, err := l.load(t.Context(), &registry.Release{
			Trusted: []registry.TrustedKey{key.Trusted(registry.UseRelease, "")}, Toolsets: []registry.ReleaseToolset{{ID: "i", Slug: "s", Bundle: "b", Access: unsigned.Digest()}},
		}, "d", true)
		if out != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestKeysOfARelease: access documents of a release whose keys cannot be read are not opened.
func TestKeysOfARelease(t *testing.T) {
	n := &nothing{}
	out, err := newLoader(nil, n).loadEntries(t.Context(), &registry.Release{
		Trusted: []registry.TrustedKey{{Use: registry.UseRelease}}, Toolsets: []registry.ReleaseToolset{{ID: "i", Slug: "s", Access: registry.DigestOf(nil)}},
	}, []int{0}, true)
	if err == nil || out != nil || n.asked != 0 {
		t.Errorf("%v, %v, asked %d times", out, err, n.asked)
	}
}

// TestSettleEnds: of a node that stops nothing is said of its cache; of one that goes on what is
// damaged is.
func TestSettleEnds(t *testing.T) {
	key, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	trusted := []registry.TrustedKey{key.Trusted(registry.UseRelease, "")}
	env, err := sign.SignRelease(key, &registry.Release{Group: "default", Epoch: 1, Revision: 7, Issued: time.Now(), Expires: time.Now().Add(time.Hour), Trusted: trusted})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := sign.NewTrust(trusted, registry.UseRelease)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Options{Source: &nothing{}, Dir: t.TempDir(), Keys: trusted, Apply: func(*State) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if f.live, err = sign.VerifyRelease(env, trust); err != nil {
		t.Fatal(err)
	}
	f.loader.modules["m"] = &module{connector: connector.Later(func() (*connector.Connector, error) { return nil, errDisk })}
	over, end := context.WithCancel(t.Context())
	end()
	if f.settle(over); f.Status().Cache != nil {
		t.Errorf("of a node that stops: %v", f.Status().Cache)
	}
	if f.settle(t.Context()); !errors.Is(f.Status().Cache, errDisk) || !strings.Contains(f.Status().Cache.Error(), "persisted release 1.7") {
		t.Errorf("of a damaged connector: %v", f.Status().Cache)
	}
}

// TestSharedBundleIsFetchedOnce: a bundle that several toolsets have is asked for once.
func TestSharedBundleIsFetchedOnce(t *testing.T) {
	n := &nothing{}
	list := []registry.ReleaseToolset{{ID: "1", Bundle: registry.DigestOf(nil)}, {ID: "2", Bundle: registry.DigestOf(nil)}}
	if _, err := newLoader(nil, n).load(t.Context(), &registry.Release{Toolsets: list}, "d", true); !errors.Is(err, errDisk) || n.asked != 1 {
		t.Errorf("asked %d times, %v", n.asked, err)
	}
}
