package admin

import (
	"context"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// holder is whose tokens of a credential are meant: those that all calls of the
// toolset use, or with user those of one caller. Both are renewed, sealed and
// remembered the same way.
type holder struct {
	credential string
	user       *registry.User // nil: the toolset's own
}

// key tells holders apart, in flights and caches.
func (h holder) key() string {
	if h.user == nil {
		return h.credential
	}
	return h.credential + "/" + h.user.Key()
}

// tokenReader reads tokens, in a transaction or outside of one.
type tokenReader interface {
	OAuthToken(ctx context.Context, credential string) (*store.OAuthToken, error)
	UserToken(ctx context.Context, credential, userKey string) (*store.UserToken, error)
}

// read returns the tokens of a holder; nil: it never had any.
func (h holder) read(ctx context.Context, r tokenReader) (*store.OAuthToken, error) {
	if h.user == nil {
		return r.OAuthToken(ctx, h.credential)
	}
	u, err := r.UserToken(ctx, h.credential, h.user.Key())
	if u == nil || err != nil {
		return nil, err
	}
	row := &store.OAuthToken{
		InWorkspace: u.InWorkspace, CredentialID: u.CredentialID, Version: u.Version, Sealed: u.Sealed, ExpiresAt: u.ExpiresAt,
		Error: u.Error, ErrorAt: u.ErrorAt, UpdatedAt: u.UpdatedAt,
	}
	return row, nil
}

// write writes the tokens of a holder.
func (h holder) write(ctx context.Context, tx *store.Tx, row *store.OAuthToken) error {
	if h.user == nil {
		return tx.SaveOAuthToken(ctx, row)
	}
	u, err := tx.UserToken(ctx, h.credential, h.user.Key())
	if err != nil {
		return err
	}
	if u == nil {
		u = &store.UserToken{CredentialID: h.credential, UserKey: h.user.Key(), Kind: h.user.Kind, Issuer: h.user.Issuer, Subject: h.user.ID}
	}
	u.Version, u.Sealed, u.ExpiresAt, u.Error, u.ErrorAt = row.Version, row.Sealed, row.ExpiresAt, row.Error, row.ErrorAt
	return tx.SaveUserToken(ctx, u)
}

// record is what the tokens in row are sealed for.
func (h holder) record(row *store.OAuthToken) secrets.Record {
	if h.user == nil {
		return row.Record()
	}
	u := store.UserToken{InWorkspace: row.InWorkspace, CredentialID: row.CredentialID, UserKey: h.user.Key(), Version: row.Version}
	return u.Record()
}

// cache is where the open tokens of a holder are kept.
func (s *Server) cache(h holder) *secretCache {
	if h.user == nil {
		return &s.secrets
	}
	return &s.users
}
