package edge

import (
	"errors"
	"net/http"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
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
		_, err := OpenRemote(RemoteOptions{ControlPlane: address, Dir: t.TempDir(), Client: &http.Client{}})
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
