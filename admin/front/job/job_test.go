package job

import (
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/store"
)

func TestWaitOf(t *testing.T) {
	f := func(prefer string, d time.Duration, applied string) {
		t.Helper()
		if got, a := waitOf(prefer); got != d || a != applied {
			t.Errorf("waitOf(%q) = %v, %q; want %v, %q", prefer, got, a, d, applied)
		}
	}
	f("", defaultWait, "")
	f("wait=0", 0, "wait=0")
	f("Wait = 5", 5*time.Second, "wait=5")
	f(`respond-async, wait="7"`, 7*time.Second, "wait=7")
	f("wait=60", maxWait, "wait=60")
	f("wait=61", maxWait, "wait=60")
	f("wait=-1", defaultWait, "")
	f("wait=x, wait=3", 3*time.Second, "wait=3")
	f("waiting=3", defaultWait, "")
}

func TestShow(t *testing.T) {
	j := Show(&store.Job{ID: "job_1", State: store.JobFailed, Error: store.JSON(front.Problem{Code: "not_found", Status: 404})})
	if j.ID != "job_1" || j.Error == nil || j.Error.Code != "not_found" || len(j.Result) != 0 {
		t.Errorf("%+v", j)
	}
	if j := Show(&store.Job{State: store.JobFailed, Error: "{"}); j.Error == nil || j.Error.Status != 500 {
		t.Errorf("a broken record: %+v", j.Error)
	}
}
