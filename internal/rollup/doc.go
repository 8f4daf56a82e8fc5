// Package rollup holds durations as log histograms: 18 buckets a decade from 10 µs
// to 1,000 s, each 13.6 % wider than the one before, and one below and one above.
// Two histograms merge by adding their buckets, so the quantiles of a day are those
// of all of its calls, wherever and whenever they were counted.
//
// It knows nothing of calls, tools or storage: package gateway/metering counts into
// a [Live], registry carries the encoding, admin/store keeps it. A [Histogram] is a
// plain value of one goroutine; a [Live] is for any number of them.
package rollup
