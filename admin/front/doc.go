// Package front is the HTTP middleware of the admin API: request ids, the check of Host,
// authentication, body limits, idempotency keys, and problem details for errors. What an
// operation decides is not here.
package front
