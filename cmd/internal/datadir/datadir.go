// Package datadir names what a node keeps in its data directory. The node writes it;
// commands on the same machine read it from outside, such as doctor and backup, and
// those that call the admin API.
package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// Files and directories, with slashes.
const (
	Lock         = "lock" // held while a node runs
	Database     = "sluice.db"
	MasterKey    = "keys/master.key"          // key-encryption keys
	WrappedKey   = "keys/master.wrapped.json" // the same, wrapped by the operator's command
	ReleaseKey   = "keys/release.key"
	WorkspaceKey = "keys/workspace.key"
	Registry     = "registry"
	Edge         = "edge"       // the persisted release, and the identity of an edge
	CodeCache    = "cache/code" // compiled WebAssembly
	Usage        = "usage"      // reports that are not posted yet
	Audit        = "audit"
	Commands     = "commands"    // that this node may run as MCP servers
	Catalogs     = "catalogs"    // the last good ones of registries
	Token        = "admin.token" // of the local administrator
	Endpoint     = "endpoint"    // URL of the admin API
	Operations   = "operations"  // URL of the operations listener of an edge
)

// PinSuffix is of the file beside an endpoint file with the digest of the certificate
// that the node shows, by which commands on this machine know it whatever its names are;
// PinPrefix begins its line.
const (
	PinSuffix = ".pin"
	PinPrefix = "sha256:"
)

// Workspace is the one workspace of a node that nobody configured.
const Workspace = "default"

// Path is where something is in a data directory.
func Path(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

// Pin is the digest of a certificate in DER, as in the file of PinSuffix.
func Pin(der []byte) string {
	sum := sha256.Sum256(der)
	return PinPrefix + hex.EncodeToString(sum[:])
}
