package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

type publishPluginInput struct{ Body plugin.PublishPlugin }

// PluginInput is the path of a plugin.
type PluginInput struct {
	Name string `path:"name" maxLength:"64"`
}

// PluginVersionInput is the path of a version of a plugin.
type PluginVersionInput struct {
	PluginInput
	Version string `path:"version" maxLength:"80"`
}

type yankInput struct {
	PluginVersionInput
	Body plugin.YankRequest
}

type newPublisherKeyInput struct{ Body plugin.NewPublisherKey }

type publisherKeyInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body plugin.RevokeKey
}

func registerPlugins(s *Server) {
	tags := []string{"plugins"}
	const versionPath = "/v1/plugins/{name}/versions/{version}"
	register(s, huma.Operation{
		OperationID: "publish-plugin", Method: http.MethodPost, Path: "/v1/plugins", Summary: "Publish a version of a plugin", Tags: tags,
		Description: "Checks the module, its signature, what it asks for and its golden cases, in the sandbox of a gateway. A version never changes: " +
			"the same bytes again are 200, others 409.",
	}, func(ctx context.Context, in *publishPluginInput) (*jobOutput, error) {
		return s.run(ctx, "plugin.publish", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.plugins.Publish(ctx, s.workspace(ctx), &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/plugins", plugin.PluginVersion{}, http.StatusCreated, http.StatusOK)
	register(s, huma.Operation{
		OperationID: "list-plugins", Method: http.MethodGet, Path: "/v1/plugins", Summary: "List plugins by name, each with its latest version", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[plugin.Plugin], error) {
		p, err := in.page("/v1/plugins")
		if err != nil {
			return nil, err
		}
		shown, next, err := s.plugins.List(ctx, s.workspace(ctx), p)
		if err != nil {
			return nil, err
		}
		return list(in, "/v1/plugins", shown, next, same), nil
	})
	register(s, huma.Operation{
		OperationID: "get-plugin", Method: http.MethodGet, Path: "/v1/plugins/{name}", Summary: "Read a plugin with all its versions", Tags: tags,
	}, func(ctx context.Context, in *PluginInput) (*bodyOutput[*plugin.Plugin], error) {
		return answer(s.plugins.Plugin(ctx, s.workspace(ctx), in.Name))
	})
	register(s, huma.Operation{
		OperationID: "get-plugin-version", Method: http.MethodGet, Path: versionPath, Summary: "Read a version of a plugin", Tags: tags,
	}, func(ctx context.Context, in *PluginVersionInput) (*bodyOutput[*plugin.PluginVersion], error) {
		return answer(s.plugins.Version(ctx, s.workspace(ctx), in.Name, in.Version))
	})
	register(s, huma.Operation{
		OperationID: "test-plugin-version", Method: http.MethodPost, Path: versionPath + "/test", Summary: "Run the golden cases of a version again", Tags: tags,
	}, func(ctx context.Context, in *PluginVersionInput) (*bodyOutput[*plugin.PluginMeasured], error) {
		return answer(s.plugins.Test(ctx, s.workspace(ctx), in.Name, in.Version))
	})
	register(s, huma.Operation{
		OperationID: "yank-plugin-version", Method: http.MethodPost, Path: versionPath + "/yank", Summary: "Yank a version, or undo it", Tags: tags,
		Description: "A yanked version cannot be bound any more. Toolsets that bind it keep it until they are changed.",
	}, func(ctx context.Context, in *yankInput) (*bodyOutput[*plugin.PluginVersion], error) {
		return answer(s.plugins.Yank(ctx, s.workspace(ctx), in.Name, in.Version, &in.Body))
	})
	const keysPath = "/v1/publisher-keys"
	register(s, huma.Operation{
		OperationID: "list-publisher-keys", Method: http.MethodGet, Path: keysPath, Summary: "List the keys whose signature makes a plugin acceptable", Tags: tags,
	}, paged(s, keysPath, (*store.Workspace).PublisherKeys, plain(plugin.ShowKey)))
	register(s, huma.Operation{
		OperationID: "add-publisher-key", Method: http.MethodPost, Path: keysPath, Summary: "Trust a publisher", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newPublisherKeyInput) (*bodyOutput[plugin.PublisherKey], error) {
		return answer(s.plugins.AddKey(ctx, s.workspace(ctx), &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "revoke-publisher-key", Method: http.MethodPost, Path: keysPath + "/{id}/revoke", Summary: "Revoke a publisher's key", Tags: tags,
		Description: "Every version that it signed is yanked, and toolsets that bind one cannot be deployed again with it.",
	}, func(ctx context.Context, in *publisherKeyInput) (*bodyOutput[plugin.RevokedKey], error) {
		return answer(s.plugins.RevokeKey(ctx, s.workspace(ctx), in.ID, in.Body.Reason))
	})
}
