// Package admin is the REST API of the control plane: toolsets, their tools and
// authentication, tests and deploys, connectors, jobs, the audit log, and the
// health and metrics endpoints of the admin listener.
//
// It is not the data plane: nothing here is reachable through a toolset URL, and
// no package of the gateway is imported. What the API needs of others it
// declares as an interface that cmd/sluice fills. This package registers operations and
// joins the packages below it, which decide: admin/change what becomes of a source,
// admin/draft and admin/draft/rollout what becomes of a toolset, admin/front what is around every
// request. Records are in admin/store, artifacts and releases are made by admin/publish.
//
// The API is OpenAPI 3.1 (served at /v1/openapi.json) on net/http. Errors are
// problem details (RFC 9457), versions are strong ETags (RFC 9110 §8.8.3),
// repeated POSTs are recognised by Idempotency-Key, long work becomes a job when
// it outlasts Prefer: wait=N (RFC 7240). docs/admin-api.md is the guide.
//
// A [Server] is safe for concurrent use.
package admin
