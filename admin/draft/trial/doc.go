// Package trial decides about roll-outs: a candidate runs beside a live toolset, in the
// shadow or for a share of the callers, until it is promoted, aborted, or rolled back by
// itself because it is worse. The candidate is a draft as it was when its roll-out began.
//
// It does not run candidates (the gateways do) and does not publish them (package rollout
// does). Gateways count both sides and report the counts with their usage; package store
// adds those of all of them up, and [Room.Round] judges the sums. See docs/adr/0064.
//
// A Room may be used by any number of goroutines.
package trial
