package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// pluginABI is what third-party plugins speak.
const pluginABI = "extism/1"

// Room publishes plugins and keeps what is known of them.
type Room struct {
	Store     *store.Store
	Publisher *publish.Publisher
	Events    *publish.Events
	Log       *slog.Logger
	// Sandbox runs golden cases. nil: nothing can be published.
	Sandbox *extism.Host
	Policy  guest.Policy
	// Elsewhere finds the registry, repository and tag or digest of a reference with a
	// host. nil: such references are refused.
	Elsewhere func(reference string) (st *oci.Store, repository, tagOrDigest string, err error)
	// BoundBy lists the slugs of the toolsets that bind a version that matches.
	BoundBy func(ctx context.Context, ws *store.Workspace, match func(plugin, version string) bool) ([]string, error)

	leftOut leftOut
}

// submitted is a plugin that somebody wants to publish.
type submitted struct {
	pkg    *guest.Package
	pushed *publish.Plugin // it is in a registry already; nil: it was uploaded
	from   *oci.Store      // that registry; nil: our own
}

// readSubmission takes the module out of a request or out of the registry.
func (r *Room) readSubmission(ctx context.Context, ws *store.Workspace, in *PublishPlugin) (*submitted, error) {
	switch {
	case (len(in.Module) == 0) == (in.OCI == ""):
		return nil, problem.New(problem.InvalidArgument, "the request needs module or oci, and not both").Fix("upload the module, or push it and name it")
	case len(in.Module) > module.MaxBytes:
		large := module.TooLarge(int64(len(in.Module)))
		return nil, problem.New(problem.TooLarge, "the file cannot be used as a plugin: %s", large).Fix("%s", large.Remedy)
	case len(in.Module) > 0:
		g, err := guest.Open(in.Module)
		if err != nil {
			return nil, err
		}
		return &submitted{pkg: g}, nil
	}
	if strings.Contains(in.OCI, "/") {
		return r.readElsewhere(ctx, in.OCI)
	}
	name, reference, byDigest := strings.Cut(in.OCI, "@")
	if !byDigest {
		if name, reference, _ = strings.Cut(in.OCI, ":"); reference == "" {
			return nil, request.FieldFault("/oci", "%.80q names no tag or digest: write NAME:TAG", in.OCI)
		}
	}
	if !registry.ValidSlug(name) {
		return nil, request.FieldFault("/oci", "%.80q is not the name of a plugin: write NAME:TAG", name)
	}
	p, err := r.Publisher.FindPlugin(ctx, publish.PluginRepository(ws.ID(), name), reference)
	if err != nil {
		return nil, err
	}
	if p.Package.Manifest.Name != name {
		return nil, problem.New(problem.InvalidPlugin, "the plugin in the repository of %s is named %s", name, p.Package.Manifest.Name).
			Fix("push it to the repository that has its name")
	}
	return &submitted{pkg: p.Package, pushed: p}, nil
}

// readElsewhere takes the module out of a registry that the operator named.
func (r *Room) readElsewhere(ctx context.Context, reference string) (*submitted, error) {
	if r.Elsewhere == nil {
		return nil, problem.New(problem.InvalidArgument, "%.120q is in another registry, and this control plane names none that plugins may come from", reference).At("", 0, 0, "/oci").
			Fix("have the operator start it with --plugin-registry HOST, or push the plugin to this registry")
	}
	st, repository, at, err := r.Elsewhere(reference)
	if err != nil {
		return nil, err
	}
	p, err := publish.FindPlugin(ctx, st, repository, at)
	if err != nil {
		return nil, err
	}
	return &submitted{pkg: p.Package, pushed: p, from: st}, nil
}

// Publish publishes a version of a plugin: 201, or 200 when it was there with the same
// bytes. It tells phase what it is at.
func (r *Room) Publish(ctx context.Context, ws *store.Workspace, in *PublishPlugin, phase func(string)) (*request.Done, error) {
	phase("checking the module")
	sub, err := r.readSubmission(ctx, ws, in)
	if err != nil {
		return nil, err
	}
	if err := sub.pkg.CheckCode(); err != nil {
		return nil, err
	}
	m := sub.pkg.Manifest
	if _, err := registry.ParseVersion(m.Version); err != nil {
		return nil, problem.New(problem.InvalidPlugin, "the plugin's version %.80q is not major.minor.patch", m.Version).Fix("correct version in plugin.json and build it again")
	}
	if !registry.ValidSlug(m.Name) {
		return nil, problem.New(problem.InvalidPlugin, "the plugin's name %.80q is not a slug", m.Name).Fix("use lower-case letters, digits and inner hyphens")
	}
	keyID, err := r.verifySubmission(ctx, ws, in, sub)
	if err != nil {
		return nil, err
	}
	if have, err := ws.PluginVersion(ctx, m.Name, m.Version); err == nil {
		if have.Digest != sub.pkg.Digest {
			return nil, problem.New(problem.Conflict, "plugin %s %s was published before, with other bytes", m.Name, m.Version).
				Fix("a version never changes: publish it under the next one")
		}
		return r.published(ctx, ws, have, http.StatusOK)
	} else if !problem.Is(err, problem.NotFound) {
		return nil, err
	}
	phase("running its golden cases")
	cases, raw, err := readCases(in.Cases)
	if err != nil {
		return nil, err
	}
	measured, err := r.measure(ctx, sub.pkg, cases)
	if err != nil {
		return nil, err
	}
	if err := failedCases(measured); err != nil {
		return nil, err
	}
	phase("storing it")
	stored := sub.pushed
	if stored == nil || sub.from != nil {
		if stored, err = r.Publisher.Plugin(ctx, ws.ID(), m.Version, sub.pkg); err != nil {
			return nil, err
		}
	}
	row := &store.PluginVersion{
		Name: m.Name, Version: m.Version, Kind: string(m.Kind), Description: m.Description, Repository: stored.Ref.Repository, Tag: m.Version,
		Manifest: string(stored.Ref.Manifest), Digest: string(stored.Ref.Digest), Config: string(stored.Config), SizeBytes: int64(len(sub.pkg.Code)),
		Document: string(m.Append(nil)), KeyID: keyID, Cases: raw, Report: store.JSON(measured), CreatedBy: request.Of(ctx).ActorID(),
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		// The key may have been revoked while the cases ran.
		if k, err := tx.PublisherKey(ctx, keyID); err != nil || !k.RevokedAt.IsZero() {
			return problem.New(problem.InvalidPlugin, "the publisher key %.16s was revoked", keyID).Because(err)
		}
		if err := tx.AddPluginVersion(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "plugin.publish", m.Name+"@"+m.Version)
		rec.Digest = row.Digest
		rec.After = store.JSON(map[string]any{"kind": row.Kind, "keyId": keyID, "manifest": row.Manifest, "capabilities": showCapabilities(m.Capabilities), "oci": in.OCI})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	if row, err = ws.PluginVersion(ctx, m.Name, m.Version); err != nil {
		return nil, err
	}
	return r.published(ctx, ws, row, http.StatusCreated)
}

func (r *Room) published(ctx context.Context, ws *store.Workspace, row *store.PluginVersion, status int) (*request.Done, error) {
	v, err := r.usedVersion(ctx, ws, row)
	if err != nil {
		return nil, err
	}
	return &request.Done{Status: status, Resource: "/v1/plugins/" + row.Name + "/versions/" + row.Version, Body: *v}, nil
}

// verifySubmission returns the id of the publisher key that signed.
func (r *Room) verifySubmission(ctx context.Context, ws *store.Workspace, in *PublishPlugin, sub *submitted) (string, error) {
	rows, err := ws.ValidPublisherKeys(ctx)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", problem.New(problem.InvalidPlugin, "this workspace has no publisher key, so nothing can be published").
			Fix("have an administrator add one: sluice plugin key add FILE.pub")
	}
	keys := make([]*sign.PublisherKey, len(rows))
	for i := range rows {
		if keys[i], err = sign.ParsePublisherKey(rows[i].PublicKey); err != nil {
			return "", fmt.Errorf("reading publisher key %s: %w", rows[i].ID, err)
		}
	}
	m := sub.pkg.Manifest
	if len(in.Signature) > 0 {
		return sign.VerifyPlugin(in.Signature, keys, sign.PluginStatement{Digest: sub.pkg.Digest, Kind: string(m.Kind), Name: m.Name, Version: m.Version})
	}
	if sub.pushed != nil {
		from := sub.from
		if from == nil {
			from = r.Publisher.Artifacts()
		}
		bundles, err := from.CosignBundles(ctx, sub.pushed.Ref.Repository, sub.pushed.Ref.Manifest)
		if err != nil {
			return "", err
		}
		unknown := error(nil)
		if len(bundles) > 0 {
			id, err := sign.VerifyBundle(bundles, keys, sub.pushed.Ref.Manifest)
			if !errors.Is(err, sign.ErrUnknownSigner) {
				return id, err
			}
			unknown = err
		}
		sigs, err := from.CosignSignatures(ctx, sub.pushed.Ref.Repository, sub.pushed.Ref.Manifest)
		if err != nil {
			return "", err
		}
		if len(sigs) > 0 {
			return sign.VerifyCosign(sigs, keys, sub.pushed.Ref.Manifest)
		}
		if unknown != nil {
			return "", unknown
		}
	}
	return "", problem.New(problem.InvalidPlugin, "the plugin is not signed").Fix("sign it: sluice plugin sign, or cosign sign --key …")
}

// readCases reads golden cases and returns the form in which they are kept.
func readCases(in []PluginCase) ([]*golden.Case, []byte, error) {
	if len(in) == 0 {
		return nil, nil, problem.New(problem.InvalidPlugin, "the plugin has no golden cases: nothing shows that it works").
			Fix("write testdata/NAME.json; see docs/plugins/testing.md")
	}
	cases := make([]*golden.Case, len(in))
	for i, c := range in {
		var err error
		if cases[i], err = golden.Parse(c.Name, c.Case); err != nil {
			return nil, nil, problem.New(problem.InvalidPlugin, "golden case %.128s: %v", c.Name, err).Fix("see docs/plugins/testing.md")
		}
	}
	return cases, []byte(store.JSON(in)), nil
}

// measure runs the golden cases of a plugin in the sandbox, under the policy of
// this control plane. It fails when the plugin asks for more than it may have, or
// cannot be loaded.
func (r *Room) measure(ctx context.Context, g *guest.Package, cases []*golden.Case) (*PluginMeasured, error) {
	if r.Sandbox == nil {
		return nil, problem.New(problem.Unsupported, "this control plane has no sandbox to try plugins in")
	}
	if err := g.Check(r.Policy); err != nil {
		return nil, err
	}
	if err := g.CheckSchemas(); err != nil {
		return nil, err
	}
	out := &PluginMeasured{Cases: make([]PluginCaseResult, 0, len(cases)), At: r.Store.Now()}
	var took []float64
	for _, c := range cases {
		one, err := r.measureCase(ctx, g, c)
		if err != nil {
			return nil, err
		}
		out.Cases = append(out.Cases, one)
		out.TokensBefore += one.TokensBefore
		out.TokensAfter += one.TokensAfter
		took = append(took, one.Us)
	}
	slices.Sort(took)
	out.P50Us = took[len(took)/2]
	_, err := module.Meter(nil, g.Code)
	out.Metered = err == nil
	return out, nil
}

func (r *Room) measureCase(ctx context.Context, g *guest.Package, c *golden.Case) (PluginCaseResult, error) {
	out := PluginCaseResult{Name: c.Name}
	p, err := c.Load(r.Sandbox, g, func(int, string) {})
	if err != nil {
		return out, err
	}
	defer p.Close()
	if err := p.Compile(ctx); err != nil {
		return out, err
	}
	ran := golden.Run(ctx, g, p, c)
	out.OK, out.Diff, out.Us = ran.Diff == "", ran.Diff, float64(ran.Took.Nanoseconds())/1000
	if t := ran.Got.Tokens; t != nil {
		out.TokensBefore, out.TokensAfter = t.Before, t.After
	}
	return out, nil
}

// failedCases names what did not pass.
func failedCases(m *PluginMeasured) error {
	var failed []*problem.Error
	for i := range m.Cases {
		if c := &m.Cases[i]; !c.OK {
			failed = append(failed, problem.New(problem.TestFailed, "%s:\n%.2000s", c.Name, c.Diff).At("", 0, 0, fmt.Sprintf("/cases/%d", i)))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	e := problem.New(problem.TestFailed, "%d of %d golden cases do not give the expected output", len(failed), len(m.Cases)).
		Fix("run them: sluice plugin test")
	const shown = 8 // enough to see the pattern
	e.Parts = failed[:min(len(failed), shown)]
	return e
}

// Test runs the golden cases of a version again.
func (r *Room) Test(ctx context.Context, ws *store.Workspace, name, version string) (*PluginMeasured, error) {
	row, err := ws.PluginVersion(ctx, name, version)
	if err != nil {
		return nil, err
	}
	raw, err := ws.PluginCases(ctx, name, version)
	if err != nil {
		return nil, err
	}
	var kept []PluginCase
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, fmt.Errorf("reading the golden cases of %s %s: %w", name, version, err)
	}
	cases, _, err := readCases(kept)
	if err != nil {
		return nil, err
	}
	g, err := r.Publisher.OpenPlugin(ctx, RefOf(row))
	if err != nil {
		return nil, err
	}
	return r.measure(ctx, g, cases)
}

// RefOf is a version as a bundle names it, without what binds it.
func RefOf(row *store.PluginVersion) registry.PluginRef {
	return registry.PluginRef{
		Name: row.Name, Version: row.Version, Repository: row.Repository, Manifest: registry.Digest(row.Manifest), Digest: registry.Digest(row.Digest),
	}
}

// Yank takes a version out of what toolsets can newly bind, or undoes that.
func (r *Room) Yank(ctx context.Context, ws *store.Workspace, name, version string, in *YankRequest) (*PluginVersion, error) {
	row, err := ws.PluginVersion(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if (in.Reason == "") != in.Undo {
		return nil, request.FieldFault("/reason", "a reason is needed to yank a version, and none to put it back")
	}
	if in.Undo {
		if k, err := ws.PublisherKey(ctx, row.KeyID); err != nil {
			return nil, err
		} else if !k.RevokedAt.IsZero() {
			return nil, problem.New(problem.Conflict, "the publisher key that signed %s %s was revoked", row.Name, row.Version).
				Fix("publish the next version, signed with another key")
		}
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Yank(ctx, name, version, in.Reason); err != nil {
			return err
		}
		rec := request.Audit(ctx, "plugin.yank", name+"@"+version)
		if in.Undo {
			rec.Action = "plugin.unyank"
		}
		rec.Digest, rec.Reason = row.Digest, in.Reason
		if err := tx.Audit(ctx, rec); err != nil || in.Undo {
			return err
		}
		return tell(ctx, tx, TypeYanked, name, version, name+" "+version+" was yanked: toolsets that use it need another version", in.Reason)
	})
	if err != nil {
		return nil, err
	}
	return r.Version(ctx, ws, name, version)
}

// List lists plugins by name, each with its latest version alone.
func (r *Room) List(ctx context.Context, ws *store.Workspace, p store.Page) ([]Plugin, string, error) {
	names, next, err := ws.PluginNames(ctx, p)
	if err != nil {
		return nil, "", err
	}
	shown := make([]Plugin, len(names))
	for i, name := range names {
		all, err := r.Plugin(ctx, ws, name)
		if err != nil {
			return nil, "", err
		}
		for _, v := range all.Versions {
			if v.Version == all.Latest || all.Latest == "" {
				all.Versions = []PluginVersion{v}
				break
			}
		}
		shown[i] = *all
	}
	return shown, next, nil
}

// Plugin reads a plugin with its versions, the newest first.
func (r *Room) Plugin(ctx context.Context, ws *store.Workspace, name string) (*Plugin, error) {
	rows, err := ws.PluginVersions(ctx, name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b store.PluginVersion) int { return CompareVersions(b.Version, a.Version) })
	out := &Plugin{Name: name, Kind: rows[0].Kind, Description: rows[0].Description, Latest: Latest(rows)}
	for i := range rows {
		v, err := r.showPluginVersion(ctx, ws, &rows[i])
		if err != nil {
			return nil, err
		}
		out.Versions = append(out.Versions, *v)
	}
	return out, nil
}

// Latest is the highest release that is not yanked, else the highest pre-release,
// else "". rows are sorted, the newest first.
func Latest(rows []store.PluginVersion) string {
	pre := ""
	for i := range rows {
		v, err := registry.ParseVersion(rows[i].Version)
		switch {
		case err != nil || !rows[i].YankedAt.IsZero():
		case v.Pre == "":
			return rows[i].Version
		case pre == "":
			pre = rows[i].Version
		}
	}
	return pre
}

// CompareVersions orders versions that were checked when they were published.
func CompareVersions(a, b string) int {
	x, errX := registry.ParseVersion(a)
	y, errY := registry.ParseVersion(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(x.Compare(y), strings.Compare(a, b))
}

// Version reads a version and which toolsets bind it.
func (r *Room) Version(ctx context.Context, ws *store.Workspace, name, version string) (*PluginVersion, error) {
	row, err := ws.PluginVersion(ctx, name, version)
	if err != nil {
		return nil, err
	}
	return r.usedVersion(ctx, ws, row)
}

func (r *Room) usedVersion(ctx context.Context, ws *store.Workspace, row *store.PluginVersion) (*PluginVersion, error) {
	v, err := r.showPluginVersion(ctx, ws, row)
	if err != nil {
		return nil, err
	}
	v.UsedBy, err = r.BoundBy(ctx, ws, func(plugin, version string) bool { return plugin == row.Name && version == row.Version })
	return v, err
}

func (r *Room) showPluginVersion(ctx context.Context, ws *store.Workspace, row *store.PluginVersion) (*PluginVersion, error) {
	m, err := manifest.Parse([]byte(row.Document))
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of plugin %s %s: %w", row.Name, row.Version, err)
	}
	key, err := ws.PublisherKey(ctx, row.KeyID)
	if err != nil {
		return nil, err
	}
	used, err := ws.PluginUsage(ctx, row.Name, row.Version)
	if err != nil {
		return nil, err
	}
	v := &PluginVersion{
		Name: row.Name, Version: row.Version, Kind: row.Kind, Description: row.Description, Digest: row.Digest, Repository: row.Repository, Tag: row.Tag,
		Manifest: row.Manifest, SizeBytes: row.SizeBytes, ABI: pluginABI, Capabilities: showCapabilities(m.Capabilities), Asks: ShowAsks(m), Limits: showLimits(m), Config: m.Config, Tool: showTool(m.Tool),
		Signature: PluginSignature{KeyID: key.ID, Publisher: key.Name, Revoked: !key.RevokedAt.IsZero()}, Live: showUsage(used),
		Status: "published", YankedAt: row.YankedAt.Time, YankReason: row.YankReason, PublishedBy: row.CreatedBy, PublishedAt: row.CreatedAt.Time,
	}
	if !row.YankedAt.IsZero() {
		v.Status = "yanked"
	}
	if m.Kind == manifest.Filter || m.Kind == manifest.Projection {
		v.Effect = manifest.EffectSubset
		if m.Output != nil {
			v.Effect = m.Output.Effect
		}
	}
	if err := json.Unmarshal([]byte(row.Report), &v.Measured); err != nil {
		return nil, fmt.Errorf("reading the report of plugin %s %s: %w", row.Name, row.Version, err)
	}
	return v, nil
}

func showCapabilities(c *manifest.Capabilities) *PluginCapabilities {
	if c == nil || !c.Clock && !c.Random && len(c.Hosts) == 0 && c.Signing == nil && len(c.Tools) == 0 {
		return nil
	}
	out := &PluginCapabilities{Clock: c.Clock, Random: c.Random, Hosts: c.Hosts, Tools: c.Tools}
	if c.Signing != nil {
		out.Signing = &PluginSigning{Algorithm: c.Signing.Algorithm, Derivations: c.Signing.Derivations}
	}
	return out
}

func showLimits(m *manifest.Manifest) PluginLimits {
	l := guest.LimitsOf(m)
	out := PluginLimits{MemoryBytes: l.Memory, DeadlineMs: int(l.Deadline.Milliseconds())}
	if m.Kind == manifest.Workflow {
		if out.Calls = manifest.DefaultCalls; m.Limits != nil && m.Limits.Calls > 0 {
			out.Calls = m.Limits.Calls
		}
	}
	return out
}

func showTool(t *manifest.OfferedTool) *PluginTool {
	if t == nil {
		return nil
	}
	return &PluginTool{
		Name: t.Name, Title: t.Title, Description: t.Description, Annotations: Annotations(t.Annotations), InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
	}
}

func showUsage(u *store.PluginUsage) PluginLive {
	l := PluginLive{
		Calls: u.Calls, Errors: u.Errors, Traps: u.Traps, Deadlines: u.Deadlines, Unbound: u.Unbound, BytesIn: u.BytesIn, BytesOut: u.BytesOut,
	}
	if u.Calls > 0 {
		l.MeanUs = float64(u.Micros) / float64(u.Calls)
	}
	return l
}
