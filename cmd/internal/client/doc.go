// Package client is a client of the admin API: requests, its errors as *problem.Error,
// lists page by page, and jobs that are waited for. Its certificates are those of the
// machine, of a file, or the very one that a node of this machine wrote down. How the
// server is found is decided in package command.
package client
