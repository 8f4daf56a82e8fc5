// Package gateway is the data plane's listener: it takes HTTP requests, finds the
// toolset of the current snapshot, lets package mcp speak the protocol and package
// call make the call. It also answers /livez and /readyz and drains when it is
// told to stop.
//
// It knows no control plane, no database and no configuration file: snapshots come
// through a [snapshot.Holder], which package edge fills. Nothing of the admin API
// is reachable here.
//
// A [Server] runs once, in [Server.Run]. Requests are served concurrently; each
// loads the snapshot once and uses it to its end.
package gateway
