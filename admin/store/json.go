package store

import "encoding/json"

// JSON is v as text for a column. It panics for a value that cannot be marshalled: a
// channel, a function, or a marshaller that fails.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}
