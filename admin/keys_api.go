package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/publish/keyring"
	"github.com/sluicegate/sluice/admin/request"
)

func registerKeys(s *Server) {
	register(s, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/v1/keys", Summary: "List the keys of the control plane", Tags: []string{"keys"},
		Description: "Operator only. Identifiers, never keys. A handful: there is one page.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[List[keyring.ControlKey]], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		return &bodyOutput[List[keyring.ControlKey]]{List[keyring.ControlKey]{Items: s.keys.List()}}, nil
	})
	register(s, huma.Operation{
		OperationID: "rotate-keys", Method: http.MethodPost, Path: "/v1/keys/rotate", Summary: "Make a new key-encryption key", Tags: []string{"keys"},
		Description: "Operator only. Every sealed value is put under the new key, none is decrypted, and calls go on meanwhile. " +
			"The key before it still opens, until the next rotation removes it. Not while the last rotation is less than a minute old, " +
			"and not when the key is given as a value.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[keyring.RotatedKeys], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		r, err := s.keys.Rotate(ctx)
		s.fleet.Ring() // edges get the key of their pool; also when not all was put under the new key
		return &bodyOutput[keyring.RotatedKeys]{r}, err
	})
}
