package edge

import (
	"errors"
	"net/http"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestFaultIsNewsOnce: a fault is logged when it begins, when it becomes another, and
// when it ends; not each time the node asks.
func TestFaultIsNewsOnce(t *testing.T) {
	for name, set := range map[string]func(*Follower, error) bool{"following": (*Follower).setFollowing, "cache": (*Follower).setCache} {
		var f Follower
		for i, step := range []struct {
			err  error
			news bool
		}{
			{nil, false},
			{errors.New("refused"), true},
			{errors.New("refused"), false},
			{errors.New("reset"), true},
			{nil, name == "following"}, // that the cache can be written again is no news
			{nil, false},
		} {
			if got := set(&f, step.err); got != step.news {
				t.Errorf("%s, step %d (%v): news %v, want %v", name, i+1, step.err, got, step.news)
			}
		}
	}
}

// TestOpenRemoteNames refuses what does not name a control plane: the node's token goes
// there.
func TestOpenRemoteNames(t *testing.T) {
	f := func(address string, ok bool) {
		t.Helper()
		_, err := OpenRemote(RemoteOptions{ControlPlane: address, Dir: t.TempDir(), Client: &http.Client{Transport: http.DefaultTransport}})
		if (err == nil) != ok || err != nil && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%q: %v, want it taken: %v", address, err, ok)
		}
	}
	f("https://control.example", true)
	f("http://control.example:8080/base/", true)
	for _, bad := range []string{
		"", "control.example", "https://", "ftp://control.example", "https://user@control.example", "https://control.example?a=b",
		"https://control.example#a", "https://control.example/%zz", "://",
	} {
		f(bad, false)
	}
}

// TestStateTellsFirstFault: what keeps the follower from following is told before what
// the control plane was last asked for in vain, and that only when nothing else is wrong.
func TestStateTellsFirstFault(t *testing.T) {
	for _, c := range []struct{ following, remote, want string }{
		{"", "", ""}, {"", "refused", "refused"}, {"bad signature", "refused", "bad signature"}, {"bad signature", "", "bad signature"},
	} {
		r := &Reporter{Remote: &Remote{}, Follower: &Follower{loader: &loader{}}}
		if c.following != "" {
			r.Follower.setFollowing(errors.New(c.following))
		}
		if c.remote != "" {
			r.Remote.fault = errors.New(c.remote)
		}
		if got := r.State().Following; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestRequestWithoutBody: only what has a body says of which type it is.
func TestRequestWithoutBody(t *testing.T) {
	got := ""
	r := &Remote{base: "http://control.example", opts: RemoteOptions{Client: &http.Client{Transport: tripFunc(func(req *http.Request) (*http.Response, error) {
		got = req.Header.Get("Content-Type")
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})}}}
	for body, want := range map[string]string{"": "", "{}": "application/json"} {
		resp, err := r.once(t.Context(), http.MethodPost, "/x", nil, []byte(body), secrets.Secret{})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got != want {
			t.Errorf("body %q: type %q, want %q", body, got, want)
		}
	}
}

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
