package naming

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	f := func(x Tool, name, want, why string) {
		t.Helper()
		got, fault := Describe(&x, name)
		if got != want || fault != why {
			t.Errorf("%s\ngot  %q (%s)\nwant %q (%s)", name, got, fault, want, why)
		}
	}
	said := func(name, description string) Tool {
		return Tool{Name: name, Method: "GET", Path: "/x", Description: description, Needs: []string{"owner", "id"}}
	}
	f(said("get_gizmo", ""), "get_gizmo", "Get gizmo. Needs owner, id.", faultNothing)
	f(said("get_gizmo", "Get gizmo."), "get_gizmo", "Get gizmo. Needs owner, id.", faultRepeats)
	f(said("get_gizmo", "One gizmo with its parts."), "get_gizmo", "", "") // good
	f(said("delete_gizmo", "Deletes a gizmo."), "delete_gizmo", "", "")    // everybody knows the verb
	f(said("get_gizmo", "Post gizmo x3a4. Reads one gizmo."), "get_gizmo", "", "")
	f(said("get_gizmo_x3a4", "Get gizmo x3a4. reads one gizmo."), "get_gizmo", "Reads one gizmo.", faultRepeats)
	f(said("get_gizmo", "Get a gizmo. Gets the gizmo. It has parts."), "get_gizmo", "Get a gizmo. It has parts.", faultRepeats)
	f(said("get_gizmo", "Get a gizmo. OAuth app tokens need the gizmo scope. Returns: Success."), "get_gizmo", "Get a gizmo.", faultOthers)
	f(said("get_gizmo", "OAuth app tokens need the gizmo scope."), "get_gizmo", "Get gizmo. Needs owner, id.", faultRepeats)
	f(said("get_notes", "Get notes. Returns all notes of an issue. This operation can be accessed anonymously. Permissions required: Notes are included where the user has: Browse projects project permission for the project. Notes can be sorted."), "get_notes",
		"Returns all notes of an issue. Notes can be sorted.", faultOthers) // what it does comes first, not who may do it
	f(said("get_notes_x3a4", "Get notes x3a4. Returns note bean. Notes can be sorted."), "get_notes_x3a4", "Notes can be sorted. Returns note bean.", faultRepeats)
	// What callers need stays.
	f(said("get_gizmo", "Get a gizmo. Gets the gizmo. It has parts. It has wheels. It has doors. With a body, required: size. Returns the gizmo it got. Deprecated."), "get_gizmo",
		"Get a gizmo. It has parts. It has wheels. With a body, required: size. Returns the gizmo it got. Deprecated.", faultRepeats)
	f(said("get_gizmo", "Returns a gizmo with parts."), "get_gizmo", "", "")
}

func TestDescriptionsAreBounded(t *testing.T) {
	const fault = "OAuth app tokens need the gizmo scope. " // good ones are not touched, however long
	long := fault + strings.Repeat("Does a thing with another thing. ", 100)
	x := Tool{Name: "create_refund", Method: "POST", Path: "/refunds", Description: long[:1024]}
	got, _ := Describe(&x, x.Name)
	if len(got) > maxText+200 || strings.Count(got, ".") > maxSentences+1 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	var distinct strings.Builder
	for w := range strings.FieldsSeq("alpha beta gamma delta epsilon") {
		distinct.WriteString("Handles " + w + " first. ")
	}
	x.Description = fault + distinct.String()
	if got, _ := Describe(&x, x.Name); !strings.Contains(got, "gamma") || strings.Contains(got, "delta") {
		t.Errorf("not %d sentences: %q", maxSentences, got)
	}
	x.Description = fault + strings.Repeat("x", maxText) + ". " + strings.Repeat("y", maxText) + "."
	if got, _ := Describe(&x, x.Name); !strings.Contains(got, "xx.") || strings.Contains(got, "yy") {
		t.Errorf("the first sentence stays whole, the second is left out: %q", got)
	}
}
