// Package artifacts opens the registry that a control plane keeps its artifacts in: the
// embedded one with its contents in the data directory or in an S3 bucket, or one
// elsewhere (oci://). The directory of the embedded registry remembers which of them it
// is, so a node that is started with another is refused and not served empty.
//
// It reads no environment: the command gives clients and the file with credentials.
package artifacts
