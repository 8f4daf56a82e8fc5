package artifacts

import (
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// IsReference reports whether a text names something in a registry.
func IsReference(text string) bool { return strings.HasPrefix(text, externalScheme) }

// Reference finds what oci://HOST[:PORT]/REPOSITORY[:TAG|@DIGEST][?insecure=true] names; the
// tag is latest where none is given.
func (o Opener) Reference(text string) (st *oci.Store, repository, at string, err error) {
	name, query, _ := strings.Cut(strings.TrimPrefix(text, externalScheme), "?")
	host, rest, _ := strings.Cut(name, "/")
	repository, at = rest, oci.TagLatest
	if before, digest, found := strings.Cut(rest, "@"); found {
		repository, at = before, digest
	} else if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		repository, at = rest[:i], rest[i+1:]
	}
	if !IsReference(text) || !registry.ValidRepository(repository) || !oci.ValidTag(at) && !registry.Digest(at).Valid() {
		return nil, "", "", problem.New(problem.InvalidArgument, "%.120q names nothing in a registry", bucketOf(text)).
			Fix("write oci://HOST[:PORT]/REPOSITORY:TAG or oci://HOST[:PORT]/REPOSITORY@DIGEST")
	}
	if query != "" {
		host += "?" + query
	}
	r, err := o.External(externalScheme + host)
	if err != nil {
		return nil, "", "", err
	}
	return oci.NewStore(r), repository, at, nil
}
