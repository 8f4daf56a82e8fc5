// Package backup writes a control plane into one encrypted file and makes one of it
// again: the records of either database as of one moment, the contents of the
// embedded registry, and the keys, without which nothing that was sealed can be
// opened. The file is a tar archive in the age format (https://age-encryption.org/v1).
//
// It reads a running node from outside: records in one read transaction first, then
// contents, which are never changed in place. It does not stop a node, schedule
// anything or keep old backups, and it leaves out what a node makes again by itself:
// caches, the node's own token, usage that was not posted yet. Raising the epoch of
// the releases after a restore is package publish's.
//
// Functions are used by one goroutine each.
package backup
