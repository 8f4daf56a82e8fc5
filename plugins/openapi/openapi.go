package openapi

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/plugins/operation"
)

// Source is a specification as it arrived.
type Source struct {
	// Name is what messages call it: a file name or a URL without credentials.
	Name string
	// Data is the document. Compile reads it and keeps no part of it after it
	// returns.
	Data []byte
	// BaseURL is where the document was fetched from: relative servers and
	// relative references are resolved against it. Empty: not fetched.
	BaseURL string
	// Files are the other documents of a specification in many files, by
	// slash-separated path relative to the root of the upload; Path is the path
	// of this document among them. Default: none.
	Files map[string][]byte
	Path  string
	// Overlays are applied to the document in this order, before anything else
	// reads it. Default: none.
	Overlays []Overlay
}

// Overlay is an Overlay document (Overlay Specification 1.0, 1.1) that changes a
// specification.
type Overlay struct {
	Name string `json:"name"` // for messages
	Data []byte `json:"data"`
}

// Limits bound what a specification may cost. Zero fields mean the default.
type Limits struct {
	MaxBytes      int           // one document. Default: DefaultMaxBytes; at most HardMaxBytes
	MaxDepth      int           // nesting of a document. Default: DefaultMaxDepth
	MaxNodes      int           // values of a document, YAML aliases not expanded. Default: DefaultMaxNodes
	MaxString     int           // bytes of one string. Default: DefaultMaxString
	MaxPaths      int           // Default: DefaultMaxPaths
	MaxOperations int           // Default: DefaultMaxOperations
	MaxTool       int           // bytes of one published input schema. Default: DefaultMaxTool
	MaxEmitted    int           // bytes of all published schemas together. Default: DefaultMaxEmitted
	MaxDocuments  int           // documents of a specification in many files. Default: DefaultMaxDocuments
	MaxTotalBytes int           // bytes of all fetched documents together. Default: DefaultMaxTotalBytes
	Timeout       time.Duration // of Compile as a whole. Default: DefaultTimeout and three seconds for each MiB
}

// LimitsFor are the default limits for specifications of up to so many MiB, 1 to
// HardMaxBytes: what the default is for DefaultMaxBytes, in proportion.
func LimitsFor(mib int) Limits {
	size := mib << 20
	share := func(limit int) int { return int(int64(limit) * int64(size) / DefaultMaxBytes) }
	return Limits{
		MaxBytes: size, MaxTotalBytes: size, MaxNodes: share(DefaultMaxNodes),
		MaxPaths: share(DefaultMaxPaths), MaxOperations: share(DefaultMaxOperations),
	}
}

// The default limits. The largest public specifications (Microsoft Graph with 20 MB and
// 11,422 operations, GitHub, Kubernetes) stay below each.
const (
	DefaultMaxBytes      = 32 << 20 // Microsoft Graph's has 20 MB
	HardMaxBytes         = 64 << 20 // offsets are 32 bit, memory is about 4 times the document
	DefaultMaxDepth      = 256      // real documents stay below 60
	DefaultMaxNodes      = 4 << 20  // 16 bytes each
	DefaultMaxString     = 4 << 20  // no description is longer
	DefaultMaxPaths      = 20_000   // the longest known has 6,000
	DefaultMaxOperations = 20_000   //
	DefaultMaxTool       = 32 << 10 // more fills an agent's context with one tool
	DefaultMaxEmitted    = 64 << 20 // manifests are capped at the same size
	DefaultMaxDocuments  = 50       // fetched ones; an upload may have HardMaxFiles
	DefaultMaxTotalBytes = 32 << 20 //
	DefaultTimeout       = 5 * time.Second
)

// Options configure Compile.
type Options struct {
	Limits Limits
	// Each receives every operation in the order of the document. The operation
	// belongs to the receiver. Each runs in a goroutine of its own while Compile reads
	// on, never twice at once, and not after Compile returned. An error of Each ends
	// Compile with that error. nil: operations are only counted.
	Each func(*operation.Operation) error
	// Fetch reads a document that a reference names by URL. It is called only
	// for http and https URLs of the same origin as Source.BaseURL. nil: such
	// references stay unresolved, with a warning.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Open reads a document that a reference names by path, for a specification
	// on a disk: path is slash-separated, clean, relative to the root of
	// Source.Path, and never leaves it. It is asked for what Source.Files does not
	// have. nil: there are no such documents.
	Open func(path string) ([]byte, error)
	// Strict also validates the document against the JSON Schema that the OpenAPI
	// initiative publishes for its version; what is against it is a warning of
	// severity error in Result.Warnings. It costs several times the compilation.
	Strict bool
}

// Result says what became of the specification.
type Result struct {
	API         *operation.API
	Format      string // "json" or "yaml"
	SpecVersion string // as written, "3.0.3"; "2.0" for Swagger
	Operations  int    // in the document
	Tools       int    // operations given to Each
	// Unsupported lists the operations that are not tools: Operations = Tools +
	// len(Unsupported).
	Unsupported []Unsupported
	Warnings    []Diagnostic // in order of discovery, at most MaxWarnings
	// Digest is "sha256:" and the hex digest of Source.Data; with overlays or other
	// documents, of the digests of all of them.
	Digest string
	// Documents are the other documents that references led to, by path or URL.
	Documents map[string][]byte
}

// Unsupported is an operation that could not become a tool.
type Unsupported struct {
	Method, Path, OperationID, Pointer string
	Line                               int
	Code, Reason                       string // Code is listed in docs/diagnostics.md
}

// Severities of a [Diagnostic].
const (
	SeverityError   = "error"   // an operation was lost, or the document refused
	SeverityWarning = "warning" // repaired or left out; the tool may differ from what the author meant
	SeverityInfo    = "info"    // worth knowing, nothing was changed
)

// Diagnostic is one finding about the specification.
type Diagnostic struct {
	Code, Severity string // Code is stable and listed in docs/diagnostics.md
	File           string // empty: the main document
	Line, Column   int    // 1-based; the column counts bytes
	Pointer        string // RFC 6901
	Detail, Remedy string // one sentence each
}
