package connectorrequest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// States of a request.
const (
	Open      = "open"
	Planned   = "planned"
	Building  = "building"
	Published = "published"
	Declined  = "declined"
)

// States are all states, in their usual order.
var States = []string{Open, Planned, Building, Published, Declined}

// TypePublished is the type of the notice that a connector that was asked for is there.
const TypePublished = "request.published"

// Bounds of a workspace's requests.
const (
	// maxRequests of a workspace, whatever their state: a list that people read.
	maxRequests = 5000
	// maxPerDay by one person.
	maxPerDay = 20
	// maxComments of a request.
	maxComments = 50
	// maxCompared are the requests, by votes, that a new one is compared with.
	maxCompared = 1000
	// maxSimilar are shown.
	maxSimilar = 5
)

// NewRequest asks for a connector.
type NewRequest struct {
	ServiceName    string `json:"serviceName" minLength:"2" maxLength:"80" doc:"Name of the service." example:"Acme CRM"`
	Website        string `json:"website" minLength:"1" maxLength:"500" doc:"Of the service." example:"https://acme.example"`
	APIDocsURL     string `json:"apiDocsUrl" minLength:"1" maxLength:"500" doc:"Documentation of its API." example:"https://acme.example/developers"`
	UseCase        string `json:"useCase" minLength:"10" maxLength:"2000" doc:"What agents shall do with it."`
	ExpectedVolume string `json:"expectedVolume" minLength:"1" maxLength:"200" doc:"How much it would be used." example:"1,000 calls a day"`
}

// ChangeRequest is what becomes of a request. Absent members stay.
type ChangeRequest struct {
	State   *string `json:"state,omitempty" enum:"open,planned,building,published,declined"`
	Entry   *string `json:"entry,omitempty" maxLength:"128" doc:"Of a published one: entry of the catalog, or slug of the toolset."`
	Reason  *string `json:"reason,omitempty" maxLength:"1000" doc:"Of a declined one: why."`
	Comment string  `json:"comment,omitempty" maxLength:"2000" doc:"Is added to the comments."`
}

// Request is a connector that somebody asks for.
type Request struct {
	ID             string    `json:"id" example:"creq_01JQ8Z6J5X2V4T7N9B3C1D0E8F"`
	ServiceName    string    `json:"serviceName"`
	Website        string    `json:"website"`
	APIDocsURL     string    `json:"apiDocsUrl"`
	UseCase        string    `json:"useCase"`
	ExpectedVolume string    `json:"expectedVolume"`
	State          string    `json:"state" enum:"open,planned,building,published,declined"`
	Entry          string    `json:"entry,omitempty" doc:"Of a published one: entry of the catalog, or slug of the toolset."`
	Reason         string    `json:"reason,omitempty" doc:"Of a declined one: why."`
	Comments       []Comment `json:"comments,omitempty" doc:"Of those who manage requests, oldest first."`
	Votes          int64     `json:"votes"`
	Voted          bool      `json:"voted" doc:"You voted for it."`
	RequestedBy    string    `json:"requestedBy" doc:"Member, or API token that is nobody's."`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
}

// Comment is a remark on a request.
type Comment struct {
	By   string    `json:"by" doc:"Member, or API token that is nobody's."`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Show renders a record; voted are the ids of the requests that whoever asks votes for.
func Show(row *store.ConnectorRequest, voted map[string]bool) (Request, error) {
	out := Request{
		ID: row.ID, ServiceName: row.Name, Website: row.Website, APIDocsURL: row.Documentation, UseCase: row.UseCase, ExpectedVolume: row.Volume, State: row.State,
		Entry: row.Entry, Reason: row.Reason, Votes: row.Votes, Voted: voted[row.ID], RequestedBy: row.RequestedBy, CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time,
	}
	if err := json.Unmarshal([]byte(row.Comments), &out.Comments); err != nil {
		return Request{}, fmt.Errorf("reading the comments of %s: %w", row.ID, err)
	}
	return out, nil
}

// check cleans the fields and names the one that is not valid.
func (in *NewRequest) check() error {
	for _, f := range []struct {
		at   string
		text *string
		link bool
	}{
		{"/serviceName", &in.ServiceName, false}, {"/website", &in.Website, true}, {"/apiDocsUrl", &in.APIDocsURL, true}, {"/useCase", &in.UseCase, false}, {"/expectedVolume", &in.ExpectedVolume, false},
	} {
		if *f.text = tidy(*f.text); *f.text == "" {
			return request.FieldFault(f.at, "it has no characters that can be seen")
		}
		if f.link && hostOf(*f.text) == "" {
			return request.FieldFault(f.at, "%.80q is not the address of a web page: write https://…", *f.text)
		}
	}
	return nil
}

// tidy removes what nobody sees, and white space at the ends.
func tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f {
			return -1
		}
		return r
	}, textfilter.Clean(s))
	return strings.TrimSpace(s)
}

// hostOf is the host of an http or https URL without www; "" of anything else.
func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !strings.Contains(u.Hostname(), ".") {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}
