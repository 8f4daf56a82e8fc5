package grant

import (
	"bytes"
	"context"
	"database/sql" //nolint:depguard // faults are injected beside the store
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// names is a resolver that knows some names.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, a := range n[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func dialer(t *testing.T) *safedial.Dialer {
	t.Helper()
	d, err := safedial.New(safedial.Options{Grantable: true, Resolver: names{
		"one.internal": {"10.0.0.1"}, "two.internal": {"10.0.0.1", "10.0.0.2"}, "mixed.example": {"93.184.216.34", "10.0.0.1"}, "public.example": {"93.184.216.34"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// open makes a room with the toolsets own of the operator's workspace and theirs of another.
func open(t *testing.T) (r *Room, own, theirs string) {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "sluice.db"))
}

// openAt is open with a database of this path.
func openAt(t *testing.T, path string) (r *Room, own, theirs string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ids := map[string]string{}
	for _, ws := range []string{request.Operator, "acme"} {
		if err := s.EnsureWorkspace(t.Context(), ws, ws); err != nil {
			t.Fatal(err)
		}
		row := &store.Toolset{Slug: ws + "-tools", Name: ws, Connector: ws, ConnectorDigest: "sha256:" + ws}
		err := s.Workspace(ws).Update(t.Context(), func(tx *store.Tx) error {
			spec := &store.Specification{Digest: "sha256:spec-" + ws, Name: ws, Content: []byte(ws)}
			v := &store.ConnectorVersion{Digest: row.ConnectorDigest, SpecDigest: spec.Digest, Report: "{}"}
			return errors.Join(tx.PutSpecification(t.Context(), spec), tx.PutConnector(t.Context(), &store.Connector{Name: ws}, v), tx.CreateToolset(t.Context(), row))
		})
		if err != nil {
			t.Fatal(err)
		}
		ids[ws] = row.ID
	}
	return &Room{Store: s, Log: slog.New(slog.DiscardHandler), Dialer: dialer(t)}, ids[request.Operator], ids["acme"]
}

// as is a request of a token of a workspace.
func as(t *testing.T, workspace, role string, local bool) context.Context {
	t.Helper()
	tok := &store.Token{Role: role}
	tok.ID, tok.WorkspaceID = "tok_1", workspace
	return request.With(t.Context(), &request.Request{Token: tok, Local: local})
}

func operator(t *testing.T) context.Context {
	t.Helper()
	return as(t, request.Operator, store.RoleAdmin, true)
}

// reaches reports whether a toolset may dial an address.
func reaches(t *testing.T, r *Room, toolset, addr string) bool {
	t.Helper()
	return r.Dialer.Check(safedial.WithHolder(t.Context(), toolset), addr) == nil
}

// TestWhoseWordCountsInPassing: an address that is named in passing is dialed for the
// operator's administrator on this machine only, and is not granted by that.
func TestWhoseWordCountsInPassing(t *testing.T) {
	r, own, _ := open(t)
	for name, c := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"the operator here":             {operator(t), true},
		"the operator elsewhere":        {as(t, request.Operator, store.RoleAdmin, false), false},
		"somebody else of the operator": {as(t, request.Operator, store.RolePublisher, true), false},
		"another workspace":             {as(t, "acme", store.RoleAdmin, true), false},
		"nobody":                        {request.With(t.Context(), &request.Request{Local: true}), false},
	} {
		ctx, all := r.See(c.ctx, []string{"http://one.internal:8080/x", "not a URL", "", "http://public.example/", "https://mixed.example/"})
		if (len(all) == 1) != c.want || len(all) > 1 {
			t.Errorf("%s: %v were seen", name, all)
		}
		if got := r.Dialer.Check(ctx, "10.0.0.1:8080") == nil; got != c.want {
			t.Errorf("%s: the address can be dialed: %v", name, got)
		}
		if r.Dialer.Check(ctx, "10.0.0.1:8081") == nil || r.Dialer.Check(ctx, "mixed.example:443") == nil || reaches(t, r, own, "10.0.0.1:8080") {
			t.Errorf("%s: more can be dialed than was named", name)
		}
	}
	r.Dialer = nil
	if ctx, all := r.See(operator(t), []string{"http://one.internal"}); all != nil || ctx == nil {
		t.Errorf("without a dialer: %v", all)
	}
}

// TestGrantSeen: what was named is granted to its toolset and told once, by name and address.
func TestGrantSeen(t *testing.T) {
	r, own, theirs := open(t)
	ctx := operator(t)
	ws := request.Workspace(ctx, r.Store)
	named := []string{"http://two.internal", "https://10.0.0.9"}
	_, all := r.See(ctx, named)
	told, err := r.GrantSeen(ctx, ws, own, all)
	if err != nil || strings.Join(told, "; ") != "two.internal:80 (10.0.0.1, 10.0.0.2); 10.0.0.9:443" {
		t.Errorf("told %q, %v", told, err)
	}
	for addr, want := range map[string]bool{"two.internal:80": true, "10.0.0.9:443": true, "10.0.0.9:80": false, "10.0.0.1:443": false} {
		if reaches(t, r, own, addr) != want || reaches(t, r, theirs, addr) {
			t.Errorf("%s: reached by its toolset %v, by another one %v", addr, !want, reaches(t, r, theirs, addr))
		}
	}
	if told, err = r.GrantSeen(ctx, ws, own, all); err != nil || len(told) != 0 {
		t.Errorf("granted again: %q, %v", told, err)
	}
	if err := r.GrantNamed(ctx, ws, own, named...); err != nil {
		t.Error(err)
	}
	if l, err := r.List(ctx, "", own); err != nil || len(l.Items) != 3 || l.Items[0].CreatedBy != "tok_1" || l.Items[0].Reason != "named by the operator on this machine" {
		t.Errorf("%+v, %v", l, err)
	}
	r.Drop(own)
	if reaches(t, r, own, "10.0.0.9:443") {
		t.Error("a toolset that is no more reaches what it was granted")
	}
}

// TestCreate: only the operator's administrator grants, to a toolset of any workspace, all
// private addresses that a name has, and nothing by a name that has public ones too.
func TestCreate(t *testing.T) {
	r, own, theirs := open(t)
	for name, ctx := range map[string]context.Context{
		"another workspace": as(t, "acme", store.RoleAdmin, true), "another role": as(t, request.Operator, store.RolePublisher, true),
	} {
		if _, err := r.Create(ctx, &CreateGrant{Toolset: own, Address: "10.0.0.1:80"}); !problem.Is(err, problem.Forbidden) {
			t.Errorf("%s grants: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		in   CreateGrant
		kind problem.Kind
	}{
		"no such workspace":  {CreateGrant{Workspace: "none", Toolset: own, Address: "10.0.0.1:80"}, problem.NotFound},
		"no such toolset":    {CreateGrant{Toolset: "none", Address: "10.0.0.1:80"}, problem.NotFound},
		"of another":         {CreateGrant{Toolset: theirs, Address: "10.0.0.1:80"}, problem.NotFound},
		"no port":            {CreateGrant{Toolset: own, Address: "10.0.0.1"}, problem.InvalidArgument},
		"no host":            {CreateGrant{Toolset: own, Address: ":80"}, problem.InvalidArgument},
		"a URL without host": {CreateGrant{Toolset: own, Address: "http:///x"}, problem.InvalidArgument},
		"public ones too":    {CreateGrant{Toolset: own, Address: "mixed.example:80"}, problem.BlockedAddress},
		"of a cloud":         {CreateGrant{Toolset: own, Address: "169.254.169.254:80"}, problem.BlockedAddress},
	} {
		if got, err := r.Create(operator(t), &c.in); !problem.Is(err, c.kind) || len(got.Items) != 0 {
			t.Errorf("%s: %v, %v; want %s", name, got, err, c.kind)
		}
	}
	got, err := r.Create(operator(t), &CreateGrant{Toolset: own, Address: "public.example:443"})
	if err != nil || len(got.Items) != 0 {
		t.Errorf("a name that needs no grant: %v, %v", got, err)
	}
	got, err = r.Create(operator(t), &CreateGrant{Workspace: "acme", Toolset: "acme-tools", Address: "http://two.internal:7000/path", Reason: "a test"})
	if err != nil || len(got.Items) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{"10.0.0.1:7000", "10.0.0.2:7000"} {
		g := got.Items[i]
		if g.Address != want || g.Host != "two.internal" || g.Workspace != "acme" || g.Toolset != theirs || g.Reason != "a test" || g.CreatedBy != "tok_1" || g.ID == "" || g.CreatedAt.IsZero() {
			t.Errorf("%+v, want the grant of %s", g, want)
		}
		if !reaches(t, r, theirs, want) || reaches(t, r, own, want) {
			t.Errorf("%s: reached by its toolset %v, by another one %v", want, reaches(t, r, theirs, want), reaches(t, r, own, want))
		}
	}
	// The ones that are there are answered, not granted twice.
	again, err := r.Create(operator(t), &CreateGrant{Workspace: "acme", Toolset: "acme-tools", Address: "10.0.0.1:7000"})
	if err != nil || len(again.Items) != 1 || again.Items[0].ID != got.Items[0].ID {
		t.Errorf("%+v, %v", again, err)
	}
	r.Dialer = nil
	if _, err := r.Create(operator(t), &CreateGrant{Toolset: own, Address: "10.0.0.1:80"}); !problem.Is(err, problem.Unsupported) {
		t.Errorf("without a dialer: %v", err)
	}
}

// TestRevokeAndList: a workspace sees and revokes its own grants only, the operator those of
// all, and what was revoked is not reached any more.
func TestRevokeAndList(t *testing.T) {
	r, own, theirs := open(t)
	made := map[string]Grant{}
	for ws, toolset := range map[string]string{request.Operator: own, "acme": theirs} {
		for _, addr := range []string{"10.0.0.1:80", "10.0.0.2:80"} {
			g, err := r.Create(operator(t), &CreateGrant{Workspace: ws, Toolset: toolset, Address: addr})
			if err != nil {
				t.Fatal(err)
			}
			made[ws+" "+addr] = g.Items[0]
		}
	}
	acme := as(t, "acme", store.RoleAdmin, false)
	addresses := func(ctx context.Context, workspace, toolset string) string {
		t.Helper()
		l, err := r.List(ctx, workspace, toolset)
		if err != nil {
			return string(problem.As(err).Kind)
		}
		var out []string
		for _, g := range l.Items {
			out = append(out, g.Workspace+" "+g.Address)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	const both = "acme 10.0.0.1:80, acme 10.0.0.2:80"
	for name, c := range map[string]struct {
		ctx                context.Context
		workspace, toolset string
		want               string
	}{
		"its own":                 {acme, "", "", both},
		"its own by name":         {acme, "acme", "acme-tools", both},
		"of the operator":         {acme, request.Operator, "", string(problem.Forbidden)},
		"a toolset of another":    {acme, "", own, string(problem.NotFound)},
		"the operator":            {operator(t), "acme", theirs, both},
		"the operator, elsewhere": {operator(t), "none", "", string(problem.NotFound)},
	} {
		if got := addresses(c.ctx, c.workspace, c.toolset); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if err := r.Revoke(acme, "", made[request.Operator+" 10.0.0.1:80"].ID); !problem.Is(err, problem.NotFound) || !reaches(t, r, own, "10.0.0.1:80") {
		t.Errorf("a grant of another workspace: %v", err)
	}
	if err := r.Revoke(acme, request.Operator, made[request.Operator+" 10.0.0.1:80"].ID); !problem.Is(err, problem.Forbidden) || !reaches(t, r, own, "10.0.0.1:80") {
		t.Errorf("a grant of another workspace, which is named: %v", err)
	}
	if err := r.Revoke(acme, "", made["acme 10.0.0.1:80"].ID); err != nil {
		t.Fatal(err)
	}
	if reaches(t, r, theirs, "10.0.0.1:80") || !reaches(t, r, theirs, "10.0.0.2:80") || !reaches(t, r, own, "10.0.0.1:80") {
		t.Error("a grant was revoked: another one is gone, or it is not")
	}
	if err := r.Revoke(operator(t), "acme", made["acme 10.0.0.2:80"].ID); err != nil || reaches(t, r, theirs, "10.0.0.2:80") {
		t.Errorf("revoked by the operator: %v", err)
	}
	if got := addresses(acme, "", ""); got != "" {
		t.Errorf("left: %s", got)
	}
	if err := r.Revoke(acme, "", made["acme 10.0.0.1:80"].ID); !problem.Is(err, problem.NotFound) {
		t.Errorf("revoked again: %v", err)
	}
}

// TestRestore: after a start the grants are in force, but for one of an address where this
// node listens now, of which the log tells.
func TestRestore(t *testing.T) {
	r, own, _ := open(t)
	for _, addr := range []string{"10.0.0.1:80", "127.0.0.1:7300", "10.0.0.2:80"} {
		if _, err := r.Create(operator(t), &CreateGrant{Toolset: own, Address: addr}); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	r = &Room{Store: r.Store, Log: slog.New(slog.NewTextHandler(&log, nil)), Dialer: dialer(t)}
	r.Dialer.Protect(&net.TCPAddr{IP: net.IPv4zero, Port: 7300})
	if reaches(t, r, own, "10.0.0.1:80") {
		t.Fatal("in force before it was restored")
	}
	if err := r.Restore(t.Context(), request.Operator); err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{"10.0.0.1:80": true, "10.0.0.2:80": true, "127.0.0.1:7300": false} {
		if reaches(t, r, own, addr) != want {
			t.Errorf("%s is reached: %v", addr, !want)
		}
	}
	if text := log.String(); strings.Count(text, "not in force") != 1 || !strings.Contains(text, "address=127.0.0.1:7300") {
		t.Errorf("the log: %s", text)
	}
	r.Dialer = nil
	r.Drop(own)
	if err := r.Restore(t.Context(), request.Operator); err != nil {
		t.Error(err)
	}
}

// TestHostPortOf: a URL names a port or has the one of its scheme.
func TestHostPortOf(t *testing.T) {
	for in, want := range map[string]string{
		"http://a": "a:80", "https://a/x": "a:443", "https://a:80": "a:80", "http://[::1]/": "[::1]:80", "a:80": "", "": "", "http://": "", "http://%zz": "", "ftp://a": "a:80",
	} {
		if got := hostPortOf(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestGranted: what is not an address is left out.
func TestGranted(t *testing.T) {
	got := Granted([]store.Grant{{Address: "10.0.0.1:80"}, {Address: "damaged"}, {Address: "[fd00::1]:443"}})
	if !slices.Equal(got, []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("[fd00::1]:443")}) {
		t.Errorf("%v", got)
	}
}

// TestGrantsAreRecorded: each grant is in the audit log once, with who made it and why, and so
// is its end; one that was there already is not written again.
func TestGrantsAreRecorded(t *testing.T) {
	r, own, _ := open(t)
	for range 2 {
		if _, err := r.Create(operator(t), &CreateGrant{Toolset: own, Address: "two.internal:80", Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := r.List(operator(t), "", own)
	if err != nil || len(l.Items) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	if err := r.Revoke(operator(t), "", l.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	rows, _, err := r.Store.Workspace(request.Operator).AuditLog(t.Context(), store.Page{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for i := range rows {
		if a := &rows[i]; a.Resource == own && a.ActorID == "tok_1" {
			got[a.Action+" "+a.Reason+" "+addressIn(t, a.After)+" "+addressIn(t, a.Before)]++
		}
	}
	want := map[string]int{"grant.add a test 10.0.0.1:80 ": 1, "grant.add a test 10.0.0.2:80 ": 1, "grant.revoke   " + l.Items[0].Address: 1}
	if !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

func addressIn(t *testing.T, doc string) string {
	t.Helper()
	var m struct{ Address string }
	if doc != "" && json.Unmarshal([]byte(doc), &m) != nil {
		t.Fatal(doc)
	}
	return m.Address
}

// TestGrantsThatCannotBeKept: what the database refuses is not in force either, and is not an empty
// list.
func TestGrantsThatCannotBeKept(t *testing.T) {
	r, own, _ := open(t)
	ctx := operator(t)
	ws := request.Workspace(ctx, r.Store)
	if _, err := r.GrantSeen(ctx, ws, "ts_none", []Seen{{"10.0.0.1:80", netip.MustParseAddrPort("10.0.0.1:80")}}); err == nil || reaches(t, r, "ts_none", "10.0.0.1:80") {
		t.Errorf("a grant of no toolset: %v", err)
	}
	if told, err := r.GrantSeen(ctx, ws, own, nil); told != nil || err != nil {
		t.Errorf("nothing to grant: %v, %v", told, err)
	}
	if err := r.GrantNamed(ctx, ws, "ts_none", "http://10.0.0.1"); err == nil {
		t.Error("named for no toolset, and granted")
	}
	g, err := r.Create(ctx, &CreateGrant{Toolset: own, Address: "10.0.0.1:80"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	_, create := r.Create(ctx, &CreateGrant{Toolset: own, Address: "10.0.0.2:80"})
	_, list := r.List(ctx, "", "")
	_, other := r.List(ctx, "acme", "")
	for what, err := range map[string]error{"create": create, "list": list, "another workspace": other, "restore": r.Restore(ctx, request.Operator), "revoke": r.Revoke(ctx, "", g.Items[0].ID)} {
		if err == nil || problem.Is(err, problem.NotFound) {
			t.Errorf("%s without a database: %v", what, err)
		}
	}
	if reaches(t, r, own, "10.0.0.2:80") || !reaches(t, r, own, "10.0.0.1:80") {
		t.Error("without a database a grant is in force that is not kept, or was taken away")
	}
}

// TestRevokeThatFails: a grant that stays in the database stays in force, and whoever takes it
// away is told.
func TestRevokeThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice.db")
	r, own, _ := openAt(t, path)
	ctx := operator(t)
	g, err := r.Create(ctx, &CreateGrant{Toolset: own, Address: "10.0.0.1:80"})
	if err != nil {
		t.Fatal(err)
	}
	raw := func(statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	raw("CREATE TRIGGER refuse BEFORE DELETE ON grants BEGIN SELECT RAISE(ABORT, 'no'); END")
	if err := r.Revoke(ctx, "", g.Items[0].ID); err == nil || problem.Is(err, problem.NotFound) || !reaches(t, r, own, "10.0.0.1:80") {
		t.Errorf("a revocation that the database refused: %v", err)
	}
	raw("DROP TRIGGER refuse")
	if err := r.Revoke(ctx, "", g.Items[0].ID); err != nil || reaches(t, r, own, "10.0.0.1:80") {
		t.Errorf("and then: %v", err)
	}
}
