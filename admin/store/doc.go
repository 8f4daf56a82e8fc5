// Package store keeps the records of the control plane in SQL: workspaces, API
// tokens, specifications, connectors, toolsets with their edits, credentials,
// test runs and revisions, jobs, idempotency keys, the audit log and the local
// grants. Artifacts (modules, bundles, releases) are not here; package registry
// has them, and records name them by digest.
//
// It decides nothing: what may be written when is decided by the packages that use it.
// It guarantees that a write it acknowledged survives a crash and a power cut
// (SQLite in WAL mode with synchronous=FULL), that a record changed meanwhile is
// not overwritten (version numbers), and that no query leaves its workspace:
//
//	ws := st.Workspace("default")
//	err := ws.Update(ctx, func(tx *store.Tx) error {
//		...
//		return tx.Audit(ctx, record)
//	})
//
// Reads are methods of [Workspace] and, inside a transaction, of [Tx]; writes
// exist on Tx only. Both carry the workspace, and every statement they run is
// restricted to it.
//
// All types are safe for concurrent use but Tx, which belongs to one goroutine.
package store
