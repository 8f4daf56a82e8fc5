package edge

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
)

type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestEnrolIsNotWaitedForForever: an attempt whose answer is lost ends, and the next one can begin.
func TestEnrolIsNotWaitedForForever(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, err := OpenRemote(RemoteOptions{
			ControlPlane: "https://control.example", Dir: dir, Name: "e", Version: "1", Client: &http.Client{Transport: silent{}},
			JoinToken: func() (secrets.Secret, error) { return secrets.New("token"), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = r.Enrol(t.Context())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != enrolTimeout {
			t.Errorf("ended after %s with %v, want %s", took, err, enrolTimeout)
		}
	})
}
