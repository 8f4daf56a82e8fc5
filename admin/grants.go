package admin

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

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

// seen is a private address that the operator named in a request.
type seen struct {
	host string // as it was named, with the port
	at   netip.AddrPort
}

// operatorHere reports whether a request is the word of the operator about addresses
// that it names in passing: of an administrator of the operator's workspace, on this
// machine. Everybody else, and elsewhere, says it by creating a grant.
func operatorHere(ctx context.Context) bool {
	r := request.Of(ctx)
	return r.Local && r.Token != nil && request.RequireOperator(ctx) == nil
}

// ofNamed returns a context that has the grants of the toolset that a request is about,
// as far as that is known before its specification is.
func (s *Server) ofNamed(ctx context.Context, ws *store.Workspace, in *CreateToolset, again *refresh) (context.Context, error) {
	if again != nil {
		return safedial.WithHolder(ctx, again.toolset.ID), nil
	}
	slug := in.slug("")
	if slug == "" {
		return ctx, nil
	}
	ts, err := ws.ToolsetBySlug(ctx, slug)
	switch {
	case problem.Is(err, problem.NotFound):
		return ctx, nil
	case err != nil:
		return nil, err
	}
	return safedial.WithHolder(ctx, ts.ID), nil
}

// seeNamed returns a context that may dial the private addresses that the operator
// named in a request, and which those are: none of anybody else's request. Nothing is
// granted before [Server.grantSeen]. What cannot be granted is refused when it is
// dialed, with the reason.
func (s *Server) seeNamed(ctx context.Context, named []string) (context.Context, []seen) {
	if s.o.Dialer == nil || !operatorHere(ctx) {
		return ctx, nil
	}
	var all []seen
	for _, raw := range named {
		host := hostPortOf(raw)
		if host == "" {
			continue
		}
		addrs, err := s.o.Dialer.Seen(ctx, host)
		if err != nil {
			continue
		}
		for _, a := range addrs {
			all = append(all, seen{host, a})
		}
	}
	return safedial.WithAddresses(ctx, addressesOf(all)), all
}

func addressesOf(all []seen) []netip.AddrPort {
	out := make([]netip.AddrPort, len(all))
	for i, a := range all {
		out[i] = a.at
	}
	return out
}

// hostPortOf is host and port of a URL; empty when it is none.
func hostPortOf(raw string) string {
	u, err := url.Parse(raw)
	if raw == "" || err != nil || u.Hostname() == "" {
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

// grantSeen lets a toolset call what the operator named from now on. It returns what is
// new, for people.
func (s *Server) grantSeen(ctx context.Context, ws *store.Workspace, toolset string, all []seen) ([]string, error) {
	rows, isNew, err := s.addGrants(ctx, ws, toolset, "named by the operator on this machine", all)
	if err != nil {
		return nil, err
	}
	var hosts []string
	addresses := map[string][]string{}
	for i := range rows {
		if !isNew[i] {
			continue
		}
		host := all[i].host
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
		if rows[i].Address != host {
			addresses[host] = append(addresses[host], all[i].at.Addr().String())
		}
	}
	for i, h := range hosts {
		if len(addresses[h]) > 0 {
			hosts[i] = h + " (" + strings.Join(addresses[h], ", ") + ")"
		}
	}
	return hosts, nil
}

// grantNamed lets a toolset call the addresses that the operator named in an edit of it.
func (s *Server) grantNamed(ctx context.Context, ws *store.Workspace, toolset string, named ...string) error {
	_, all := s.seeNamed(safedial.WithHolder(ctx, toolset), named)
	_, err := s.grantSeen(ctx, ws, toolset, all)
	return err
}

// addGrants writes grants and puts them in force: rows are in the order of all.
func (s *Server) addGrants(ctx context.Context, ws *store.Workspace, toolset, reason string, all []seen) (rows []store.Grant, isNew []bool, err error) {
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
			rec.Reason, rec.After = reason, auditGrant(&rows[i])
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
		if err := s.o.Dialer.Grant(toolset, all[i].at); err != nil {
			return nil, nil, err
		}
	}
	return rows, isNew, nil
}

func auditGrant(row *store.Grant) string {
	return store.JSON(map[string]string{"id": row.ID, "address": row.Address, "host": row.Host})
}

// restoreGrants puts the grants of a workspace in force. What cannot be granted any more,
// because this node listens there now, stays refused.
func (s *Server) restoreGrants(ctx context.Context, workspace string) error {
	if s.o.Dialer == nil {
		return nil
	}
	rows, err := s.o.Store.Workspace(workspace).Grants(ctx, "")
	if err != nil {
		return err
	}
	for i := range rows {
		at, err := netip.ParseAddrPort(rows[i].Address)
		if err == nil {
			err = s.o.Dialer.Grant(rows[i].ToolsetID, at)
		}
		if err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "a grant of a private address is not in force", slog.String("toolset", rows[i].ToolsetID),
				slog.String("address", rows[i].Address), slog.Any("error", err))
		}
	}
	return nil
}

// dropGrants ends the grants of a toolset that is no more.
func (s *Server) dropGrants(toolset string) {
	if s.o.Dialer != nil {
		s.o.Dialer.RevokeAll(toolset)
	}
}

func showGrant(row *store.Grant) Grant {
	return Grant{
		ID: row.ID, Workspace: row.WorkspaceID, Toolset: row.ToolsetID, Address: row.Address, Host: row.Host, Reason: row.Reason,
		CreatedBy: row.Actor, CreatedAt: row.CreatedAt.Time,
	}
}

// grantsOf is a workspace whose grants a request may see: the token's own, or for the
// operator any.
func (s *Server) grantsOf(ctx context.Context, workspace string) (*store.Workspace, error) {
	if workspace == "" || workspace == request.Of(ctx).Token.WorkspaceID {
		return s.workspace(ctx), nil
	}
	if err := request.RequireOperator(ctx); err != nil {
		return nil, err
	}
	known, err := s.o.Store.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, workspace) {
		return nil, problem.New(problem.NotFound, "there is no workspace %.80q", workspace)
	}
	return s.o.Store.Workspace(workspace), nil
}

type listGrantsInput struct {
	Workspace string `query:"workspace" maxLength:"63" doc:"Default: that of the token. Another one: the operator only."`
	Toolset   string `query:"toolset" maxLength:"64" doc:"Id or slug. Default: all."`
}

type grantInput struct {
	ID        string `path:"id" maxLength:"64"`
	Workspace string `query:"workspace" maxLength:"63" doc:"Default: that of the token. Another one: the operator only."`
}

func (s *Server) registerGrants() {
	const path = "/v1/grants"
	tags := []string{"access"}
	register(s, huma.Operation{
		OperationID: "list-grants", Method: http.MethodGet, Path: path, Summary: "List the private addresses that toolsets may call", Tags: tags,
	}, func(ctx context.Context, in *listGrantsInput) (*bodyOutput[Grants], error) {
		ws, err := s.grantsOf(ctx, in.Workspace)
		if err != nil {
			return nil, err
		}
		toolset := in.Toolset
		if toolset != "" {
			ts, err := ws.FindToolset(ctx, toolset)
			if err != nil {
				return nil, err
			}
			toolset = ts.ID
		}
		rows, err := ws.Grants(ctx, toolset)
		if err != nil {
			return nil, err
		}
		return grantsOutput(rows), nil
	})
	register(s, huma.Operation{
		OperationID: "create-grant", Method: http.MethodPost, Path: path, Summary: "Let a toolset call a private address", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "For the operator: an administrator of the workspace \"default\". A grant is of one toolset and of the addresses that the name has now, on this node; " +
			"edges obey only their own --allow-private-upstreams. Listeners of this node and addresses where clouds keep the credentials of machines are refused.",
	}, func(ctx context.Context, in *struct{ Body CreateGrant }) (*bodyOutput[Grants], error) {
		return s.createGrant(ctx, &in.Body)
	})
	register(s, huma.Operation{
		OperationID: "revoke-grant", Method: http.MethodDelete, Path: path + "/{id}", Summary: "Revoke a grant of a private address", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "In force at once: open connections are closed.",
	}, s.revokeGrant)
}

func grantsOutput(rows []store.Grant) *bodyOutput[Grants] {
	out := &bodyOutput[Grants]{Grants{Items: make([]Grant, len(rows))}}
	for i := range rows {
		out.Body.Items[i] = showGrant(&rows[i])
	}
	return out
}

func (s *Server) createGrant(ctx context.Context, in *CreateGrant) (*bodyOutput[Grants], error) {
	if err := request.RequireOperator(ctx); err != nil {
		return nil, err
	}
	if s.o.Dialer == nil {
		return nil, problem.New(problem.Unsupported, "this node grants no addresses")
	}
	ws, err := s.grantsOf(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	ts, err := ws.FindToolset(ctx, in.Toolset)
	if err != nil {
		return nil, err
	}
	host := in.Address
	if strings.Contains(host, "://") {
		if host = hostPortOf(host); host == "" {
			return nil, problem.New(problem.InvalidArgument, "the address is not a URL").At("", 0, 0, "/address")
		}
	}
	if h, _, err := net.SplitHostPort(host); err != nil || h == "" {
		return nil, problem.New(problem.InvalidArgument, "%.200q is not a host and a port", in.Address).At("", 0, 0, "/address").Fix("write it as host:port, such as localhost:8080")
	}
	addrs, err := s.o.Dialer.Seen(ctx, host) // also those that the toolset has already
	if err != nil {
		return nil, err
	}
	all := make([]seen, len(addrs))
	for i, a := range addrs {
		all[i] = seen{host, a}
	}
	rows, _, err := s.addGrants(ctx, ws, ts.ID, in.Reason, all)
	if err != nil {
		return nil, err
	}
	return grantsOutput(rows), nil
}

func (s *Server) revokeGrant(ctx context.Context, in *grantInput) (*struct{}, error) {
	ws, err := s.grantsOf(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	row, err := ws.Grant(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteGrant(ctx, row.ID); err != nil {
			return err
		}
		rec := request.Audit(ctx, "grant.revoke", row.ToolsetID)
		rec.Before = auditGrant(row)
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	if at, err := netip.ParseAddrPort(row.Address); err == nil && s.o.Dialer != nil {
		s.o.Dialer.Revoke(row.ToolsetID, at)
	}
	return nil, nil //nolint:nilnil // an answer without a body
}

// grantedAddresses are those of grants.
func grantedAddresses(rows []store.Grant) []netip.AddrPort {
	var out []netip.AddrPort
	for i := range rows {
		if at, err := netip.ParseAddrPort(rows[i].Address); err == nil {
			out = append(out, at)
		}
	}
	return out
}
