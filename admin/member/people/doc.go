// Package people decides who may use the API: the members of a workspace, API tokens, and
// workspaces with their first administrator. Who may open toolset URLs is decided in
// admin/toolset/access; which role an operation needs is in the table of package admin.
package people
