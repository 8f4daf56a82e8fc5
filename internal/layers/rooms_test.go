package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// rooms lists, for each room of the control plane (a directory below admin), the
// rooms whose packages it may import, from the bottom up. The API on top, package
// admin, imports what it needs. Inside a room, within decides as everywhere else.
var rooms = map[string][]string{
	"store":   {},
	"request": {"store"},
	"notify":  {"store", "request"},
	"publish": {"store", "request", "notify"},
	"toolset": {"store", "request", "publish"},
	"login":   {"store", "request", "publish", "toolset"},
	"member":  {"store", "request", "notify", "toolset"},
	"catalog": {"store", "request", "notify", "toolset", "member"},
	"fleet":   {"store", "request", "publish", "toolset"},
	"draft":   {"store", "request", "publish", "toolset", "login", "catalog"},
	"change":  {"store", "request", "notify", "publish", "toolset", "login", "catalog", "fleet", "draft"},
	"front":   {"store", "request", "notify", "publish", "toolset", "login", "member", "catalog"},
	"console": {},
}

// How many rooms there may be, and permissions between them: a picture that one can keep in mind.
const maxRooms, maxRoomLinks = 13, 60

// room is the room of the control plane that a package stands in, or "".
func room(p string) string {
	rest, below := strings.CutPrefix(p, "admin/")
	if !below {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func TestRooms(t *testing.T) {
	module, ps := list(t)
	for _, fault := range roomFaults(module, ps, rooms) {
		t.Error(fault)
	}
}

// roomFaults lists what is wrong between rooms: packages that import another room than
// theirs may use, permissions that no import uses, circles, and too much of either.
func roomFaults(module string, ps []*pkg, rooms map[string][]string) (out []string) {
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	used := map[[2]string]bool{}
	for _, p := range ps {
		from := room(p.path)
		if from == "" {
			continue
		}
		if _, known := rooms[from]; !known {
			fault("%s: room %s is not in rooms; a package belongs in one that is there", p.path, from)
		}
		for _, imp := range p.imports {
			own, ours := strings.CutPrefix(imp, module+"/")
			to := room(own)
			if !ours || to == "" || to == from {
				continue
			}
			used[[2]string{from, to}] = true
			if !slices.Contains(rooms[from], to) {
				fault("%s imports %s: room %s may not use room %s", p.path, own, from, to)
			}
		}
	}
	links := 0
	for _, from := range slices.Sorted(maps.Keys(rooms)) {
		links += len(rooms[from])
		for _, to := range rooms[from] {
			if !used[[2]string{from, to}] {
				fault("rooms allows %s to use %s, and it does not", from, to)
			}
		}
	}
	for left := maps.Clone(rooms); len(left) > 0; {
		before := len(left)
		maps.DeleteFunc(left, func(_ string, uses []string) bool {
			return !slices.ContainsFunc(uses, func(to string) bool { _, above := left[to]; return above })
		})
		if len(left) == before {
			fault("rooms use each other in a circle: %v", slices.Sorted(maps.Keys(left)))
			break
		}
	}
	if len(rooms) > maxRooms || links > maxRoomLinks {
		fault("%d rooms with %d permissions: at most %d and %d", len(rooms), links, maxRooms, maxRoomLinks)
	}
	return out
}

// TestRoomFaults: each rule finds a violation, and nothing in what is allowed.
func TestRoomFaults(t *testing.T) {
	type table = map[string][]string
	good := func() ([]*pkg, table) {
		return []*pkg{
			{path: "admin", imports: []string{"m/admin/draft"}},
			{path: "admin/draft/trial", imports: []string{"m/admin/draft", "m/admin/store/listing", "fmt"}},
			{path: "admin/store/listing"},
		}, table{"store": {}, "draft": {"store"}}
	}
	ps, allowed := good()
	if got := roomFaults("m", ps, allowed); got != nil {
		t.Fatalf("faults of what is allowed: %q", got)
	}
	for want, spoil := range map[string]func(ps []*pkg, rooms table){
		"admin/attic/trunk: room attic is not in rooms":                     func(ps []*pkg, _ table) { ps[2].path = "admin/attic/trunk" },
		"admin/store/listing imports admin/draft: room store may not":       func(ps []*pkg, _ table) { ps[2].imports = []string{"m/admin/draft"} },
		"rooms allows draft to use store, and it does not":                  func(ps []*pkg, _ table) { ps[1].imports = nil },
		"rooms use each other in a circle: [draft store]":                   func(_ []*pkg, rooms table) { rooms["store"] = []string{"draft"} },
		fmt.Sprintf("%d rooms with 1 permissions: at most", maxRooms+1):     func(_ []*pkg, rooms table) { fill(rooms, maxRooms+1) },
		fmt.Sprintf("2 rooms with %d permissions: at most", maxRoomLinks+1): func(_ []*pkg, rooms table) { rooms["draft"] = make([]string, maxRoomLinks+1) },
	} {
		ps, rooms := good()
		spoil(ps, rooms)
		got := roomFaults("m", ps, rooms)
		if !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("faults %q, want one that begins with %q", got, want)
		}
	}
}

func fill(rooms map[string][]string, n int) {
	for i := len(rooms); i < n; i++ {
		rooms[fmt.Sprint("room ", i)] = nil
	}
}
