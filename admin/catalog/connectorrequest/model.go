package connectorrequest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
	// maxPublicPerDay by one person of the public page: strangers, who have as many addresses as
	// they care to make.
	maxPublicPerDay = 3
	// maxPublic requests came from the public page, so that members can still ask.
	maxPublic = 2000
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
	State   *string `json:"state,omitempty" enum:"open,planned,building,published,declined" null:"-"`
	Entry   *string `json:"entry,omitempty" maxLength:"128" doc:"Of a published one: entry of the catalog, or slug of the toolset."`
	Reason  *string `json:"reason,omitempty" maxLength:"1000" doc:"Of a declined one: why."`
	Comment string  `json:"comment,omitempty" maxLength:"2000" doc:"Is added to the comments."`
}

// UnmarshalJSON decodes a merge patch.
func (p *ChangeRequest) UnmarshalJSON(b []byte) error {
	type plain ChangeRequest
	return request.UnmarshalPatch(b, (*plain)(p))
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
	RequestedBy    string    `json:"requestedBy" doc:"Member, or API token without a member."`
	ByName         string    `json:"requestedByName,omitempty" doc:"What requestedBy is called now: the e-mail address of a member, the name of a token. Absent once it is gone, and of people of the public page." example:"ann@example.com"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
}

// Comment is a remark on a request.
type Comment struct {
	By     string    `json:"by" doc:"Member, or API token without a member."`
	ByName string    `json:"byName,omitempty" doc:"What it is called now; absent once it is gone." example:"ann@example.com"`
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
}

// People are the ids of those whom requests name; see [Request.Name].
func People(rows []store.ConnectorRequest) (ids []string, err error) {
	for i := range rows {
		ids = append(ids, rows[i].RequestedBy)
		var comments []Comment
		if err := json.Unmarshal([]byte(rows[i].Comments), &comments); err != nil {
			return nil, fmt.Errorf("reading the comments of %s: %w", rows[i].ID, err)
		}
		for _, c := range comments {
			ids = append(ids, c.By)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Name says what the people of a request are called now.
func (r *Request) Name(names map[string]string) {
	r.ByName = names[r.RequestedBy]
	for i := range r.Comments {
		r.Comments[i].ByName = names[r.Comments[i].By]
	}
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

// Field is one of the five fields of a request.
type Field struct {
	Name     string // of its member in JSON
	Title    string // for people
	Hint     string
	Min, Max int // characters
	Link     bool
	Long     bool // of several lines
	value    func(*NewRequest) *string
}

// Of returns the field of a request.
func (f *Field) Of(in *NewRequest) *string { return f.value(in) }

// Fields are the five fields, in the order in which people fill them in. Min and Max are those
// of the API: see the tags of [NewRequest].
var Fields = []Field{
	{"serviceName", "Service name", "such as Acme CRM", 2, 80, false, false, func(in *NewRequest) *string { return &in.ServiceName }},
	{"website", "Website of the service", "https://…", 1, 500, true, false, func(in *NewRequest) *string { return &in.Website }},
	{"apiDocsUrl", "Documentation of its API", "https://…", 1, 500, true, false, func(in *NewRequest) *string { return &in.APIDocsURL }},
	{"useCase", "Use case", "what agents shall do with it", 10, 2000, false, true, func(in *NewRequest) *string { return &in.UseCase }},
	{"expectedVolume", "Expected usage volume", "such as 1,000 calls a day", 1, 200, false, false, func(in *NewRequest) *string { return &in.ExpectedVolume }},
}

// Check cleans the fields and names the first one that is not valid, by its JSON pointer. It
// fails with [problem.InvalidArgument].
func (in *NewRequest) Check() error {
	for i := range Fields {
		f := &Fields[i]
		text, at := f.Of(in), "/"+f.Name
		*text = tidy(*text)
		n := utf8.RuneCountInString(*text)
		switch {
		case n == 0:
			return request.FieldFault(at, "it has no visible characters")
		case n < f.Min:
			return request.FieldFault(at, "it has %d characters, at least %d are needed", n, f.Min)
		case n > f.Max:
			return request.FieldFault(at, "it has %d characters, at most %d are possible", n, f.Max)
		case f.Link && withUser(*text): // which is not repeated
			return request.FieldFault(at, "it has a user name or a password in it: write the address without")
		case f.Link && hostOf(*text) == "":
			return request.FieldFault(at, "%.80q is not the address of a web page that everybody reaches: write https://…", *text)
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

func withUser(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.User != nil
}

// hostOf is the host of an http or https URL without www; "" of anything else.
func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !strings.Contains(u.Hostname(), ".") {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}
