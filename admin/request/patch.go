package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// restorer is what of a patch has a way of its own to say that everything is as it was from
// the start.
type restorer interface{ Restore() }

// UnmarshalPatch decodes a merge patch (RFC 7396) into a struct whose nil pointers are what
// stays, and whose type has no UnmarshalJSON of its own. A member that is null is restored: it
// gets what the tag null of its field says as JSON, else the zero value, which restores the
// default. A tag null:"-" refuses it, because there is no default.
func UnmarshalPatch(b []byte, to any) error {
	if err := json.Unmarshal(b, to); err != nil {
		return err
	}
	s := reflect.ValueOf(to).Elem()
	return eachNull(b, func(member string) error {
		for i := range s.NumField() {
			t := s.Type().Field(i)
			if name, _, _ := strings.Cut(t.Tag.Get("json"), ","); name != member {
				continue
			}
			text := t.Tag.Get("null")
			if text == "-" {
				return fmt.Errorf("%s cannot be null: it has no default; leave it out to keep what it is", member)
			}
			f := s.Field(i)
			if f.Kind() != reflect.Pointer {
				return nil // null already says it
			}
			v := reflect.New(f.Type().Elem())
			if v.Elem().Kind() == reflect.Slice {
				v.Elem().Set(reflect.MakeSlice(v.Elem().Type(), 0, 0))
			}
			f.Set(v)
			if text != "" {
				return json.Unmarshal([]byte(text), v.Interface())
			}
			if r, ok := reflect.TypeAssert[restorer](v); ok {
				r.Restore()
			}
			return nil
		}
		return nil
	})
}

// eachNull calls f for every member of an object that is null.
func eachNull(b []byte, f func(member string) error) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for name, value := range members {
		if bytes.Equal(value, []byte("null")) {
			if err := f(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Nulls are the members of an object that are null; none when it is not an object.
func Nulls(b []byte) (out []string) {
	_ = eachNull(b, func(member string) error { // what is not an object has none
		out = append(out, member)
		return nil
	})
	return out
}
