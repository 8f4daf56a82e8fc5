package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// defect is one that the product had, or could have, put into copies of its files.
type defect struct {
	name  string
	files map[string][]string // by file: what stands there, and what stood there
	found string              // promise that the simulation finds broken; "": any
}

var historic = []defect{
	{
		// A control plane that had not read the newest release of a group since it started
		// answered an edge of it with no credentials, and the edge kept nothing else.
		name: "not known yet is none",
		files: map[string][]string{
			"admin/edgeneeds.go": {
				`	key := group
	if rel != nil {`,
				`	key := group
	if rel == nil {
		return &groupNeeds{release: registry.ReleaseName{Epoch: 1, Revision: 1, Digest: registry.DigestOf(nil)}}, nil
	}
	if rel != nil {`,
			},
			"gateway/edge/vault.go": {
				`in.Release.Before(*known) {`, `in.Release.Before(*known) && false {`,
				`	values := maps.Clone(*v.values.Load())
	v.sent =`, `	values := map[string]registry.EdgeCredential{}
	v.sent =`,
			},
		},
		found: "an edge never loses a credential",
	},
	{
		// A backup read the index of the registry behind the contents.
		name: "contents before tags",
		files: map[string][]string{
			"admin/publish/backup/write.go": {
				`	for _, part := range indexOrder {
		if err := b.index(root, part, manifests); err != nil {
			return fmt.Errorf("read the index of the registry: %w", err)
		}
	}
	needed`, `	for _, part := range []string{"_blobs", "_manifests", "_referrers"} {
		if err := b.index(root, part, manifests); err != nil {
			return fmt.Errorf("read the index of the registry: %w", err)
		}
	}
	needed`,
				`	b.sum.Absent = len(b.absent)
	return nil`, `	b.sum.Absent = len(b.absent)
	return b.index(root, "_tags", manifests)`,
			},
		},
		found: "a backup restores",
	},
	{
		// Two processes ran on one data directory.
		name: "no lock",
		files: map[string][]string{
			"internal/filelock/lock_unix.go": {`syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)`, `error(nil)`},
		},
		found: "", // edges of the one do not learn what is changed at the other
	},
	{
		// Not one that the product had: it would answer an edge that was revoked.
		name: "revoked edges are answered",
		files: map[string][]string{
			"admin/store/edges.go": {`	case !row.RevokedAt.IsZero():
		return nil, EdgeRevoked()
	case !s.now()`, `	case !s.now()`},
		},
		found: "a revoked edge learns nothing",
	},
	{
		// Nor this one: an edge that asked before it was revoked would get the answer after.
		name: "an edge is looked up once",
		files: map[string][]string{
			"admin/fleet/protocol.go": {`	for {
		changed, rung := r.o.Publisher.Changed(), r.bell.Wait()
		e, err := r.edgeOf(req)
		if err != nil {
			return err
		}
`, `	e, err := r.edgeOf(req)
	if err != nil {
		return err
	}
	for {
		changed, rung := r.o.Publisher.Changed(), r.bell.Wait()
`},
		},
		found: "a revoked edge learns nothing",
	},
}

// maxDefectSeeds find a defect.
const maxDefectSeeds = 300

// TestDefects puts defects back that the product had: the simulation finds each.
func TestDefects(t *testing.T) {
	if !*defects {
		t.Skip("builds the simulation once for each defect: make sim")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range historic {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			overlay := map[string]string{}
			for name, changes := range d.files {
				path := filepath.Join(root, filepath.FromSlash(name))
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				changed := string(text)
				for i := 0; i < len(changes); i += 2 {
					if strings.Count(changed, changes[i]) != 1 {
						t.Fatalf("%s does not have this once, put the defect back in another way:\n%s", name, changes[i])
					}
					changed = strings.Replace(changed, changes[i], changes[i+1], 1)
				}
				overlay[path] = filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
				if err := os.WriteFile(overlay[path], []byte(changed), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text, err := json.Marshal(map[string]any{"Replace": overlay})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			binary := filepath.Join(dir, "sim.test")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.CommandContext(t.Context(), binary, "-test.run=^TestSimulation$", fmt.Sprintf("-sim.seeds=%d", maxDefectSeeds)).CombinedOutput()
			if err == nil {
				t.Fatalf("%d seeds do not find it", maxDefectSeeds)
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "sim_test.go") && strings.Contains(line, ": seed ") && strings.Contains(line, d.found) {
					t.Log(strings.TrimSpace(line))
					return
				}
			}
			t.Errorf("found, but not as %q:\n%s", d.found, out)
		})
	}
}
