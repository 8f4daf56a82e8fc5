// Package claim holds the lock that makes a process the one control plane of a PostgreSQL
// database: an advisory lock of a session of its own, which the server frees when the session
// ends. It is watched, and taken again when it was lost and nobody led meanwhile.
//
// It knows no records: package store numbers the leaders and refuses what a replaced one writes.
package claim
