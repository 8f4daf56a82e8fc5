package domain

import (
	"net/netip"
	"time"

	"github.com/sluicegate/sluice/admin/store"
)

// States of a domain.
const (
	Pending  = "pending"  // DNS does not prove it yet
	Verified = "verified" // it is proven, and has no certificate yet
	Issuing  = "issuing"  // the authority is being asked for one
	Live     = "live"     // clients reach it
	Failed   = "failed"   // the authority gave none, or it has expired; it is tried again
)

// Domain is a host name of a toolset or a workspace.
type Domain struct {
	ID          string       `json:"id" example:"dom_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	Host        string       `json:"host" example:"tools.example.com"`
	ToolsetID   string       `json:"toolsetId,omitempty" doc:"Whose URL is https://host/. Absent: the toolsets of the workspace are at https://host/t/SLUG."`
	Toolset     string       `json:"toolset,omitempty" doc:"Slug of that toolset." example:"petstore"`
	URL         string       `json:"url" doc:"Where clients reach it when it is live; of a workspace what the slug comes after."`
	State       string       `json:"state" enum:"pending,verified,issuing,live,failed" doc:"pending: DNS does not prove it yet; verified: it has no certificate yet; issuing: the authority is being asked; live: clients reach it; failed: the authority gave none, or the certificate has expired."`
	Cause       string       `json:"cause,omitempty" doc:"What the last check or the last attempt to get a certificate met."`
	DNS         []Record     `json:"dns" doc:"Records to make."`
	Certificate *Certificate `json:"certificate,omitempty" doc:"Absent: there is none, or not one of this control plane."`
	CheckedAt   time.Time    `json:"checkedAt,omitzero" doc:"When DNS was asked last."`
	VerifiedAt  time.Time    `json:"verifiedAt,omitzero" doc:"When DNS proved it."`
	NextAt      time.Time    `json:"nextAt,omitzero" doc:"When it is tried again."`
	CreatedBy   string       `json:"createdBy"`
	CreatedAt   time.Time    `json:"createdAt"`
	UpdatedAt   time.Time    `json:"updatedAt"`
}

// Record is a DNS record to make.
type Record struct {
	Type  string `json:"type" enum:"TXT,CNAME,A,AAAA" doc:"CNAME: where a zone does not allow one, such as at its top, A and AAAA records with the addresses of the value do the same."`
	Name  string `json:"name"`
	Value string `json:"value"`
	For   string `json:"for" enum:"proof,address" doc:"proof: that the domain is yours; address: leads clients to the gateways."`
}

// Certificate is what gateways show at a domain.
type Certificate struct {
	Issuer    string    `json:"issuer"`
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
}

// New asks for a domain.
type New struct {
	Host string `json:"host" minLength:"1" maxLength:"253" doc:"Name without scheme, port or wildcard." example:"tools.example.com"`
}

const (
	// proofName is the label in front of a domain at which its TXT record is: a CNAME at
	// the domain itself allows no other record beside it (RFC 1034 §3.6.2).
	proofName = "_sluice."
	// proofPrefix is what the record begins with, so that its purpose can be seen.
	proofPrefix = "sluice-domain="
)

// Show is a domain as the API shows it.
func (r *Room) Show(row *store.Domain) Domain {
	d := Domain{
		ID: row.ID, Host: row.Host, ToolsetID: row.ToolsetID, Toolset: row.Slug, URL: URL(row, ""), State: row.State, Cause: row.Cause, DNS: r.records(row),
		CheckedAt: row.CheckedAt.Time, VerifiedAt: row.VerifiedAt.Time, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}
	if row.Issuer != "" {
		d.Certificate = &Certificate{Issuer: row.Issuer, NotBefore: row.NotBefore.Time, NotAfter: row.NotAfter.Time}
	}
	if row.State != Live && row.State != Issuing && row.NextAt.Before(never) {
		d.NextAt = row.NextAt.Time
	}
	return d
}

// URL is the URL of a toolset at a domain.
func URL(row *store.Domain, slug string) string {
	if row.ToolsetID != "" {
		return "https://" + row.Host + "/"
	}
	return "https://" + row.Host + "/t/" + slug
}

// records are what DNS must say.
func (r *Room) records(row *store.Domain) []Record {
	out := []Record{{Type: "TXT", Name: proofName + row.Host, Value: proofPrefix + row.Token, For: "proof"}}
	if r.Target == "" {
		return out
	}
	address := Record{Type: "CNAME", Name: row.Host, Value: r.Target, For: "address"}
	if a, err := netip.ParseAddr(r.Target); err == nil {
		if address.Type = "AAAA"; a.Unmap().Is4() {
			address.Type = "A"
		}
	}
	return append(out, address)
}
