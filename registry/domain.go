package registry

import (
	"fmt"
	"net/netip"
	"strings"
)

const (
	// MaxReleaseDomains of one release: half as many as it may have toolsets. Every node
	// keeps a certificate of some kilobytes for each.
	MaxReleaseDomains = 10_000
	// MaxHostBytes of a domain (RFC 1035 §2.3.4, without the dot at its end).
	MaxHostBytes = 253
	// maxLabelBytes of one label of it.
	maxLabelBytes = 63
)

// ReleaseDomain is a host name of a workspace, whose owner was proven. Gateways serve
// there what it names and nothing else.
type ReleaseDomain struct {
	Host      string `json:"host"`      // as ValidHost has it; once in a release
	Workspace string `json:"workspace"` // whose it is
	// Toolset is the id of the toolset at https://host/. "": the toolsets of the workspace
	// are at https://host/t/<slug>.
	Toolset string `json:"toolset,omitempty"`
}

// ValidHost reports whether s may be a domain: a host name of at least two labels in
// lower-case ASCII, without a dot at its end (RFC 1123 §2.1). Names in other scripts are
// in their A-label form. It is not an address, and no name that means the machine itself.
func ValidHost(s string) bool {
	if len(s) > MaxHostBytes || !strings.Contains(s, ".") {
		return false
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabelBytes || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
		last = label
	}
	return last != "localhost" && strings.Trim(last, "0123456789") != "" // 127.1 is an address to some
}

// validateDomains checks the domains of a release.
func (r *Release) validateDomains(f *faults) {
	f.check(len(r.Domains) <= MaxReleaseDomains, "/domains", "%d domains are more than %d", len(r.Domains), MaxReleaseDomains)
	hosts := make(map[string]bool, len(r.Domains))
	for i := range r.Domains {
		if f.full() {
			return
		}
		d, at := &r.Domains[i], fmt.Sprintf("/domains/%d", i)
		f.check(ValidHost(d.Host), at+"/host", "%.80q is not a host name", d.Host)
		f.check(!hosts[d.Host], at+"/host", "domain %.80q is listed twice", d.Host)
		f.check(ValidSlug(d.Workspace), at+"/workspace", "workspace %.80q is not a slug", d.Workspace)
		f.check(d.Toolset == "" || validID(d.Toolset), at+"/toolset", "toolset %.80q is not an identifier", d.Toolset)
		hosts[d.Host] = true
	}
}
