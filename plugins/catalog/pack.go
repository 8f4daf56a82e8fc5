package catalog

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
)

// MaxPackBytes of a packed catalog: some hundred entries of the size of the built-in ones.
const MaxPackBytes = 8 << 20

// Pack is a catalog as one document, which is signed and published.
type Pack struct {
	FormatVersion int       `json:"formatVersion"` // 1
	IssuedAt      time.Time `json:"issuedAt"`      // a node that has a newer one refuses it
	Entries       []File    `json:"entries"`       // by id
}

// File is the text of an entry.
type File struct {
	ID   string `json:"id"` // name of its file without .yaml
	Text string `json:"text"`
}

// PackDir packs the *.yaml files of a folder. It fails where [Read] finds a fault.
func PackDir(dir fs.FS, at time.Time) ([]byte, error) {
	list, faults := Read(dir)
	if len(faults) > 0 {
		p := problem.New(problem.InvalidArgument, "the catalog has entries that cannot be used").Fix("see: sluice catalog lint DIR")
		for _, fault := range faults {
			if part := problem.As(fault); part != nil {
				p.Parts = append(p.Parts, part)
			}
		}
		return nil, p.Because(faults[0])
	}
	if len(list) == 0 {
		return nil, problem.New(problem.NotFound, "the folder has no *.yaml file")
	}
	pack := Pack{FormatVersion: FormatVersion, IssuedAt: at.UTC().Truncate(time.Second)}
	for _, e := range list {
		text, err := fs.ReadFile(dir, e.ID+extension)
		if err != nil {
			return nil, fmt.Errorf("reading the entry %s: %w", e.ID, err)
		}
		pack.Entries = append(pack.Entries, File{e.ID, string(text)})
	}
	b, err := json.Marshal(&pack)
	if err != nil {
		return nil, fmt.Errorf("packing the catalog: %w", err)
	}
	if len(b) > MaxPackBytes {
		return nil, problem.New(problem.TooLarge, "the catalog has %d bytes, the limit is %d", len(b), MaxPackBytes)
	}
	return b, nil
}

// packDepth of nesting: a pack has three levels.
const packDepth = 4

// Unpack reads a packed catalog, whose signature the caller checked, and orders the
// entries by id. An entry at fault is left out; nothing of a pack is a file name.
func Unpack(b []byte) (pack *Pack, list []*Entry, faults []error, err error) {
	pack = new(Pack)
	if fault := strictjson.Decode(b, pack, MaxPackBytes, packDepth); fault != nil {
		return nil, nil, nil, problem.New(problem.InvalidArgument, "the catalog cannot be read: it %s", fault.Text).At("", 0, 0, fault.Pointer)
	}
	switch n := len(pack.Entries); {
	case pack.FormatVersion != FormatVersion:
		return nil, nil, nil, problem.New(problem.InvalidArgument, "the format of the catalog is %d, and this is version %d of it", pack.FormatVersion, FormatVersion)
	case pack.IssuedAt.IsZero():
		return nil, nil, nil, problem.New(problem.InvalidArgument, "the catalog does not say when it was issued")
	case n > maxEntries:
		return nil, nil, nil, problem.New(problem.TooLarge, "the catalog has %d entries, the limit is %d", n, maxEntries)
	}
	seen := map[string]bool{}
	for i := range pack.Entries {
		f := &pack.Entries[i]
		if len(f.ID) > maxID || !idPattern.MatchString(f.ID) || seen[f.ID] {
			faults = append(faults, problem.New(problem.InvalidArgument, "the id %.80q is taken, or not made of lower-case letters, digits and single hyphens", f.ID))
			continue
		}
		seen[f.ID] = true
		e, err := Parse(f.ID+extension, []byte(f.Text))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *Entry) int { return strings.Compare(a.ID, b.ID) })
	return pack, list, faults, nil
}
