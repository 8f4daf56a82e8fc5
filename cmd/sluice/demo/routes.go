package demo

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// route is one operation: where it is, how the document describes it, what it does.
type route struct {
	method, path string
	id           string // operationId
	summary      string
	description  string
	tag          string
	parameters   []parameter
	body         any // zero value of the request body's type; nil: none
	status       int
	result       any // zero value of the answer's type; nil: no content
	do           func(request) (any, error)
}

// parameter of an operation.
type parameter struct {
	in, name    string
	description string
	kind        string // string, integer, array (of strings)
	enum        []string
	required    bool
	example     any
	low, high   int // bounds of an integer, when high is not 0
	standard    any // default
}

func query(name, description string) parameter {
	return parameter{in: "query", name: name, description: description, kind: "string"}
}

func path(name, description string, example any) parameter {
	kind := "string"
	if _, ok := example.(int); ok {
		kind = "integer"
	}
	return parameter{in: "path", name: name, description: description, kind: kind, required: true, example: example}
}

func (p parameter) of(values ...string) parameter { p.enum = values; return p }
func (p parameter) list() parameter               { p.kind = "array"; return p }

func integer(name, description string, standard, low, high int) parameter {
	return parameter{in: "query", name: name, description: description, kind: "integer", low: low, high: high, standard: standard}
}

var (
	owner      = path("owner", "Account that owns the repository", "acme")
	repo       = path("repo", "Name of the repository", "anvil")
	number     = path("issue_number", "Number of the issue", 1)
	perPage    = integer("per_page", "Results on a page", 10, 1, 100)
	pageNumber = integer("page", "Which page", 1, 1, 1<<20)
	state      = query("state", "Only issues in this state").of("open", "closed", "all")
	limit      = integer("limit", "How many objects", 10, 1, 100)
)

// routes is the API. The order is that of the document, and the first operation
// that needs no argument is what a gateway tries first.
func (s *Server) routes() []route {
	const repoPath = "/repos/{owner}/{repo}"
	return []route{
		{
			method: "GET", path: "/issues", id: "listMyIssues", tag: "issues", status: 200, result: []issue{},
			summary: "List issues assigned to me", description: "Issues of all repositories that are assigned to the caller, newest first.",
			parameters: []parameter{state, query("labels", "Only issues that have all of these labels").list(), perPage, pageNumber}, do: s.listMyIssues,
		},
		{
			method: "GET", path: repoPath, id: "getRepository", tag: "repositories", status: 200, result: repository{},
			summary: "Get a repository", parameters: []parameter{owner, repo}, do: func(r request) (any, error) {
				if err := known(r); err != nil {
					return nil, err
				}
				return repositoryOf(r.PathValue("owner"), r.PathValue("repo")), nil
			},
		},
		{
			method: "GET", path: repoPath + "/issues", id: "listRepositoryIssues", tag: "issues", status: 200, result: []issue{},
			summary: "List issues of a repository", parameters: []parameter{
				owner, repo, state, query("labels", "Only issues that have all of these labels").list(), query("assignee", "Only issues assigned to this login"),
				query("sort", "What to sort by").of("created", "updated", "comments"), query("direction", "Order").of("asc", "desc"), perPage, pageNumber,
			}, do: s.listIssues,
		},
		{
			method: "POST", path: repoPath + "/issues", id: "createIssue", tag: "issues", status: 201, body: issueInput{}, result: issue{},
			summary: "Create an issue", parameters: []parameter{owner, repo}, do: s.createIssue,
		},
		{
			method: "GET", path: repoPath + "/issues/{issue_number}", id: "getIssue", tag: "issues", status: 200, result: issue{},
			summary: "Get an issue", parameters: []parameter{owner, repo, number}, do: func(r request) (any, error) { return s.issue(r) },
		},
		{
			method: "PATCH", path: repoPath + "/issues/{issue_number}", id: "updateIssue", tag: "issues", status: 200, body: issuePatch{}, result: issue{},
			summary: "Update an issue", parameters: []parameter{owner, repo, number}, do: s.updateIssue,
		},
		{
			method: "GET", path: repoPath + "/issues/{issue_number}/comments", id: "listComments", tag: "comments", status: 200, result: []comment{},
			summary: "List comments of an issue", parameters: []parameter{owner, repo, number, perPage, pageNumber}, do: s.listComments,
		},
		{
			method: "POST", path: repoPath + "/issues/{issue_number}/comments", id: "createComment", tag: "comments", status: 201, body: commentInput{}, result: comment{},
			summary: "Comment on an issue", parameters: []parameter{owner, repo, number}, do: s.createComment,
		},
		{
			method: "DELETE", path: repoPath + "/comments/{comment_id}", id: "deleteComment", tag: "comments", status: 204,
			summary: "Delete a comment", parameters: []parameter{owner, repo, path("comment_id", "Identifier of the comment", 5010)}, do: s.deleteComment,
		},
		{
			method: "GET", path: "/search/issues", id: "searchIssues", tag: "search", status: 200, result: issueSearch{},
			summary: "Search issues", description: "Finds issues whose title or text contains every word.",
			parameters: []parameter{{in: "query", name: "q", description: "Words to find", kind: "string", required: true, example: "invoice"}, perPage, pageNumber}, do: s.searchIssues,
		},
		{
			method: "GET", path: "/v1/customers", id: "listCustomers", tag: "customers", status: 200, result: customerList{},
			summary: "List customers", parameters: []parameter{query("email", "Only customers with this address"), limit, query("starting_after", "Identifier after which to go on")}, do: s.listCustomers,
		},
		{
			method: "POST", path: "/v1/customers", id: "createCustomer", tag: "customers", status: 201, body: customerInput{}, result: customer{},
			summary: "Create a customer", do: s.createCustomer,
		},
		{
			method: "GET", path: "/v1/customers/{customer}", id: "getCustomer", tag: "customers", status: 200, result: customer{},
			summary: "Get a customer", parameters: []parameter{s.anyCustomer()}, do: func(r request) (any, error) { return s.customer(r.PathValue("customer")) },
		},
		{
			method: "PATCH", path: "/v1/customers/{customer}", id: "updateCustomer", tag: "customers", status: 200, body: customerPatch{}, result: customer{},
			summary: "Update a customer", parameters: []parameter{s.anyCustomer()}, do: s.updateCustomer,
		},
		{
			method: "DELETE", path: "/v1/customers/{customer}", id: "deleteCustomer", tag: "customers", status: 200, result: deleted{},
			summary: "Delete a customer", parameters: []parameter{s.anyCustomer()}, do: s.deleteCustomer,
		},
		{
			method: "GET", path: "/v1/charges", id: "listCharges", tag: "charges", status: 200, result: chargeList{},
			summary: "List charges", parameters: []parameter{
				query("customer", "Only charges of this customer"), query("status", "Only charges in one of these states").list().of("succeeded", "pending", "failed"),
				limit, query("starting_after", "Identifier after which to go on"),
			}, do: s.listCharges,
		},
		{
			method: "POST", path: "/v1/charges", id: "createCharge", tag: "charges", status: 201, body: chargeInput{}, result: charge{},
			summary: "Create a charge", parameters: []parameter{{in: "header", name: "Idempotency-Key", description: "The same key makes no second charge", kind: "string"}}, do: s.createCharge,
		},
		{
			method: "GET", path: "/v1/charges/{charge}", id: "getCharge", tag: "charges", status: 200, result: charge{},
			summary: "Get a charge", parameters: []parameter{path("charge", "Identifier of the charge", s.charges[0].ID)}, do: s.getCharge,
		},
		{
			method: "GET", path: "/rest/projects", id: "listProjects", tag: "projects", status: 200, result: projectPage{},
			summary: "List projects", parameters: []parameter{integer("startAt", "Index of the first result", 0, 0, 1<<20), integer("maxResults", "Results on a page", 50, 1, 100)}, do: s.listProjects,
		},
		{
			method: "GET", path: "/rest/projects/{projectKey}/tickets", id: "listTickets", tag: "projects", status: 200, result: ticketPage{},
			summary: "List tickets of a project", parameters: []parameter{
				path("projectKey", "Key of the project", "ORD"), query("status", "Only tickets in one of these states").list(),
				{in: "header", name: "X-Time-Zone", description: "Time zone of the caller", kind: "string", example: "Europe/Prague"},
			}, do: s.listTickets,
		},
	}
}

func (s *Server) anyCustomer() parameter {
	return path("customer", "Identifier of the customer", objectID("cus", 1))
}

func known(r request) error {
	if r.PathValue("owner") != "acme" || r.PathValue("repo") != "anvil" {
		return notFound()
	}
	return nil
}

func matches(i issue, state string, labels []string, assignee string) bool {
	if state == "" {
		state = "open"
	}
	if state != "all" && i.State != state {
		return false
	}
	for _, want := range labels {
		for one := range strings.SplitSeq(want, ",") {
			if !slices.ContainsFunc(i.Labels, func(l label) bool { return l.Name == one }) {
				return false
			}
		}
	}
	return assignee == "" || slices.ContainsFunc(i.Assignees, func(u user) bool { return u.Login == assignee })
}

func (s *Server) listMyIssues(r request) (any, error) {
	q := r.URL.Query()
	var out []issue
	repo := repositoryOf("acme", "anvil")
	for _, i := range s.issues {
		if matches(i, q.Get("state"), q["labels"], "") {
			i.Repository = &repo
			out = append(out, i)
		}
	}
	slices.Reverse(out)
	return page(r, out)
}

func (s *Server) listIssues(r request) (any, error) {
	if err := known(r); err != nil {
		return nil, err
	}
	q := r.URL.Query()
	var out []issue
	for _, i := range s.issues {
		if matches(i, q.Get("state"), q["labels"], q.Get("assignee")) {
			out = append(out, i)
		}
	}
	if q.Get("sort") == "comments" {
		slices.SortStableFunc(out, func(a, b issue) int { return a.Comments - b.Comments })
	}
	if q.Get("direction") != "asc" {
		slices.Reverse(out)
	}
	return page(r, out)
}

func (s *Server) createIssue(r request) (any, error) {
	if err := known(r); err != nil {
		return nil, err
	}
	var in issueInput
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.Title == "" {
		return nil, unprocessable("Validation Failed: title is missing")
	}
	if len(s.issues) >= maxObjects {
		return nil, unprocessable("Validation Failed: there are too many issues")
	}
	s.issues = append(s.issues, newIssue(s.issues[len(s.issues)-1].Number+1, in, 0))
	return s.issues[len(s.issues)-1], nil
}

func (s *Server) issue(r request) (*issue, error) {
	if err := known(r); err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(r.PathValue("issue_number"))
	if err != nil {
		return nil, notFound()
	}
	for i := range s.issues {
		if s.issues[i].Number == n {
			return &s.issues[i], nil
		}
	}
	return nil, notFound()
}

func (s *Server) updateIssue(r request) (any, error) {
	i, err := s.issue(r)
	if err != nil {
		return nil, err
	}
	var in issuePatch
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.Title != nil {
		i.Title = *in.Title
	}
	if in.Body != nil {
		i.Body = in.Body
	}
	if in.State != nil {
		switch *in.State {
		case "open":
			i.State, i.ClosedAt, i.StateReason = "open", nil, nil
		case "closed":
			i.State, i.ClosedAt, i.StateReason = "closed", new(at(i.Number*29+60)), new("completed")
		default:
			return nil, unprocessable("Validation Failed: state must be open or closed")
		}
	}
	if in.Labels != nil {
		i.Labels = []label{}
		for _, l := range in.Labels {
			i.Labels = append(i.Labels, labelNamed(l))
		}
	}
	return *i, nil
}

func (s *Server) listComments(r request) (any, error) {
	i, err := s.issue(r)
	if err != nil {
		return nil, err
	}
	var out []comment
	for _, c := range s.comments {
		if c.issue == i.Number {
			out = append(out, c)
		}
	}
	return page(r, out)
}

func (s *Server) createComment(r request) (any, error) {
	i, err := s.issue(r)
	if err != nil {
		return nil, err
	}
	var in commentInput
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.Body == "" {
		return nil, unprocessable("Validation Failed: body is missing")
	}
	if len(s.comments) >= maxObjects {
		return nil, unprocessable("Validation Failed: there are too many comments")
	}
	s.nextID++
	c := newComment(int64(9000+s.nextID), i.Number, 0, in.Body)
	s.comments = append(s.comments, c)
	i.Comments++
	return c, nil
}

func (s *Server) deleteComment(r request) (any, error) {
	if err := known(r); err != nil {
		return nil, err
	}
	for n, c := range s.comments {
		if strconv.FormatInt(c.ID, 10) == r.PathValue("comment_id") {
			s.comments = slices.Delete(s.comments, n, n+1)
			return nil, nil //nolint:nilnil // 204: there is no answer
		}
	}
	return nil, notFound()
}

func (s *Server) searchIssues(r request) (any, error) {
	words := strings.Fields(strings.ToLower(r.URL.Query().Get("q")))
	if len(words) == 0 {
		return nil, unprocessable("Validation Failed: q is missing")
	}
	found := []issue{}
	for _, i := range s.issues {
		text := strings.ToLower(i.Title)
		if i.Body != nil {
			text += " " + strings.ToLower(*i.Body)
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, i)
		}
	}
	items, err := page(r, found)
	return issueSearch{TotalCount: len(found), Items: items}, err
}

// window cuts a list as starting_after and limit ask.
func window[T any](r request, list []T, id func(T) string) ([]T, bool, error) {
	n, err := r.number("limit", 10, 1, 100)
	if err != nil {
		return nil, false, err
	}
	if after := r.URL.Query().Get("starting_after"); after != "" {
		at := slices.IndexFunc(list, func(v T) bool { return id(v) == after })
		if at < 0 {
			return nil, false, notFound()
		}
		list = list[at+1:]
	}
	return append([]T{}, list[:min(n, len(list))]...), len(list) > n, nil
}

func (s *Server) listCustomers(r request) (any, error) {
	var out []customer
	for _, c := range s.customers {
		if e := r.URL.Query().Get("email"); e == "" || e == c.Email {
			out = append(out, c)
		}
	}
	data, more, err := window(r, out, func(c customer) string { return c.ID })
	return customerList{Object: "list", URL: "/v1/customers", HasMore: more, Data: data}, err
}

func (s *Server) createCustomer(r request) (any, error) {
	var in customerInput
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.Email == "" || in.Name == "" {
		return nil, unprocessable("email and name are required")
	}
	if len(s.customers) >= maxObjects {
		return nil, unprocessable("there are too many customers")
	}
	s.nextID++
	s.customers = append(s.customers, newCustomer(s.nextID, in))
	return s.customers[len(s.customers)-1], nil
}

func (s *Server) customer(id string) (*customer, error) {
	for i := range s.customers {
		if s.customers[i].ID == id {
			return &s.customers[i], nil
		}
	}
	return nil, notFound()
}

func (s *Server) updateCustomer(r request) (any, error) {
	c, err := s.customer(r.PathValue("customer"))
	if err != nil {
		return nil, err
	}
	var in customerPatch
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.Email != nil {
		c.Email = *in.Email
	}
	if in.Name != nil {
		c.Name = *in.Name
	}
	if in.Description != nil {
		c.Description = in.Description
	}
	maps.Copy(c.Metadata, in.Metadata)
	return *c, nil
}

func (s *Server) deleteCustomer(r request) (any, error) {
	id := r.PathValue("customer")
	n := slices.IndexFunc(s.customers, func(c customer) bool { return c.ID == id })
	if n < 0 {
		return nil, notFound()
	}
	s.customers = slices.Delete(s.customers, n, n+1)
	return deleted{ID: id, Object: "customer", Deleted: true}, nil
}

func (s *Server) listCharges(r request) (any, error) {
	q := r.URL.Query()
	var out []charge
	for _, c := range s.charges {
		if (q.Get("customer") == "" || q.Get("customer") == c.Customer) && (len(q["status"]) == 0 || slices.Contains(q["status"], c.Status)) {
			out = append(out, c)
		}
	}
	data, more, err := window(r, out, func(c charge) string { return c.ID })
	return chargeList{Object: "list", URL: "/v1/charges", HasMore: more, Data: data}, err
}

func (s *Server) createCharge(r request) (any, error) {
	var in chargeInput
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	c, err := s.customer(in.Customer)
	if err != nil {
		return nil, statusError{http.StatusBadRequest, "No such customer: '" + in.Customer + "'"}
	}
	if in.Amount <= 0 || in.Currency == "" {
		return nil, statusError{http.StatusBadRequest, "amount and currency are required"}
	}
	key := r.Header.Get("Idempotency-Key")
	for _, old := range s.charges {
		if key != "" && old.Metadata["idempotency_key"] == key {
			return old, nil
		}
	}
	if len(s.charges) >= maxObjects {
		return nil, unprocessable("there are too many charges")
	}
	s.nextID++
	charge := newCharge(s.nextID, *c, in)
	if key != "" {
		charge.Metadata["idempotency_key"] = key
	}
	s.charges = append(s.charges, charge)
	return charge, nil
}

func (s *Server) getCharge(r request) (any, error) {
	for _, c := range s.charges {
		if c.ID == r.PathValue("charge") {
			return c, nil
		}
	}
	return nil, notFound()
}

func (s *Server) listProjects(r request) (any, error) {
	start, err := r.number("startAt", 0, 0, 1<<20)
	if err != nil {
		return nil, err
	}
	size, err := r.number("maxResults", 50, 1, 100)
	if err != nil {
		return nil, err
	}
	p := projectPage{Self: api + "/rest/projects", MaxResults: size, StartAt: start, Total: len(projectNames), Values: []project{}}
	for i := start; i < len(projectNames) && i < start+size; i++ {
		p.Values = append(p.Values, projectOf(i))
	}
	p.IsLast = start+size >= len(projectNames)
	p.Links = links{Self: link{p.Self}, First: link{p.Self + "?startAt=0"}}
	return p, nil
}

func (s *Server) listTickets(r request) (any, error) {
	key := r.PathValue("projectKey")
	if !slices.ContainsFunc(projectNames, func(p struct{ key, name string }) bool { return p.key == key }) {
		return nil, notFound()
	}
	wanted := r.URL.Query()["status"]
	p := ticketPage{Expand: "names,schema", MaxResults: 50, Issues: []ticket{}}
	for _, t := range ticketsOf(key) {
		if len(wanted) == 0 || slices.Contains(wanted, t.Fields.Status.Name) {
			p.Issues = append(p.Issues, t)
		}
	}
	p.Total = len(p.Issues)
	self := api + "/rest/projects/" + key + "/tickets"
	p.Links = links{Self: link{self}, First: link{self + "?startAt=0"}}
	return p, nil
}
