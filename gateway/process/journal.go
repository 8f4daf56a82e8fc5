package process

import (
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/textfilter"
)

const (
	// maxJournal is how many lines are kept of what the processes of one command wrote
	// for people, the newest, and maxJournalLine how much of each, in bytes.
	maxJournal     = 200
	maxJournalLine = 1 << 10
	// minRedacted is the length of a credential from which it is taken out of lines: a
	// shorter one is in any text.
	minRedacted = 4
)

// Line is what a command wrote for people, or what became of it.
type Line struct {
	At   time.Time
	Text string
}

// record keeps the newest lines of a command. It is safe for concurrent use.
type record struct {
	mu      sync.Mutex
	lines   []Line // guarded by mu; a ring once it is full
	next    int    // guarded by mu; where the oldest line is
	dropped uint64 // guarded by mu
}

func (r *record) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := Line{At: time.Now().UTC(), Text: text}
	if len(r.lines) < maxJournal {
		r.lines = append(r.lines, l)
		return
	}
	r.lines[r.next] = l
	r.next = (r.next + 1) % maxJournal
	r.dropped++
}

// read returns the lines, the oldest first, and how many older ones are gone.
func (r *record) read() ([]Line, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Line, 0, len(r.lines))
	out = append(append(out, r.lines[r.next:]...), r.lines[:r.next]...)
	return out, r.dropped
}

// journal writes the lines of one session's process, without its credentials.
type journal struct {
	to      *record
	redact  *strings.Replacer // nil: nothing is
	session string            // in front of each line
}

func newJournal(to *record, session string, credentials map[string]string) *journal {
	j := &journal{to: to, session: session}
	var pairs []string
	for _, v := range credentials {
		if len(v) >= minRedacted {
			pairs = append(pairs, v, "[redacted]")
		}
	}
	if pairs != nil {
		j.redact = strings.NewReplacer(pairs...)
	}
	return j
}

// add keeps a line. A credential that is cut at the end of the line is taken out before.
func (j *journal) add(prefix string, line []byte) {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if j.redact != nil {
		text = j.redact.Replace(text)
	}
	text = textfilter.Clean(text)
	if len(text) > maxJournalLine {
		text = strings.ToValidUTF8(text[:maxJournalLine], "") + "…"
	}
	j.to.add(j.session + " " + prefix + text)
}
