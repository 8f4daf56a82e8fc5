package http1

const (
	// mostConns is where more connections of one process have no use.
	mostConns = 65_536
	// fewConns is for a system that does not tell.
	fewConns = 8192
)

// DefaultConns is how many connections a listener may have when nobody said: three
// quarters of the descriptors that this process may open, which leaves the rest for
// upstreams and files.
func DefaultConns() int {
	n := descriptors()
	if n == 0 {
		return fewConns
	}
	return int(max(1, min(n/4*3, mostConns)))
}
