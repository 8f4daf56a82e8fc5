package domain

import (
	"context"
	"sync"
	"time"
)

const (
	// atAuthority is how many hosts an authority is asked about at the same time, and
	// ofWorkspace how many of them are of one workspace. A host whose DNS or gateway answers
	// slowly is asked about until obtainTimeout; it must not keep others waiting.
	atAuthority = 16
	ofWorkspace = 8
)

// jobs are the hosts that an authority is being asked about. One host is asked about once
// at a time.
type jobs struct {
	mu      sync.Mutex
	running map[string]string // workspace, by host; "" of the installation itself
	all     sync.WaitGroup
	failed  map[string]failures
}

// failures of a host that has no record of its own.
type failures struct {
	inRow int64
	again time.Time
}

func newJobs() *jobs {
	return &jobs{running: map[string]string{}, failed: map[string]failures{}}
}

// begin does something about a host while others go on. When it is done and what became of it
// is kept, which do reports, others may begin at once. begin does nothing when something is
// being done about the host, or enough about others: the next round tries again.
func (r *Room) begin(ctx context.Context, host, workspace string, do func(ctx context.Context) bool) {
	j := r.jobs
	j.mu.Lock()
	defer j.mu.Unlock()
	same := 0
	for _, ws := range j.running {
		if ws == workspace {
			same++
		}
	}
	if _, ok := j.running[host]; ok || len(j.running) >= atAuthority || same >= ofWorkspace {
		return
	}
	j.running[host] = workspace
	j.all.Go(func() {
		octx, cancel := context.WithTimeout(ctx, obtainTimeout)
		defer cancel()
		kept := do(octx)
		j.mu.Lock()
		delete(j.running, host)
		j.mu.Unlock()
		if kept {
			r.Wake()
		}
	})
}

// busy reports whether something is being done about a host.
func (j *jobs) busy(host string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.running[host]
	return ok
}

// waits reports whether what failed about a host is not tried again yet.
func (j *jobs) waits(host string, now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return now.Before(j.failed[host].again)
}

// ended remembers how often in a row something failed about a host, and returns when it is
// tried again, after a pause that depends on that.
func (j *jobs) ended(host string, err error, now time.Time, pause func(inRow int64) time.Duration) time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		delete(j.failed, host)
		return time.Time{}
	}
	f := j.failed[host]
	f.inRow++
	f.again = now.Add(pause(f.inRow))
	j.failed[host] = f
	return f.again
}
