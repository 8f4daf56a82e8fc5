// Package golden runs golden cases: what a plugin is given and what it has to make
// of it, one JSON file each (docs/plugins/testing.md).
//
// It does not build, load or sign plugins: its caller hands it something that
// transforms. A [Case] is plain data.
package golden
