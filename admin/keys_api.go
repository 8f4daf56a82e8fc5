package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/keyring"
)

func (s *Server) registerKeys() {
	tags := []string{"keys"}
	register(s, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/v1/keys", Summary: "List the keys of the control plane", Tags: tags,
		Description: "Operator only. Identifiers, never keys. A handful: there is one page.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[List[keyring.ControlKey]], error) {
		keys, err := s.keys.Keys(ctx)
		return answer(List[keyring.ControlKey]{Items: keys}, err)
	})
	register(s, huma.Operation{
		OperationID: "rotate-keys", Method: http.MethodPost, Path: "/v1/keys/rotate", Summary: "Make a new key-encryption key", Tags: tags,
		Description: "Operator only. Every sealed value is put under the new key, none is decrypted, and calls go on meanwhile. " +
			"The key before it still opens, until the next rotation removes it. Not while the last rotation is less than a minute old, " +
			"and not when the key is given as a value.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[keyring.RotatedKeys], error) {
		return answer(s.keys.Rotate(ctx))
	})
}
