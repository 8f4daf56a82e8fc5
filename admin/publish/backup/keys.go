package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry/sign"
)

// headKeys finds the keys that belong to the records and checks that they are there:
// a backup without them would restore to something that nobody can open.
func headKeys(ctx context.Context, moment *store.Snapshot, files map[string][]byte) (k HeadKeys, err error) {
	if k.Sealing, err = moment.SealedKeys(ctx); err != nil {
		return k, err
	}
	have, err := sealingIDs(files[filePlainKeys], files[fileWrappedKeys])
	if err != nil {
		return k, err
	}
	k.Outside = have == nil
	if missing := without(k.Sealing, have); !k.Outside && len(missing) > 0 {
		return k, problem.New(problem.Conflict, "the records are sealed with the key %s, and the key files hold %s", strings.Join(missing, ", "), strings.Join(have, ", ")).
			Fix("put the key file back that belongs to these records")
	}
	for name, id := range map[string]*string{fileReleaseKey: &k.Release, fileWorkspaceKey: &k.Workspace} {
		if *id, err = sign.KeyIDOf(files[name]); err != nil {
			return k, problem.New(problem.Conflict, "the key file cannot be used").At(name, 0, 0, "").Fix("put it back from a backup, or start the node, which makes it when it is new").Because(err)
		}
	}
	return k, nil
}

// sealingIDs are the ids of the keys in the key files; nil when there is none.
func sealingIDs(plain, wrapped []byte) ([]string, error) {
	switch {
	case wrapped != nil:
		return secrets.WrappedIDs(wrapped)
	case plain != nil:
		return secrets.PlainIDs(plain)
	}
	return nil, nil
}

// without returns what is wanted and not among what is there.
func without(want, have []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(have, id) })
}

// checkKeys compares the keys of a restored directory with its records and with what
// the backup says of itself. ring holds keys that are given as a value; nil: none are.
func checkKeys(ctx context.Context, dir string, head *Head, st *store.Store, ring *secrets.Keyring) (outside []string, err error) {
	read := func(name string) []byte {
		b, rerr := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return b
	}
	plain, wrapped, release, workspace := read(filePlainKeys), read(fileWrappedKeys), read(fileReleaseKey), read(fileWorkspaceKey)
	if err != nil {
		return nil, err
	}
	have, err := sealingIDs(plain, wrapped)
	if err != nil {
		return nil, damaged("its key-encryption keys cannot be read", err)
	}
	inside := have != nil
	if !inside && ring != nil {
		have = ring.IDs()
	}
	want, err := st.SealedKeys(ctx)
	if err != nil {
		return nil, err
	}
	missing := without(want, have)
	switch {
	case len(missing) == 0:
	case inside:
		return nil, damaged("its records are sealed with the key "+strings.Join(missing, ", ")+", which it does not hold", nil)
	case ring != nil:
		return nil, problem.New(problem.Conflict, "the records are sealed with the key %s, and SLUICE_MASTER_KEY gives %s", strings.Join(missing, ", "), strings.Join(have, ", ")).
			Fix("give the value that the control plane had when it was backed up")
	default:
		outside = missing
	}
	for _, k := range []struct {
		name, said string
		text       []byte
	}{{fileReleaseKey, head.Keys.Release, release}, {fileWorkspaceKey, head.Keys.Workspace, workspace}} {
		id, err := sign.KeyIDOf(k.text)
		if err != nil {
			return nil, damaged(k.name+" is missing or no key", err)
		}
		if head.Version > 1 && id != k.said {
			return nil, damaged(k.name+" is the key "+id[:16]+" and not the one that it says", nil)
		}
	}
	return outside, nil
}
