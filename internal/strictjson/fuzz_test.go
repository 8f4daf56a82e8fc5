package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzDecode: what is accepted is what encoding/json reads without unknown members, and it is
// read as encoding/json reads it.
func FuzzDecode(f *testing.F) {
	type inner struct {
		A string          `json:"a"`
		N *int            `json:"n,omitempty"`
		R json.RawMessage `json:"r"`
	}
	type outer struct {
		A    string           `json:"a"`
		List []inner          `json:"list"`
		Map  map[string]inner `json:"map"`
		X    map[string]any   `json:"x"`
	}
	for _, s := range []string{
		`{"a":"b","list":[{"a":"c","n":1}],"map":{"k":{"r":[1]}},"x":{"y":null}}`, `{"A":"b"}`, `{"a":"b","a":"c"}`, `{"map":{"k":{},"k":{}}}`, `{"list":[{"b":1}]}`, `null`, `[]`, `{"x":{"y":{"y":{"y":1}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const size, depth = 1 << 12, 8
		var got, want outer
		if Decode(b, &got, size, depth) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil || len(b) > size {
			t.Fatalf("accepted, and encoding/json says %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, and encoding/json reads %+v", got, want)
		}
	})
}
