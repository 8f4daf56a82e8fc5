package main

import "context"

// roles are the servers that this binary can be instead of the load generator. A
// role listens on a free port of 127.0.0.1, prints "listening HOST:PORT" on
// standard output, and serves until ctx ends (SIGTERM).
var roles = map[string]func(ctx context.Context, args []string) error{}
