package document

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/store"
)

// rolesOf names the role an operation needs where it is not the one of its method
// ([RoleOf]).
var rolesOf = map[string]string{
	"create-token": store.RoleAdmin, "list-tokens": store.RoleAdmin, "revoke-token": store.RoleAdmin,
	"list-members": store.RoleAdmin, "get-member": store.RoleAdmin, "add-member": store.RoleAdmin, "patch-member": store.RoleAdmin, "remove-member": store.RoleAdmin,
	"create-workspace": store.RoleAdmin, "list-workspaces": store.RoleAdmin,
	"list-audit": store.RoleAdmin, "get-audit-head": store.RoleAdmin, "verify-audit": store.RoleAdmin,
	"create-login-link": store.RoleAdmin, "get-openid-connect": store.RoleAdmin,
	// What everybody decides about their own sessions.
	"sign-out": store.RoleViewer, "revoke-session": store.RoleViewer, "set-password": store.RoleViewer, "create-own-login-link": store.RoleViewer,
	"begin-passkey": store.RoleViewer, "add-passkey": store.RoleViewer, "rename-passkey": store.RoleViewer, "remove-passkey": store.RoleViewer,
	"list-member-passkeys": store.RoleAdmin, "remove-member-passkey": store.RoleAdmin,
	"create-grant": store.RoleAdmin, "revoke-grant": store.RoleAdmin,
	// What is captured may be anybody's data: a viewer sees that a call was, not what it said.
	"get-call": store.RoleEditor, "read-command-output": store.RoleAdmin, "set-capture": store.RoleAdmin,
	"create-join-token": store.RoleAdmin, "list-join-tokens": store.RoleAdmin, "revoke-join-token": store.RoleAdmin,
	"revoke-edge":    store.RoleAdmin,
	"publish-plugin": store.RolePublisher, "yank-plugin-version": store.RolePublisher, "test-plugin-version": store.RolePublisher,
	"add-publisher-key": store.RoleAdmin, "revoke-publisher-key": store.RoleAdmin,
	"confirm-origins": store.RoleAdmin,
	// A host name is the organization's, and traffic follows it.
	"add-domain": store.RoleAdmin, "add-toolset-domain": store.RoleAdmin, "remove-domain": store.RoleAdmin, "remove-toolset-domain": store.RoleAdmin,
	// Everybody asks and votes.
	"create-connector-request": store.RoleViewer, "vote-connector-request": store.RoleViewer, "unvote-connector-request": store.RoleViewer,
	"create-channel": store.RoleAdmin, "patch-channel": store.RoleAdmin, "delete-channel": store.RoleAdmin, "rotate-channel-secret": store.RoleAdmin,
	"list-releases": store.RoleAdmin, "resume-releases": store.RoleAdmin,
	"collect-garbage": store.RoleAdmin, "rotate-keys": store.RoleAdmin, "list-keys": store.RoleAdmin,
}

// checkRoles panics when [rolesOf] names an operation that is not registered: the one
// that was meant would have another role.
func checkRoles(doc *huma.OpenAPI) {
	known := map[string]bool{}
	for _, at := range doc.Paths {
		for _, op := range []*huma.Operation{at.Get, at.Put, at.Post, at.Delete, at.Patch} {
			if op != nil {
				known[op.OperationID] = true
			}
		}
	}
	for id := range rolesOf {
		if !known[id] {
			panic("BUG: there is no operation " + id + " to have a role")
		}
	}
}

// RoleExtension is the member of an operation in the API's document that names the
// lowest role that may use it.
const RoleExtension = "x-sluice-role"

// RoleOf is the role an operation needs: to read a viewer's, to write an editor's.
func RoleOf(op *huma.Operation) string {
	if r := rolesOf[op.OperationID]; r != "" {
		return r
	}
	if op.Method == http.MethodGet || op.Method == http.MethodHead {
		return store.RoleViewer
	}
	return store.RoleEditor
}
