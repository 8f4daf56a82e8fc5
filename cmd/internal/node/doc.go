// Package node builds a running Sluice of one of three roles: all (gateway, admin API
// and registry), control (without the gateway) and edge (a gateway that follows a
// control plane). The command, the benchmarks and tests start the same node.
//
// The life of a node:
//
//  1. [New] takes the data directory and its lock, and finishes a restore that was
//     interrupted.
//  2. It opens what the role keeps there: keys, registry, records and publisher of a
//     control plane, identity and usage of an edge. Keys and registry must be those that
//     the records belong to.
//  3. It opens what calls of tools go through (dialer, plugin host, upstream and MCP
//     clients), then the listeners. The persisted release is loaded meanwhile; an edge
//     does that in Run, after its enrolment.
//  4. It writes where it listens into the data directory.
//  5. [Node.Run] serves. A gateway follows the release of its own registry exactly as an
//     edge follows a control plane; there is no other way for a toolset to become live.
//  6. When the context of Run ends, running calls and jobs get Options.Grace, usage goes
//     to disk, and everything is closed, the last opened first.
//
// A node that is not run must be closed with [Node.Close].
//
// It reads no environment, no configuration file and no flags, and prints nothing:
// that is the command's.
package node
