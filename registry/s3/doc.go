// Package s3 keeps the contents of the embedded registry in a bucket of an
// S3-compatible store, in place of a directory: [Bucket] is a server.Content.
//
// It is not the registry's index: tags, referrers and what repositories have stay in
// the data directory, so one control plane owns a prefix of a bucket. It dials nothing
// itself: its transport is given. Credentials are found where S3's own tools look.
//
// Contents are objects <prefix>blobs/sha256/<hex>, as in an OCI image layout. A put
// returns when the store acknowledged the whole object, whose hash (for contents in
// parts, the hash of each part) was sent along and checked by the store; what is read is hashed here before anything of
// it is served. Age, which decides what a collection may take, is the object's
// Last-Modified, and copying an object onto itself makes it young.
//
// Standard: the Amazon S3 REST API as its implementations share it (PutObject,
// GetObject, HeadObject, DeleteObject, CopyObject, ListObjectsV2, multipart uploads;
// Signature Version 4).
//
// A Bucket may be used by many goroutines.
package s3
