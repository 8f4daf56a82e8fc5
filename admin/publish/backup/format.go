package backup

import (
	"time"
)

// A backup is a tar archive in the age format: a head, the records, the keys, the index
// of the registry, its contents, and an end that counts and sums what was before it.
// Version 1 has neither key ids nor a sum, and its files are in no order.
const (
	format        = "sluice-backup"
	formatVersion = 2

	nameHead    = "backup.json"
	nameEnd     = "end.json"
	dirRecords  = "records/"
	dirKeys     = "keys"
	dirRegistry = "registry"

	// Files of a data directory.
	fileDatabase     = "sluice.db"
	filePlainKeys    = dirKeys + "/master.key"
	fileWrappedKeys  = dirKeys + "/master.wrapped.json"
	fileReleaseKey   = dirKeys + "/release.key"
	fileWorkspaceKey = dirKeys + "/workspace.key"
	dirContents      = dirRegistry + "/blobs/sha256"
	dirIndex         = dirRegistry + "/repositories"

	// chunk of the records in one entry: its size stands before it.
	chunk = 4 << 20
	// maxEndBytes of the end: ten thousand digests of contents that were missing.
	maxEndBytes = 1 << 20
	// maxAbsent contents that a registry may lack and still be backed up: beyond it the
	// disk is failing, and the end would not fit.
	maxAbsent = 10_000
	// maxKeyFileBytes of one key file: the largest is that of wrapped keys.
	maxKeyFileBytes = 128 << 10
	// maxKeyFiles in the directory of keys: four are known.
	maxKeyFiles = 32
)

// Head is what a backup says of itself.
type Head struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	Program string    `json:"program"` // version
	Keys    HeadKeys  `json:"keys,omitzero"`
}

// HeadKeys are the identifiers of the keys that belong to the records; none is a secret.
type HeadKeys struct {
	Sealing   []string `json:"sealing"` // key-encryption keys that sealed something in the records
	Outside   bool     `json:"outside"` // they are given as a value and are not in the backup
	Release   string   `json:"release"`
	Workspace string   `json:"workspace"`
}

// Summary is what was written or restored.
type Summary struct {
	Made    time.Time `json:"made"`
	Records int64     `json:"records"`
	Files   int64     `json:"files"` // keys, index and contents
	Bytes   int64     `json:"bytes"` // of records and files
	// Absent is how many contents the registry lacked that nothing live needs.
	Absent int `json:"absent,omitempty"`
	// Outside are the identifiers of the keys that open the records' secrets and are
	// not in the backup: they were given as a value.
	Outside []string `json:"outside,omitempty"`
	// Epoch of the releases after a restore.
	Epoch uint64 `json:"epoch,omitempty"`
	// Replaced is where a restore put what was in the data directory; "" nothing was.
	Replaced string `json:"replaced,omitempty"`
}

// end is the last entry.
type end struct {
	Records int64    `json:"records"`
	Files   int64    `json:"files"`
	Bytes   int64    `json:"bytes"`
	Sum     string   `json:"sum,omitempty"`    // hex SHA-256 of the name, size and bytes of every entry before
	Absent  []string `json:"absent,omitempty"` // hex digests that the index names and the registry lacks
}
