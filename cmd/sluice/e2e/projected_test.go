package e2e

import (
	"encoding/json"
	"testing"
)

// TestProjected proves that the judge of the other tests sees a fault.
func TestProjected(t *testing.T) {
	var doc document
	const spec = `{"components":{"schemas":{"User":{"type":"object","properties":{"login":{"type":"string"},"site":{"type":"string","format":"uri"}}}}},
		"root":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"},"html_url":{"type":"string"},"_links":{"type":"object"},
			"user":{"$ref":"#/components/schemas/User"},"tags":{"type":"array","items":{"oneOf":[{"type":"string"},{"$ref":"#/components/schemas/User"}]}},
			"free":{"type":"object","additionalProperties":{"type":"string"}}}}}`
	if err := json.Unmarshal([]byte(spec), &doc); err != nil {
		t.Fatal(err)
	}
	root := schemas{doc, nil}.with(doc["root"])
	f := func(ok bool, got, want string) {
		t.Helper()
		if err := projected(decode(t, []byte(got)), decode(t, []byte(want)), root); (err == nil) != ok {
			t.Errorf("projected(%s, %s) = %v; want ok %v", got, want, err, ok)
		}
	}
	f(true, `{"id":1}`, `{"id":1,"note":null,"html_url":"x","_links":{},"unknown":5}`)
	f(true, `{"user":{"login":"a"}}`, `{"user":{"login":"a","site":"http://a"}}`)
	f(true, `{"tags":["a",{"login":"b"}]}`, `{"tags":["a",{"login":"b","x":1}]}`)
	f(true, `{"free":{"any":"thing"}}`, `{"free":{"any":"thing"}}`)
	f(false, `{}`, `{"id":1}`)                                       // lost
	f(false, `{"id":1.0}`, `{"id":1}`)                               // rewritten
	f(false, `{"id":1,"more":2}`, `{"id":1}`)                        // invented
	f(false, `{"note":null}`, `{"note":null}`)                       // a null kept
	f(false, `{"user":{}}`, `{"user":{"login":"a"}}`)                // lost below
	f(false, `{"tags":["a"]}`, `{"tags":["a","b"]}`)                 // an item lost
	f(false, `{"free":{}}`, `{"free":{"name":"thing"}}`)             // an open object emptied
	f(false, `{"user":"a"}`, `{"user":{"login":"a"}}`)               // another type
	f(false, `{"tags":[{"login":"a"}]}`, `{"tags":[{"login":"b"}]}`) // changed below
}
