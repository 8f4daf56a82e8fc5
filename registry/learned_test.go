package registry

import (
	"strings"
	"testing"
)

func TestValidFound(t *testing.T) {
	f := func(change func(*UsageFound), ok bool) {
		t.Helper()
		r := usage()
		found := UsageFound{Workspace: "one", Toolset: "ts_1", Method: "GET", Path: "/x/{id}", Query: "find x", Calls: 1}
		change(&found)
		r.Found = []UsageFound{found}
		if err := r.Validate(); (err == nil) != ok {
			t.Fatalf("%+v: %v, want ok %t", found, err, ok)
		}
	}
	f(func(*UsageFound) {}, true)
	f(func(x *UsageFound) { x.Query = strings.Repeat("x", MaxUsageQueryBytes) }, true)
	f(func(x *UsageFound) { x.Query = strings.Repeat("x", MaxUsageQueryBytes+1) }, false)
	f(func(x *UsageFound) { x.Query = "" }, false)
	f(func(x *UsageFound) { x.Query = "a\x00b" }, false)
	f(func(x *UsageFound) { x.Query = "a\xffb" }, false)
	f(func(x *UsageFound) { x.Workspace = "Not A Slug" }, false)
	f(func(x *UsageFound) { x.Toolset = "" }, false)
	f(func(x *UsageFound) { x.Method = "get it" }, false)
	f(func(x *UsageFound) { x.Path = "x" }, false)
	f(func(x *UsageFound) { x.Calls = 0 }, false)
	r := usage()
	for range MaxUsageFound {
		r.Found = append(r.Found, UsageFound{Workspace: "one", Toolset: "ts_1", Method: "GET", Path: "/x", Query: "find x", Calls: 1})
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.Found = append(r.Found, r.Found[0])
	if err := r.Validate(); err == nil {
		t.Error("one past the limit")
	}
}
