package terminal

import "encoding/json"

// namesOf are the names by which the next command takes what a result is: of each object
// its slug, name or id, or those of the toolset in it; none of a result that has none.
func namesOf(result []byte) []string {
	var list []json.RawMessage
	if json.Unmarshal(result, &list) == nil {
		var names []string
		for _, item := range list {
			names = append(names, namesOf(item)...)
		}
		return names
	}
	var object struct {
		Slug    string          `json:"slug"`
		Name    string          `json:"name"`
		ID      string          `json:"id"`
		Toolset json.RawMessage `json:"toolset"`
	}
	if json.Unmarshal(result, &object) != nil {
		return nil
	}
	for _, name := range []string{object.Slug, object.Name, object.ID} {
		if name != "" {
			return []string{name}
		}
	}
	return namesOf(object.Toolset)
}
