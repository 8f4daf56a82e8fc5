// Package media identifies answers of upstreams by media type and first bytes, and
// converts those that are not JSON into text for agents: pages into text or Markdown, XML
// into JSON, other character encodings into UTF-8.
//
// It knows no call and no tool: package call decides what is done with an answer. Its
// functions append to what they are given, keep nothing, and are safe for concurrent use.
package media
