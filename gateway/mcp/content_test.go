package mcp

import (
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// TestContentFault: content of a server's answer is of a kind that clients know and has what
// they read of it; of an embedded resource either text or blob.
func TestContentFault(t *testing.T) {
	for text, fine := range map[string]bool{
		`{"type":"text","text":"a"}`:                                          true,
		`{"type":"text","text":1}`:                                            false,
		`{"type":"text"}`:                                                     false,
		`{"type":"image","data":"AA==","mimeType":"image/png"}`:               true,
		`{"type":"image","data":"AA=="}`:                                      false,
		`{"type":"audio","mimeType":"audio/wav"}`:                             false,
		`{"type":"resource","resource":{"uri":"a:b","text":"c"}}`:             true,
		`{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}`:          true,
		`{"type":"resource","resource":{"uri":"a:b","text":"c","blob":null}}`: true,
		`{"type":"resource","resource":{"uri":"a:b","text":"c","blob":""}}`:   false,
		`{"type":"resource","resource":{"uri":"a:b","text":"c","blob":1}}`:    false,
		`{"type":"resource","resource":{"uri":"a:b","text":1,"blob":"AA=="}}`: false,
		`{"type":"resource","resource":{"uri":"a:b"}}`:                        false,
		`{"type":"resource","resource":{"text":"c"}}`:                         false,
		`{"type":"resource","resource":[]}`:                                   false,
		`{"type":"resource"}`:                                                 false,
		`{"type":"resource_link","uri":"a:b","name":"c"}`:                     true,
		`{"type":"resource_link","uri":"a:b"}`:                                false,
		`{"type":"resource_link","name":"c"}`:                                 false,
		`{"type":"video"}`:                                                    false,
		`{}`:                                                                  false,
	} {
		if said := ContentFault(jsonscan.Trusted([]byte(text))); (said == "") != fine {
			t.Errorf("%s: %q", text, said)
		}
	}
}

// TestInteger: whole numbers as they are written in headers, with all ten digits.
func TestInteger(t *testing.T) {
	for text, want := range map[string]string{"0": "", "-0": "", "1234567890": "1234567890", "-9": "-9", "007": "7", "9.0": "9", "9.": "!", ".9": "!", "9.1": "!", "": "!", "-": "!", "+9": "!", "9:": "!", "/9": "!", "1e2": "!"} {
		negative, digits, ok := integer([]byte(text))
		got := string(digits)
		if negative {
			got = "-" + got
		}
		if !ok {
			got = "!"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestIsPage: a result is a page where each of its contents is one, by scheme and type.
func TestIsPage(t *testing.T) {
	for text, page := range map[string]bool{
		`{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app"}]}`:                                                         true,
		`{"contents":[{"uri":"ui://a","mimeType":"text/html+skybridge"},{"uri":"u\u0069://b","mimeType":"text\/html;profile=mcp-app"}]}`: true,
		`{"contents":[{"uri":"ui://a","mimeType":"text/html;profile=mcp-app"},{"uri":"ui://b","mimeType":"text/plain"}]}`:                false,
		`{"contents":[{"uri":"aui://a","mimeType":"text/html;profile=mcp-app"}]}`:                                                        false,
		`{"contents":[{"uri":"ui://a"}]}`: false,
		`{"contents":[1]}`:                false,
		`{"contents":[]}`:                 false,
		`{}`:                              false,
	} {
		if got := IsPage(jsonscan.Trusted([]byte(text))); got != page {
			t.Errorf("%s: %v", text, got)
		}
	}
}
