// Command sluice is everything in one program: the gateway that serves toolset
// URLs, the admin REST API with the registry behind it, and the command line that
// talks to them.
//
// Commands about one subject are packages below cmd/internal; those that need the whole
// program are files here, each named after its command, above what several
// of them use: create and addto of add, findings of doctor, declared and agekeys of export
// and import, nodeflags and nodeoptions of run and serve. No file uses one above it.
// Package config is the only place that reads the environment and configuration
// files; package node joins the packages into a running node. Nothing here decides how a specification is read, a call is made
// or a release is signed: those are packages of their own.
//
// The result of a command goes to stdout, everything else to stderr. What the
// exit codes mean is in package exit and in "sluice help exit-codes".
package main
