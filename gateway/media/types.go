package media

import "bytes"

// Media types of pieces that come without one.
const (
	TypeText     = "text/plain"
	TypeMarkdown = "text/markdown"
	TypeXML      = "text/xml"
	TypeBinary   = "application/octet-stream"
)

// maxMediaType is the longest media type that plugins are told; no registered one is
// longer (RFC 6838 §4.2).
const maxMediaType = 127

// TextType is the media type of text as plugins are told it: one of text/*, so that a
// plugin which reads all text says so in one range.
func TextType(k Kind, contentType []byte) string {
	switch m := Type(contentType); {
	case k == XML:
		return TypeXML
	case k == HTML:
		return "text/html"
	case bytes.HasPrefix(m, []byte("text/")) && len(m) <= maxMediaType:
		return string(m)
	}
	return TypeText
}

// FileType is the media type of a file as plugins are told it.
func FileType(m []byte) string {
	if len(m) == 0 || len(m) > maxMediaType {
		return TypeBinary
	}
	return string(m)
}

// shownTypes are the media types that an agent reads of where something redacts: the
// header of an answer is bytes of the upstream too.
var shownTypes = map[string]bool{
	"application/json": true, "application/xml": true, "application/pdf": true, "application/zip": true, "application/gzip": true, TypeBinary: true,
	TypeText: true, "text/html": true, "text/csv": true, TypeMarkdown: true, TypeXML: true, "text/css": true, "text/javascript": true, "text/calendar": true,
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/svg+xml": true, "image/bmp": true, "image/tiff": true, "image/avif": true,
	"audio/mpeg": true, "audio/wav": true, "audio/x-wav": true, "audio/ogg": true, "audio/mp4": true, "audio/webm": true, "audio/flac": true, "audio/aac": true,
}

// Shown is a media type that may be shown; "" for one that may not.
func Shown(m string) string {
	if shownTypes[m] {
		return m
	}
	return ""
}
