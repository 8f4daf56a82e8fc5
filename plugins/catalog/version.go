package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// versionDigits of a version: hexadecimal digits of the digest that are shown and kept.
const versionDigits = 12

// Version names what a toolset takes over of the entry: two entries with the same version
// make the same toolset. Texts about the service and what was measured are not in it.
func (e *Entry) Version() string {
	of := *e
	of.FormatVersion, of.Category, of.Summary, of.Homepage, of.Documentation, of.Verified, of.Golden = 0, "", "", "", "", nil, nil
	if of.Workflows != nil {
		of.Workflows = &EntryWorkflows{Document: of.Workflows.Document}
	}
	b, err := json.Marshal(&of)
	if err != nil {
		panic("BUG: an entry has no JSON: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:versionDigits]
}
