package grant

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// Grant lets one toolset call one private address from this node.
type Grant struct {
	ID        string    `json:"id" example:"grant_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Workspace string    `json:"workspace"`
	Toolset   string    `json:"toolset" doc:"Id of the toolset."`
	Slug      string    `json:"toolsetSlug,omitempty" doc:"Slug of the toolset." example:"petstore"`
	Address   string    `json:"address" doc:"Address and port that may be called." example:"127.0.0.1:8080"`
	Host      string    `json:"host,omitempty" doc:"Name that had the address when it was granted. A name that has another address later is not granted by that."`
	Reason    string    `json:"reason,omitempty"`
	CreatedBy string    `json:"createdBy,omitempty" doc:"API token that made it."`
	CreatedAt time.Time `json:"createdAt"`
}

// CreateGrant asks for grants.
type CreateGrant struct {
	Workspace string `json:"workspace,omitempty" maxLength:"63" doc:"Of the toolset. Default: that of the token."`
	Toolset   string `json:"toolset" minLength:"1" maxLength:"64" doc:"Id or slug."`
	Address   string `json:"address" minLength:"1" maxLength:"2048" doc:"host:port or a URL. All private addresses that the name has now are granted; a name that has public ones too is refused."`
	Reason    string `json:"reason,omitempty" maxLength:"1000" doc:"For the list and the audit log."`
}

// Grants answers the creation of grants.
type Grants struct {
	Items []Grant `json:"items" doc:"Those of the address, also where they were there before. Empty: it needs none."`
}

// Seen is a private address that the operator named in a request.
type Seen struct {
	host string // as it was named, with the port
	at   netip.AddrPort
}

// Room keeps the grants of toolsets.
type Room struct {
	Store *store.Store
	Log   *slog.Logger
	// Dialer learns of grants, each for the id of a toolset. nil: none can be granted.
	Dialer *safedial.Dialer
}

// operatorHere reports whether a request is the word of the operator about addresses
// that it names in passing: of an administrator of the operator's workspace, on this
// machine. Everybody else, and elsewhere, says it by creating a grant.
func operatorHere(ctx context.Context) bool {
	req := request.Of(ctx)
	return req.Local && req.Token != nil && request.RequireOperator(ctx) == nil
}

// See returns a context that may dial the private addresses that the operator
// named in a request, and which those are: none of anybody else's request. Nothing is
// granted before [Room.GrantSeen]. What cannot be granted is refused when it is
// dialed, with the reason.
func (r *Room) See(ctx context.Context, named []string) (context.Context, []Seen) {
	if r.Dialer == nil || !operatorHere(ctx) {
		return ctx, nil
	}
	var all []Seen
	for _, raw := range named {
		host := hostPortOf(raw)
		if host == "" {
			continue
		}
		addrs, err := r.Dialer.Seen(ctx, host)
		if err != nil {
			continue
		}
		for _, a := range addrs {
			all = append(all, Seen{host, a})
		}
	}
	return safedial.WithAddresses(ctx, Addresses(all)), all
}

// Addresses are those that were seen.
func Addresses(all []Seen) []netip.AddrPort {
	out := make([]netip.AddrPort, len(all))
	for i, a := range all {
		out[i] = a.at
	}
	return out
}

// hostPortOf is host and port of a URL; empty when it is none.
func hostPortOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		if port = "80"; u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// GrantSeen lets a toolset call what the operator named from now on. It returns what is
// new, for people.
func (r *Room) GrantSeen(ctx context.Context, ws *store.Workspace, toolset string, all []Seen) ([]string, error) {
	rows, isNew, err := r.add(ctx, ws, toolset, "named by the operator on this machine", all)
	if err != nil {
		return nil, err
	}
	var hosts []string
	addresses := map[string][]string{}
	for i, seen := range all {
		if !isNew[i] {
			continue
		}
		host := seen.host
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
		if rows[i].Address != host {
			addresses[host] = append(addresses[host], seen.at.Addr().String())
		}
	}
	for i, h := range hosts {
		if len(addresses[h]) > 0 {
			hosts[i] = h + " (" + strings.Join(addresses[h], ", ") + ")"
		}
	}
	return hosts, nil
}

// GrantNamed lets a toolset call the addresses that the operator named in an edit of it.
func (r *Room) GrantNamed(ctx context.Context, ws *store.Workspace, toolset string, named ...string) error {
	_, all := r.See(safedial.WithHolder(ctx, toolset), named)
	_, err := r.GrantSeen(ctx, ws, toolset, all)
	return err
}

// add writes grants and puts them in force: rows are in the order of all.
func (r *Room) add(ctx context.Context, ws *store.Workspace, toolset, reason string, all []Seen) (rows []store.Grant, isNew []bool, err error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		rows, isNew = make([]store.Grant, len(all)), make([]bool, len(all)) // it may run again
		for i, a := range all {
			rows[i] = store.Grant{ToolsetID: toolset, Address: a.at.String(), Actor: request.Of(ctx).ActorID(), Reason: reason}
			if a.host != a.at.String() {
				rows[i].Host, _, _ = net.SplitHostPort(a.host)
			}
			var err error
			if isNew[i], err = tx.AddGrant(ctx, &rows[i]); err != nil {
				return err
			}
			if !isNew[i] {
				continue
			}
			rec := request.Audit(ctx, "grant.add", toolset)
			rec.Reason, rec.After = reason, audited(&rows[i])
			if err := tx.Audit(ctx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("granting addresses to toolset %s: %w", toolset, err)
	}
	for i := range all {
		if err := r.Dialer.Grant(toolset, all[i].at); err != nil {
			return nil, nil, err
		}
	}
	return rows, isNew, nil
}

func audited(row *store.Grant) string {
	return store.JSON(map[string]string{"id": row.ID, "address": row.Address, "host": row.Host})
}

// Restore puts the grants of a workspace in force. What cannot be granted any more,
// because this node listens there now, stays refused.
func (r *Room) Restore(ctx context.Context, workspace string) error {
	if r.Dialer == nil {
		return nil
	}
	rows, err := r.Store.Workspace(workspace).Grants(ctx, "")
	if err != nil {
		return err
	}
	for i := range rows {
		at, err := netip.ParseAddrPort(rows[i].Address)
		if err == nil {
			err = r.Dialer.Grant(rows[i].ToolsetID, at)
		}
		if err != nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "a grant of a private address is not in force", slog.String("toolset", rows[i].ToolsetID),
				slog.String("address", rows[i].Address), slog.Any("error", err))
		}
	}
	return nil
}

// Drop ends the grants of a toolset that is no more.
func (r *Room) Drop(toolset string) {
	if r.Dialer != nil {
		r.Dialer.RevokeAll(toolset)
	}
}

func show(row *store.Grant) Grant {
	return Grant{
		ID: row.ID, Workspace: row.WorkspaceID, Toolset: row.ToolsetID, Slug: row.Slug, Address: row.Address, Host: row.Host, Reason: row.Reason,
		CreatedBy: row.Actor, CreatedAt: row.CreatedAt.Time,
	}
}

// workspace is a workspace whose grants a request may see: the token's own, or for the
// operator any.
func (r *Room) workspace(ctx context.Context, workspace string) (*store.Workspace, error) {
	if workspace == "" || workspace == request.Of(ctx).Token.WorkspaceID {
		return request.Workspace(ctx, r.Store), nil
	}
	if err := request.RequireOperator(ctx); err != nil {
		return nil, err
	}
	known, err := r.Store.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, workspace) {
		return nil, problem.New(problem.NotFound, "there is no workspace %.80q", workspace)
	}
	return r.Store.Workspace(workspace), nil
}

// List are the grants of a workspace, or of one toolset in it, by id or slug. "" is the
// workspace of the request; another one is for the operator only.
func (r *Room) List(ctx context.Context, workspace, toolset string) (Grants, error) {
	ws, err := r.workspace(ctx, workspace)
	if err != nil {
		return Grants{}, err
	}
	if toolset != "" {
		ts, err := ws.FindToolset(ctx, toolset)
		if err != nil {
			return Grants{}, err
		}
		toolset = ts.ID
	}
	rows, err := ws.Grants(ctx, toolset)
	if err != nil {
		return Grants{}, err
	}
	return showAll(rows), nil
}

func showAll(rows []store.Grant) Grants {
	out := Grants{Items: make([]Grant, len(rows))}
	for i := range rows {
		out.Items[i] = show(&rows[i])
	}
	return out
}

// Create grants the private addresses that a name has now. It is for the operator only.
func (r *Room) Create(ctx context.Context, in *CreateGrant) (Grants, error) {
	if err := request.RequireOperator(ctx); err != nil {
		return Grants{}, err
	}
	if r.Dialer == nil {
		return Grants{}, problem.New(problem.Unsupported, "this node grants no addresses")
	}
	ws, err := r.workspace(ctx, in.Workspace)
	if err != nil {
		return Grants{}, err
	}
	ts, err := ws.FindToolset(ctx, in.Toolset)
	if err != nil {
		return Grants{}, err
	}
	host := in.Address
	if strings.Contains(host, "://") {
		if host = hostPortOf(host); host == "" {
			return Grants{}, problem.New(problem.InvalidArgument, "the address is not a URL").At("", 0, 0, "/address")
		}
	}
	if h, _, err := net.SplitHostPort(host); err != nil || h == "" {
		return Grants{}, problem.New(problem.InvalidArgument, "%.200q is not a host and a port", in.Address).At("", 0, 0, "/address").Fix("write it as host:port, such as localhost:8080")
	}
	addrs, err := r.Dialer.Seen(ctx, host) // also those that the toolset has already
	if err != nil {
		return Grants{}, err
	}
	all := make([]Seen, len(addrs))
	for i, a := range addrs {
		all[i] = Seen{host, a}
	}
	rows, _, err := r.add(ctx, ws, ts.ID, in.Reason, all)
	if err != nil {
		return Grants{}, err
	}
	for i := range rows {
		rows[i].Slug = ts.Slug
	}
	return showAll(rows), nil
}

// Revoke ends a grant at once: open connections are closed.
func (r *Room) Revoke(ctx context.Context, workspace, id string) error {
	ws, err := r.workspace(ctx, workspace)
	if err != nil {
		return err
	}
	row, err := ws.Grant(ctx, id)
	if err != nil {
		return err
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteGrant(ctx, row.ID); err != nil {
			return err
		}
		rec := request.Audit(ctx, "grant.revoke", row.ToolsetID)
		rec.Before = audited(row)
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if at, err := netip.ParseAddrPort(row.Address); err == nil && r.Dialer != nil {
		r.Dialer.Revoke(row.ToolsetID, at)
	}
	return nil
}

// Granted are the addresses of grants.
func Granted(rows []store.Grant) []netip.AddrPort {
	var out []netip.AddrPort
	for i := range rows {
		if at, err := netip.ParseAddrPort(rows[i].Address); err == nil {
			out = append(out, at)
		}
	}
	return out
}
