// Package cluster lets any number of control planes share one database. One of them leads: it
// has the lock on the database, and reads and writes the records. The others follow: each
// serves the same API by passing requests on to the leader, and takes the lead when that one
// is gone.
//
// A [Front] stands before the admin API of a node. While the node follows, it passes requests
// on; since the node leads, it hands them to the API. What one member says of a client to
// another, its address above all, is authenticated with a key that the leader makes for its
// time and seals in the database with the key-encryption key, which all members have.
//
// It elects nobody: package store holds the lock and refuses what a leader writes that was
// replaced.
package cluster
