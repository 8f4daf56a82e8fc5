// Package media says what an answer of an upstream is, by its media type and its first
// bytes, and turns what is not JSON into what an agent reads: pages into text or Markdown,
// XML into JSON, other character encodings into UTF-8.
//
// It knows no call and no tool: package call decides what is done with an answer. Its
// functions append to what they are given, keep nothing, and are safe for concurrent use.
package media
