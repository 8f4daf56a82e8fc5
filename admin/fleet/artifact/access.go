package artifact

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// Authorize decides who may do what below /v2/: Basic with any user name
// and an API token as the password, for the repositories of the token's
// workspace; or an edge token, for the very contents of the edge's release. There
// is no anonymous access. Releases are read through /edge/v1 only.
func (room *Room) Authorize(r *http.Request, repository string, action server.Action) error {
	_, password, ok := r.BasicAuth()
	token := secrets.New(password)
	switch {
	case !ok:
		return server.ErrUnauthenticated
	case access.ValidTokenFor(access.EdgePrefix, token):
		return room.authorizeEdgePull(r, token, repository, action)
	case !access.ValidToken(token):
		return server.ErrUnauthenticated
	}
	row, err := room.Store.TokenByHash(r.Context(), access.HashToken(token))
	if problem.Is(err, problem.Unauthenticated) {
		room.Log.LogAttrs(r.Context(), slog.LevelWarn, "unknown API token at the registry", slog.String("client", request.Of(r.Context()).IP))
		return server.ErrUnauthenticated
	}
	if err != nil {
		return err
	}
	request.Of(r.Context()).Token = row
	need := store.RoleViewer
	switch action {
	case server.Pull:
	case server.Push:
		need = store.RolePublisher
	case server.Delete:
		need = store.RoleAdmin
	}
	inWorkspace := repository == "" || strings.HasPrefix(repository, row.WorkspaceID+"/")
	if !store.RoleAllows(row.Role, need) || !inWorkspace {
		return server.ErrDenied
	}
	switch action {
	case server.Push:
		return room.keepVersions(r, row.WorkspaceID, repository)
	case server.Delete:
		return room.keepLive(r, row.WorkspaceID, repository)
	}
	return nil
}

// Changed records a push or a delete that came through /v2/.
func (room *Room) Changed(r *http.Request, c server.Change) {
	ctx := context.WithoutCancel(r.Context()) // the client may leave; what it changed stays
	token := request.Of(ctx).Token
	if token == nil {
		return // edges only read
	}
	rec := request.Audit(ctx, "registry."+string(c.Action), c.Repository)
	rec.Digest = string(c.Digest)
	rec.After = store.JSON(map[string]any{"kind": c.Kind, "tag": c.Tag})
	room.Audit.Append(ctx, token.WorkspaceID, rec)
}

// keepLive refuses to delete what a live release needs: edges that start, or whose
// cache is damaged, could not get it any more. Deleting a tag takes nothing away. No
// release is made until the delete is done.
func (room *Room) keepLive(r *http.Request, workspace, repository string) error {
	ctx := r.Context()
	_, last, _ := strings.Cut(r.URL.Path, repository+"/")
	_, name, _ := strings.Cut(last, "/")
	d, err := registry.ParseDigest(name)
	if err != nil {
		return nil //nolint:nilerr // a tag, or nothing that can be deleted
	}
	groups, err := room.Store.Groups(ctx)
	if err != nil {
		return err
	}
	for _, group := range groups {
		release, err := room.Fleet.NeededBy(ctx, group, d)
		if problem.Is(err, problem.Unavailable) {
			room.Log.LogAttrs(ctx, slog.LevelWarn, "a registry delete is refused: what a release needs is not known", slog.String("group", group), slog.Any("error", err))
			return server.ErrUnavailable
		}
		if err != nil {
			return err
		}
		if release == nil {
			continue
		}
		refusal := problem.New(problem.Conflict, "release %s of the group %q of edges needs %s", release, group, d).
			Fix("deploy another revision of the toolset, or delete the toolset, and try again")
		rec := request.Audit(ctx, "registry.delete", repository)
		rec.Digest, rec.Outcome, rec.Reason = string(d), request.OutcomeFailed, refusal.Detail
		if err := room.Store.Workspace(workspace).Update(ctx, func(tx *store.Tx) error { return tx.Audit(ctx, rec) }); err != nil {
			return err
		}
		return refusal
	}
	return nil
}

// keepVersions refuses to move the tag of a published version of a plugin: who
// pulls it gets what was published.
func (room *Room) keepVersions(r *http.Request, workspace, repository string) error {
	name, isPlugin := strings.CutPrefix(repository, publish.PluginRepository(workspace, ""))
	_, tag, isManifest := strings.Cut(r.URL.Path, repository+"/manifests/")
	if !isPlugin || !isManifest || r.Method != http.MethodPut {
		return nil
	}
	_, err := room.Store.Workspace(workspace).PluginVersion(r.Context(), name, tag)
	switch {
	case problem.Is(err, problem.NotFound):
		return nil
	case err != nil:
		return err
	}
	return server.ErrDenied
}

func (room *Room) authorizeEdgePull(r *http.Request, token secrets.Secret, repository string, action server.Action) error {
	e, err := room.Store.EdgeByToken(r.Context(), access.HashToken(token))
	switch {
	case problem.Is(err, problem.Unauthenticated):
		return server.ErrUnauthenticated
	case problem.Is(err, problem.Forbidden):
		return server.ErrDenied
	case err != nil:
		return err
	case action != server.Pull:
		return server.ErrDenied
	case repository == "":
		return nil
	}
	// …/blobs/<digest> or …/manifests/<digest>: never a tag, a list or a referrer.
	_, last, _ := strings.Cut(r.URL.Path, repository+"/")
	kind, name, _ := strings.Cut(last, "/")
	d, err := registry.ParseDigest(name)
	if err != nil || kind != "blobs" && kind != "manifests" {
		return server.ErrDenied
	}
	may, err := room.Fleet.MayPull(r.Context(), e, d)
	if problem.Is(err, problem.Unavailable) {
		room.Log.LogAttrs(r.Context(), slog.LevelWarn, "an edge has to ask again for a content", slog.String("edge", e.ID), slog.Any("error", err))
		return server.ErrUnavailable
	}
	if err != nil {
		return err
	}
	if !may {
		return server.ErrDenied
	}
	return nil
}
