package node

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// nodeKeys are the keys of a node. Each file is made at the first start, with
// mode 0600, and is never replaced.
type nodeKeys struct {
	ring               *secrets.Keyring
	release, workspace *sign.Key
}

// readKeys reads the keys that are there and makes none. missing are the files of the
// other ones.
func readKeys(from KEK, path func(string) string) (k nodeKeys, missing []string, err error) {
	plain, wrapped := path(datadir.MasterKey), path(datadir.WrappedKey)
	if from.absent(plain, wrapped) {
		missing = append(missing, from.file(plain, wrapped))
	} else if k.ring, err = from.Open(plain, wrapped); err != nil {
		return k, nil, err
	}
	k.release, err = sign.ReadReleaseKey(path(datadir.ReleaseKey))
	if errors.Is(err, fs.ErrNotExist) {
		missing, err = append(missing, path(datadir.ReleaseKey)), nil
	}
	if err != nil {
		return k, nil, err
	}
	k.workspace, err = sign.ReadKey(path(datadir.WorkspaceKey))
	if errors.Is(err, fs.ErrNotExist) {
		missing, err = append(missing, path(datadir.WorkspaceKey)), nil
	}
	return k, missing, err
}

// openKeys opens the keys of the node. What is missing is made only when the records do
// not need what is lost.
func (c *control) openKeys(ctx context.Context) (nodeKeys, error) {
	k, missing, err := readKeys(c.o.Records.Keys, c.path)
	if err != nil || len(missing) == 0 {
		return k, err
	}
	if err := c.openStore(ctx); err != nil {
		return k, err
	}
	for _, file := range missing {
		if err := c.mayMake(ctx, file); err != nil {
			return k, err
		}
	}
	if k.ring, err = c.o.Records.Keys.Open(c.path(datadir.MasterKey), c.path(datadir.WrappedKey)); err != nil {
		return k, err
	}
	if k.release, err = sign.OpenReleaseKey(c.path(datadir.ReleaseKey)); err != nil {
		return k, err
	}
	k.workspace, err = sign.OpenKey(c.path(datadir.WorkspaceKey))
	return k, err
}

// mayMake refuses to make a key that the records already have one of.
func (c *control) mayMake(ctx context.Context, file string) error {
	var ids []string
	var err error
	var what, use string
	switch file {
	case c.path(datadir.ReleaseKey):
		what, use = "release key", registry.UseRelease
	case c.path(datadir.WorkspaceKey):
		what, use = "workspace key", registry.UseWorkspace
	default:
		if ids, err = c.store.SealedKeys(ctx); err != nil || len(ids) == 0 {
			return err
		}
		return lostKey("the file of the key-encryption keys is missing, and the records hold secrets sealed with the key "+strings.Join(ids, ", "), file)
	}
	used, err := c.store.Used(ctx)
	if err != nil || !used {
		return err
	}
	if ids, err = c.store.ControlKeys(ctx, use); err != nil {
		return err
	}
	text := "the file of the " + what + " is missing, and the database is in use"
	if len(ids) > 0 {
		text += " with the key " + short(ids)
	}
	return lostKey(text, file)
}

func lostKey(text, file string) error {
	return problem.New(problem.Conflict, "%s", text).At(file, 0, 0, "").
		Fix("put the file back from a backup (sluice restore FILE), or name the data directory that belongs to this database; a new key would not open or sign what is there")
}

// short are identifiers as people compare them.
func short(ids []string) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id[:min(len(id), 16)]
	}
	return strings.Join(out, ", ")
}

// guardKeys refuses to start with other keys than those that the records belong to, and
// writes down which ones they are.
func (c *control) guardKeys(ctx context.Context, k nodeKeys) error {
	if err := k.fit(ctx, c.store, c.o.Records.Keys, c.path); err != nil {
		return err
	}
	for _, key := range k.signing() {
		known, err := c.store.ControlKeys(ctx, key.use)
		if err != nil {
			return err
		}
		if slices.Sort(key.ids); !slices.Equal(known, key.ids) {
			if err := c.store.SetControlKeys(ctx, key.use, key.ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckKeys reports that the keys of a data directory are other ones than those that its
// records belong to, which a start refuses, or cannot be read; of those that are missing it
// says nothing. It changes nothing.
func CheckKeys(ctx context.Context, st *store.Store, from KEK, dir string) error {
	path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	k, missing, err := readKeys(from, path)
	if err != nil || len(missing) > 0 {
		return err
	}
	return k.fit(ctx, st, from, path)
}

// signingKey is a key that records know by its identifiers.
type signingKey struct {
	use, file, text string
	ids             []string
}

func (k nodeKeys) signing() []signingKey {
	return []signingKey{
		{registry.UseRelease, datadir.ReleaseKey, "edges of these records trust the release key", k.release.IDs()},
		{registry.UseWorkspace, datadir.WorkspaceKey, "connectors of these records are signed with the workspace key", k.workspace.IDs()},
	}
}

// fit reports keys that are other ones than those that the records belong to.
func (k nodeKeys) fit(ctx context.Context, st *store.Store, from KEK, path func(string) string) error {
	sealed, err := st.SealedKeys(ctx)
	if err != nil {
		return err
	}
	have := k.ring.IDs()
	if lost := slices.DeleteFunc(sealed, func(id string) bool { return slices.Contains(have, id) }); len(lost) > 0 {
		return otherKey(from.file(path(datadir.MasterKey), path(datadir.WrappedKey)), "the records hold secrets sealed with the key-encryption key", lost, have)
	}
	for _, key := range k.signing() {
		known, err := st.ControlKeys(ctx, key.use)
		if err != nil {
			return err
		}
		// A release key is replaced in two steps, and signs beside the old one in between.
		if len(known) > 0 && !slices.ContainsFunc(key.ids, func(id string) bool { return slices.Contains(known, id) }) {
			return otherKey(path(key.file), key.text, known, key.ids)
		}
	}
	return nil
}

func otherKey(file, text string, want, have []string) error {
	return problem.New(problem.Conflict, "%s %s, and there is %s", text, short(want), short(have)).At(file, 0, 0, "").
		Fix("put back the key that belongs to these records, from a backup; or name the data directory and the database that belong together")
}

// guardRegistry refuses to start on an empty registry when the records have toolsets: a
// first, empty release would be signed, and edges would lose theirs.
func (c *control) guardRegistry(ctx context.Context, artifacts *oci.Store) error {
	used, err := c.store.AnyToolset(ctx)
	if err != nil || !used {
		return err
	}
	found, err := publish.LookUp(ctx, artifacts, c.store, publish.DefaultGroup)
	if err != nil || found.Artifact != nil {
		return nil //nolint:nilerr // whoever reads the release says what is wrong with it
	}
	return problem.New(problem.Conflict, "the records have toolsets, and the registry holds no release").At(c.path(datadir.Registry), 0, 0, "").
		Fix("put the registry's directory back, or restore a backup: sluice restore FILE")
}

// absent reports whether the keys are in a file that is not there.
func (k KEK) absent(plain, wrapped string) bool {
	missing := func(path string) bool {
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	switch {
	case !k.Value.IsZero():
		return false
	case len(k.Command) > 0:
		return missing(wrapped) && missing(plain)
	}
	return missing(plain) && missing(wrapped)
}

// file names where the keys are expected.
func (k KEK) file(plain, wrapped string) string {
	switch {
	case !k.Value.IsZero():
		return cmp.Or(k.from, "SLUICE_MASTER_KEY")
	case len(k.Command) > 0:
		return wrapped
	}
	return plain
}

// KEK says where the key-encryption keys are. Zero: in a file of the data
// directory.
type KEK struct {
	Value   secrets.Secret // the keys themselves
	Command []string       // program that wraps them, and its arguments
	from    string         // file that the value was read from. Default: the environment
}

// Open opens the keyring: plain is the file of keys in the clear, wrapped the one of
// keys that the command wrapped.
func (k KEK) Open(plain, wrapped string) (*secrets.Keyring, error) {
	_, err := os.Stat(wrapped)
	switch {
	case !k.Value.IsZero() && len(k.Command) > 0:
		return nil, problem.New(problem.InvalidArgument, "SLUICE_MASTER_KEY gives the keys, and --kek-command wraps them: use one")
	case len(k.Command) > 0:
		return secrets.OpenWrapped(wrapped, plain, &secrets.Command{Args: k.Command})
	case err == nil:
		return nil, problem.New(problem.InvalidArgument, "the keys of this data directory are wrapped by a command").At(wrapped, 0, 0, "").
			Fix("give it with --kek-command or SLUICE_KEK_COMMAND")
	case !k.Value.IsZero():
		ring, err := secrets.Parse(k.Value)
		if p := problem.As(err); p != nil && k.from != "" {
			return nil, p.At(k.from, 0, 0, "")
		}
		return ring, err
	}
	return secrets.OpenFile(plain)
}
