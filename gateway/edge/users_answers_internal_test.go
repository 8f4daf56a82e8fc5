package edge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// TestTokenOfACaller is asked for once, and again when an upstream refused it, when more is
// wanted of it, or when the control plane forgot one; callers do not share it.
func TestTokenOfACaller(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	version := uint64(0)
	d := &desk{}
	d.answer = func(_ context.Context, q question) (int, any, error) {
		var in registry.EdgeUserRequest
		if err := json.Unmarshal([]byte(q.body), &in); err != nil {
			t.Error(err)
		}
		version++
		return http.StatusOK, sealed(t, id, registry.SealUserInfo(id.Edge, in.Credential, &in.User), "", &registry.EdgeUserAnswer{
			Credential: &registry.EdgeCredential{ID: in.Credential, Version: version, Value: secrets.Wire{Secret: secrets.New(in.User.ID)}},
		}), nil
	}
	v := OpenVault(d.ask(t, dir))
	ann := registry.User{Kind: registry.UserToken, ID: "ann", Toolset: "t"}
	bob := registry.User{Kind: registry.UserToken, ID: "bob", Toolset: "t"}
	f := func(credential string, user registry.User, rejected uint64, scopes []string, want uint64, asks string) {
		t.Helper()
		c, err := v.UserCredential(t.Context(), credential, user, rejected, scopes)
		if err != nil || c.Version != want || c.Value.Reveal() != user.ID || c.ID != credential {
			t.Errorf("%s of %s: version %d of %s, %v; want version %d", credential, user.ID, c.Version, c.Value.Reveal(), err, want)
		}
		q := d.take()
		if asks == "" && len(q) != 0 || asks != "" && (len(q) != 1 || q[0].path != registry.EdgeUserPath || q[0].token != "token" || !strings.Contains(q[0].body, asks)) {
			t.Errorf("%s of %s: asked %+v", credential, user.ID, q)
		}
	}
	f("mail", ann, 0, nil, 1, `"mail"`)
	f("mail", ann, 0, nil, 1, "")
	f("mail", bob, 0, nil, 2, `"bob"`)
	f("files", ann, 0, nil, 3, `"files"`)
	f("mail", ann, 7, nil, 1, "") // another version than the one that was refused
	f("mail", ann, 1, nil, 4, `"rejected":1`)
	f("mail", ann, 1, nil, 4, "")
	f("mail", ann, 0, []string{"write"}, 5, `["write"]`)
	f("mail", ann, 0, nil, 5, "")
	f("mail", bob, 0, nil, 2, "")
	v.users.follow(9)
	f("mail", bob, 0, nil, 6, `"bob"`)
}

// TestCallerWithoutAToken is told why, and where to log in; what was kept of the caller is
// forgotten.
func TestCallerWithoutAToken(t *testing.T) {
	dir := t.TempDir()
	id := enrolled(t, dir)
	ann := registry.User{Kind: registry.UserToken, ID: "ann", Toolset: "t"}
	bob := registry.User{Kind: registry.UserToken, ID: "bob", Toolset: "t"}
	for name, c := range map[string]struct {
		status int
		body   any
		err    error
		kind   problem.Kind // "": no problem
		login  string
		says   string
	}{
		"a login is needed": {200, sealed(t, id, registry.SealUserInfo(id.Edge, "mail", &ann), "", &registry.EdgeUserAnswer{Login: "https://login.example/1", Detail: "log in", Remedy: "open it"}), nil, problem.Unauthenticated, "https://login.example/1", "log in (open it)"},
		"it is refused":     {403, refuse(problem.Forbidden, "not yours"), nil, problem.Forbidden, "", "not yours"},
		"no answer":         {0, nil, errDisk, problem.Unavailable, "", "cannot be asked"},
		"of another caller": {200, sealed(t, id, registry.SealUserInfo(id.Edge, "mail", &bob), "", &registry.EdgeUserAnswer{}), nil, "", "", ""},
		"of another use":    {200, sealed(t, id, registry.SealInfo(id.Edge), "", &registry.EdgeUserAnswer{}), nil, "", "", ""},
		"no JSON":           {200, sealed(t, id, registry.SealUserInfo(id.Edge, "mail", &ann), "", []byte("hidden")), nil, "", "", "not in a form"},
	} {
		d := &desk{answer: func(context.Context, question) (int, any, error) { return c.status, c.body, c.err }}
		v := OpenVault(d.ask(t, dir))
		key := "mail/" + ann.Key()
		v.users.put(key, registry.EdgeCredential{Version: 3}, 0, time.Now())
		_, err := v.UserCredential(t.Context(), "mail", ann, 3, nil)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hidden") || c.kind != "" && !problem.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
		login, ok := errors.AsType[*registry.LoginError](err)
		if ok != (c.login != "") || ok && login.URL != c.login {
			t.Errorf("%s: login %+v", name, login)
		}
		if _, kept := v.users.get(key, time.Now()); kept {
			t.Errorf("%s: the token of before is kept", name)
		}
	}
	v := OpenVault((&desk{}).ask(t, t.TempDir()))
	if _, err := v.UserCredential(t.Context(), "mail", ann, 0, nil); !problem.Is(err, problem.Unavailable) {
		t.Errorf("of a node without an identity: %v", err)
	}
}

// TestCallersWaitTogether: calls of one caller that come together ask once, also when the
// first of them is given up; and none waits longer than the control plane may take.
func TestCallersWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		id := enrolled(t, dir)
		ann := registry.User{Kind: registry.UserToken, ID: "ann", Toolset: "t"}
		hangs := false
		d := &desk{}
		d.answer = func(ctx context.Context, _ question) (int, any, error) {
			if hangs {
				<-ctx.Done()
				return 0, nil, ctx.Err()
			}
			time.Sleep(10 * time.Second)
			return http.StatusOK, sealed(t, id, registry.SealUserInfo(id.Edge, "mail", &ann), "", &registry.EdgeUserAnswer{Credential: &registry.EdgeCredential{Version: 1}}), nil
		}
		v := OpenVault(d.ask(t, dir))
		over, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		var given, waited error
		go func() { _, given = v.UserCredential(over, "mail", ann, 0, nil) }()
		go func() { _, waited = v.UserCredential(t.Context(), "mail", ann, 0, nil) }()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if !problem.Is(given, problem.Timeout) || waited != nil || len(d.take()) != 1 {
			t.Errorf("given up: %v; waited: %v", given, waited)
		}
		// A login that ended while the question was under way is not kept.
		go func() { _, waited = v.UserCredential(t.Context(), "mail", ann, 1, nil) }()
		time.Sleep(time.Second)
		v.users.follow(1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, kept := v.users.get("mail/"+ann.Key(), time.Now()); kept || waited != nil {
			t.Errorf("kept: %v, %v", kept, waited)
		}
		hangs = true
		begun := time.Now()
		_, err := v.UserCredential(t.Context(), "mail", ann, 0, nil)
		if took := time.Since(begun); took != userTimeout || !problem.Is(err, problem.Unavailable) {
			t.Errorf("%v after %s", err, took)
		}
	})
}
