// Package backup writes a backup of a control plane, one encrypted file, and restores
// a control plane from it: the records of either database as of one moment, the contents of the
// embedded registry, and the keys, without which nothing that was sealed can be
// opened. The file is a tar archive in the age format (https://age-encryption.org/v1).
//
// It reads a running node from outside: records in one read transaction, then the index
// of the registry, then the contents that it names, which are never changed in place
// and not collected meanwhile. It restores beside what is there, checks everything, and
// then changes the data directory in one step. It does not stop a node, schedule
// anything or keep old backups, and it leaves out what a node makes again by itself:
// caches, the node's own token, usage that was not posted yet.
//
// Functions are used by one goroutine each.
package backup
