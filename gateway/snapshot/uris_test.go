package snapshot

import (
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
)

func TestTemplateMatch(t *testing.T) {
	f := func(template, uri string, want bool) {
		t.Helper()
		if got := newTemplate(template).match(uri); got != want {
			t.Fatalf("%s of %s: %v", uri, template, got)
		}
	}
	f("file:///a", "file:///a", true)
	f("file:///{name}", "file:///a", true)
	f("file:///{name}", "file:///a/b", false)
	f("file:///{+path}", "file:///a/b", true)
	f("file:///{path*}", "file:///a/b", true)
	f("file://{/path*}", "file:///a/b", true)
	f("x://{id}/data", "x://7/data", true)
	f("x://{id}/data", "x://7/other", false)
	f("x://a{?q,r}", "x://a", true)
	f("x://a{?q,r}", "x://a?q=1", true)
	f("x://a.b/{id}", "x://acb/1", false)
	f("x://{unclosed", "x://1", false)
	f("x://{}", "x://1", false)
}

// TestURIsOfSeveralServers: each URI that clients are given leads to the server that gave
// it, and the first server keeps its own.
func TestURIsOfSeveralServers(t *testing.T) {
	in := &items{uris: map[string]*Tool{}}
	ts := &Toolset{}
	server := func(name string, resources, templates []string) *Binding {
		s := &itemServer{binding: &Binding{Name: name}, resources: map[string]*Tool{}, hidden: map[string]bool{}}
		s.open = &Tool{Toolset: ts, Binding: s.binding, Item: &Item{Kind: manifest.Resources}}
		for kind, keys := range map[manifest.ItemKind][]string{manifest.Resources: resources, manifest.Templates: templates} {
			for _, key := range keys {
				in.add(s, &Tool{Toolset: ts, Binding: s.binding, Item: &Item{Kind: kind, Key: key, Name: key}})
			}
		}
		in.servers = append(in.servers, s)
		return s.binding
	}
	a := server("a", []string{"file:///x", "a://1"}, []string{"note:///{id}"})
	b := server("b", []string{"file:///x", "b://1", "note:///7"}, []string{"note:///{id}", "pic:///{id}"})
	in.servers[1].hidden["pic:///secret"] = true
	in.servers[1].partly = true
	f := func(uri string, binding *Binding, own string) {
		t.Helper()
		tool, got := in.resolve(uri)
		if (tool != nil) != (binding != nil) || tool != nil && (tool.Binding != binding || got != own) {
			t.Fatalf("%s leads to %+v as %s, want %s", uri, tool, got, own)
		}
	}
	f("file:///x", a, "file:///x")
	f("sluice+b:file:///x", b, "file:///x")
	f("b://1", b, "b://1")
	f("note:///1", a, "note:///1")
	f("note:///7", a, "note:///7") // a's template describes it
	f("sluice+b:note:///7", b, "note:///7")
	f("sluice+b:note:///8", b, "note:///8")
	f("sluice+a:other:///1", a, "other:///1") // not listed
	f("sluice+b:other:///1", nil, "")         // something of b is disabled
	f("pic:///1", b, "pic:///1")
	f("pic:///secret", nil, "")
	f("sluice+b:pic:///secret", nil, "")
	f("sluice+c:file:///x", nil, "")
	f("nobody:///1", nil, "")
	ts.items.servers, ts.items.uris = in.servers, in.uris
	for _, s := range in.servers {
		for _, own := range []string{"file:///x", "a://1", "b://1", "note:///1", "note:///7", "other:///1"} {
			public := s.open.PublicURI(own)
			tool, back := in.resolve(public)
			if tool != nil && (tool.Binding != s.binding || back != own) || tool == nil && !s.partly {
				t.Errorf("%s of %s is %s, which leads to %+v as %s", own, s.binding.Name, public, tool, back)
			}
		}
	}
}
