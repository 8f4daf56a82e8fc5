// Package document completes the OpenAPI document of the admin API: what the handlers around
// the operations do, groups, descriptions and examples, what lists can be searched by, and
// the role that each operation needs. It registers no operation; package admin does.
package document
