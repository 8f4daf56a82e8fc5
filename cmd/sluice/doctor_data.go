package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/internal/node"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// tightSpace is where a disk is called nearly full: a collection, a migration and a
// day of usage still fit.
const tightSpace = 1 << 30

// isDirectory reports whether an argument means a directory and not a toolset, whose
// slug has no separator.
func isDirectory(arg string) bool {
	if strings.ContainsAny(arg, `/\`) || arg == "." || arg == ".." {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.IsDir()
}

const edgeIdentity = datadir.Edge + "/identity.json"

// isEdge reports whether dir is the data directory of an edge: a node that was a control plane
// before has keys, too.
func isEdge(dir string) bool {
	for _, name := range []string{datadir.MasterKey, datadir.WrappedKey, datadir.ReleaseKey} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(edgeIdentity)))
	return err == nil
}

// data checks a data directory from outside: nothing in it is changed.
func (d *doctor) data(ctx context.Context, dir string) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrPermission) {
		d.unreadable("data directory", dir)
		return
	}
	if err != nil || !info.IsDir() {
		d.fail("data directory", "there is no directory "+dir, "name the directory that --data names")
		return
	}
	if info.Mode().Perm()&0o077 != 0 {
		d.warn("data directory", fmt.Sprintf("%s can be read by others (mode %04o)", dir, info.Mode().Perm()), "chmod 700 "+dir)
	}
	path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	if _, err := os.ReadDir(dir); errors.Is(err, fs.ErrPermission) {
		d.unreadable("data directory", dir)
		return
	}
	d.space(dir)
	d.spool(path(datadir.Usage))
	keyFile := path(datadir.MasterKey)
	if _, err := os.Stat(path(datadir.WrappedKey)); err == nil {
		keyFile = path(datadir.WrappedKey)
	}
	if isEdge(dir) {
		d.private("keys", path(edgeIdentity))
		d.ok("edge", "an edge: its cache is verified at each start, and heals itself")
		return
	}
	files := []string{path(datadir.ReleaseKey), path(datadir.WorkspaceKey)}
	if d.Env.MasterKey.IsZero() {
		files = append([]string{keyFile}, files...)
	}
	usable := d.private("keys", files...)
	usable = d.keyring(path(datadir.MasterKey), path(datadir.WrappedKey)) && usable
	o := d.databaseOf("", true)
	if o.Path != "" {
		o.Path = path(datadir.Database)
	}
	st, err := store.Open(ctx, o)
	if err != nil {
		d.failErr("records", err)
	} else {
		defer func() { _ = st.Close() }() // only read
		if d.records(ctx, st) && usable {
			if err := node.CheckKeys(ctx, st, d.kek(""), dir); err != nil {
				d.failErr("keys of the records", err) // what they signed would look forged
				return
			}
		}
		d.auditHeads(ctx, st, path(datadir.Audit), path(datadir.ReleaseKey))
	}
	if _, err := os.Stat(path(datadir.Registry)); err != nil {
		d.fail("contents", "there is no registry in "+dir, "restore a backup: sluice restore FILE")
		return
	}
	at, err := artifacts.PlacesOf(path(datadir.Registry))
	if err != nil {
		d.failErr("contents", err)
		return
	}
	kept, err := d.openArtifacts(ctx, path(datadir.Registry), at)
	if err != nil {
		d.failErr("contents", err)
		return
	}
	if kept.Files != nil {
		d.contents(ctx, kept.Files)
	}
	d.releases(ctx, kept, path(datadir.ReleaseKey), st)
}

// private checks that files are there and that only their owner can read them, and reports
// whether that is so.
func (d *doctor) private(check string, paths ...string) (good bool) {
	good = true
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrPermission):
			good = false
			d.unreadable(check, p)
		case err != nil:
			good = false
			d.fail(check, p+" is missing", "restore it from a backup; a new one cannot open what the old one sealed")
		case info.Mode().Perm()&0o077 != 0:
			good = false
			d.fail(check, fmt.Sprintf("%s can be read by others (mode %04o)", p, info.Mode().Perm()), "chmod 600 "+p)
		}
	}
	if good {
		d.ok(check, "%s, readable by the owner only", terminal.Plural(len(paths), "file"))
	}
	return good
}

func (d *doctor) space(dir string) {
	free, known := datadir.Free(dir)
	switch {
	case !known:
	case free < tightSpace:
		d.fail("disk", terminal.ByteSize(free)+" are free", "make room: beyond it nothing can be published, and usage is lost at a stop")
	default:
		d.ok("disk", "%s are free", terminal.ByteSize(free))
	}
}

// spool looks at usage that was not posted.
func (d *doctor) spool(dir string) {
	waiting, _ := filepath.Glob(filepath.Join(dir, "*.json"))    // the pattern is valid
	refused, _ := filepath.Glob(filepath.Join(dir, "*.refused")) // the pattern is valid
	if len(refused) > 0 {
		d.warn("usage", terminal.Plural(len(refused), "report")+" were refused by the control plane and put aside in "+dir, "look at the log of the node; remove them when they are of no use")
	}
	if len(waiting) > 0 {
		d.ok("usage", "%s wait to be posted", terminal.Plural(len(waiting), "report"))
	}
}

// records checks the records, and reports whether they can be read.
func (d *doctor) records(ctx context.Context, st *store.Store) bool {
	if err := st.Check(ctx); err != nil {
		d.failErr("records", err)
		return false
	}
	ids, err := st.Workspaces(ctx)
	if err != nil {
		d.failErr("records", err)
		return false
	}
	audits := uint64(0)
	for _, id := range ids {
		n, err := st.Workspace(id).VerifyAudit(ctx)
		if err != nil {
			d.failErr("audit log of "+id, err)
		}
		audits += n
	}
	d.ok("records", "schema as this program's, %s, %s in the audit log", terminal.Plural(len(ids), "workspace"), terminal.Plural(int(min(audits, 1<<50)), "record"))
	return true
}

// auditHeads compares the audit logs with the heads that were signed and kept outside
// of the database.
func (d *doctor) auditHeads(ctx context.Context, st *store.Store, dir, keyFile string) {
	if _, err := os.Stat(keyFile); err != nil {
		return // said before, and a key must not be made here
	}
	key, err := sign.OpenReleaseKey(keyFile)
	var trust *sign.Trust
	if err == nil {
		trust, err = sign.NewTrust(key.TrustedAll(registry.UseRelease, ""), registry.UseRelease)
	}
	var ids []string
	if err == nil {
		ids, err = st.Workspaces(ctx)
	}
	if err != nil {
		d.failErr("audit heads", err)
		return
	}
	good := true
	for _, id := range ids {
		if err := audit.VerifyKept(ctx, dir, st.Workspace(id), trust); err != nil {
			good = false
			d.failErr("audit head of "+id, err)
		}
	}
	if good {
		d.ok("audit heads", "every audit log reaches the head that was signed of it")
	}
}

// contents hashes everything in the registry.
func (d *doctor) contents(ctx context.Context, files *server.Store) {
	total, size := 0, int64(0)
	var bad []string
	err := files.Content().Walk(ctx, func(digest registry.Digest, n int64, _ time.Time) error {
		total, size = total+1, size+n
		if err := files.Content().Verify(ctx, digest); err != nil {
			bad = append(bad, digest.Short())
		}
		return nil
	})
	switch {
	case err != nil:
		d.failErr("contents", err)
	case len(bad) > 0:
		d.fail("contents", fmt.Sprintf("%d of %d do not have the bytes they are named by: %s", len(bad), total, strings.Join(bad[:min(len(bad), 5)], ", ")),
			"restore a backup; the disk may be failing")
	default:
		d.ok("contents", "%d, %s, each as its digest says", total, terminal.ByteSize(size))
	}
}

// releases verifies the newest release of each group, and the clock by it.
func (d *doctor) releases(ctx context.Context, kept oci.Backend, keyFile string, st *store.Store) {
	if _, err := os.Stat(keyFile); err != nil {
		return // said before, and a key must not be made here
	}
	key, err := sign.OpenReleaseKey(keyFile)
	if err != nil {
		d.failErr("release", err)
		return
	}
	trusted := key.TrustedAll(registry.UseRelease, "")
	groups := []string{publish.DefaultGroup}
	if st != nil {
		if groups, err = st.Groups(ctx); err != nil {
			d.failErr("release", err)
			return
		}
	}
	artifacts := oci.NewStore(kept)
	for _, g := range groups {
		source := oci.NewSource(artifacts, g, 0)
		env, err := source.Release(ctx, "")
		if err != nil {
			d.failErr("release of "+g, err)
			continue
		}
		ratchet, err := sign.NewRatchet(g, trusted, nil)
		if err != nil {
			d.failErr("release of "+g, err)
			continue
		}
		r, err := ratchet.Accept(env)
		if err != nil {
			d.failErr("release of "+g, err)
			continue
		}
		rel, now := r.Release(), time.Now()
		if st != nil {
			epoch, revision, err := st.ReleaseMark(ctx, g)
			if err != nil {
				d.failErr("release of "+g, err)
				continue
			}
			if epoch > 0 && (epoch < rel.Epoch || epoch == rel.Epoch && revision < rel.Revision) {
				d.fail("release of "+g, fmt.Sprintf("%d.%d is newer than the records, which know %d.%d: nothing will be published", rel.Epoch, rel.Revision, epoch, revision),
					"put the newest records back, or decide for these: sluice release resume --reason WHY")
				continue
			}
		}
		switch {
		case rel.Issued.After(now.Add(time.Minute)):
			d.fail("clock", fmt.Sprintf("release %d.%d of %s was issued %s from now", rel.Epoch, rel.Revision, g, rel.Issued.Sub(now).Round(time.Second)), "set the clock of this machine")
		case r.Expired(now):
			d.warn("release of "+g, fmt.Sprintf("%d.%d is past its expiry", rel.Epoch, rel.Revision), "start the control plane: it signs a new one")
		default:
			d.ok("release of "+g, "%d.%d, signed by the key of this directory, %s", rel.Epoch, rel.Revision, terminal.Plural(len(rel.Toolsets), "toolset"))
		}
	}
}

// keyring checks that the key-encryption keys can be had, and reports whether nothing keeps
// the doctor from opening them.
func (d *doctor) keyring(plain, wrapped string) bool {
	o := d.kek("")
	_, plainErr := os.Stat(plain)
	_, wrappedErr := os.Stat(wrapped)
	switch {
	case len(o.Command) > 0 && wrappedErr == nil:
		ring, err := o.Open(plain, wrapped)
		if err != nil {
			d.failErr("key command", err)
			return false
		}
		d.ok("key command", "unwraps %s", terminal.Plural(len(ring.IDs()), "key"))
	case wrappedErr == nil:
		d.warn("key command", "the keys are wrapped by a command, which was not tried", "set SLUICE_KEK_COMMAND, or kek-command in the configuration file, and look again")
		return false
	case plainErr == nil && !o.Value.IsZero():
		d.warn("keys", "SLUICE_MASTER_KEY is set, and there is a key file too", "remove "+plain+" when everything is sealed under the key of the environment")
	}
	return true
}

// unreadable says that a file may be there: whoever restored a backup over it would lose what is newer.
func (d *doctor) unreadable(check, path string) {
	d.fail(check, "this user may not look at "+path, "run sluice doctor as root, or as the user that the node runs as")
}
