package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// epoch is when the data begin; every time is a distance from it, so that two
// starts serve the same bytes.
var epoch = time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC)

const api = "https://api.workbench.example"

func at(hours int) string { return epoch.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339) }

var logins = []string{"marie-dvorak", "tomas-n", "ines-ferreira", "olaf-berg", "yuki-sato"}

func account(i int) user {
	login := logins[i%len(logins)]
	base := api + "/users/" + login
	return user{
		Login: login, ID: int64(583200 + i%len(logins)*37), NodeID: fmt.Sprintf("MDQ6VXNlcjU4MzIw%02d", i%len(logins)),
		AvatarURL: fmt.Sprintf("https://avatars.workbench.example/u/%d?v=4", 583200+i%len(logins)*37),
		URL:       base, HTMLURL: "https://workbench.example/" + login, FollowersURL: base + "/followers",
		FollowingURL: base + "/following{/other_user}", GistsURL: base + "/gists{/gist_id}",
		StarredURL: base + "/starred{/owner}{/repo}", SubscriptionsURL: base + "/subscriptions",
		OrganizationsURL: base + "/orgs", ReposURL: base + "/repos", EventsURL: base + "/events{/privacy}",
		ReceivedEventsURL: base + "/received_events", Type: "User",
	}
}

func repositoryOf(owner, name string) repository {
	base := api + "/repos/" + owner + "/" + name
	o := account(0)
	o.Login, o.Type = owner, "Organization"
	return repository{
		ID: 1296269, NodeID: "MDEwOlJlcG9zaXRvcnkxMjk2MjY5", Name: name, FullName: owner + "/" + name, Owner: o,
		HTMLURL: "https://workbench.example/" + owner + "/" + name, Description: new("Shaped like an anvil, made for order"),
		URL: base, ArchiveURL: base + "/{archive_format}{/ref}", AssigneesURL: base + "/assignees{/user}",
		BranchesURL: base + "/branches{/branch}", CollaboratorURL: base + "/collaborators{/collaborator}",
		CommentsURL: base + "/comments{/number}", CommitsURL: base + "/commits{/sha}", ContentsURL: base + "/contents/{+path}",
		IssuesURL: base + "/issues{/number}", LabelsURL: base + "/labels{/name}", PullsURL: base + "/pulls{/number}",
		ReleasesURL: base + "/releases{/id}", GitURL: "git://workbench.example/" + owner + "/" + name + ".git",
		SSHURL: "git@workbench.example:" + owner + "/" + name + ".git", CloneURL: "https://workbench.example/" + owner + "/" + name + ".git",
		Language: new("Go"), ForksCount: 9, StargazersCount: 80, OpenIssuesCount: 15, DefaultBranch: "main",
		Topics: []string{"orders", "billing"}, Visibility: "public", PushedAt: at(700), CreatedAt: at(0), UpdatedAt: at(702),
	}
}

var labelNames = []struct{ name, color, description string }{
	{"bug", "d73a4a", "Something does not work"},
	{"enhancement", "a2eeef", "New feature or request"},
	{"documentation", "0075ca", "Improvements to the documentation"},
	{"question", "d876e3", "More information is wanted"},
}

func labelNamed(name string) label {
	l := label{ID: 208045999, NodeID: "MDU6TGFiZWwyMDgwNDU5OTk=", Name: name, Color: "ededed", URL: api + "/repos/acme/anvil/labels/" + name}
	for i, known := range labelNames {
		if known.name == name {
			l.ID, l.Color, l.Default, l.Description = int64(208045946+i), known.color, true, new(known.description)
			l.NodeID = fmt.Sprintf("MDU6TGFiZWwyMDgwNDU5NDY%d", i)
		}
	}
	return l
}

func noReactions(url string) reactions { return reactions{URL: url + "/reactions"} }

var issueTitles = []string{
	"Button sends the request twice", "Wrong total in the monthly invoice", "Time zone ignored when a report is exported",
	"Crash while parsing an empty configuration file", "Search does not find names with an accent", "Add a dark theme",
	"Explain how retries work", "Import stops after 1,000 rows", "Session ends too early on slow networks",
	"Allow more than one address for a customer", "Dates are shown in the American order", "Sort charges by amount",
	"Webhook is delivered twice after a restart", "Rename the ambiguous field in the export", "Is there a limit for attachments?",
	"Keyboard focus is lost in the dialog", "Refund button is missing for partial payments", "Page jumps when a filter is removed",
	"Document the meaning of each status", "Cache is not emptied after an update", "Support for a second currency",
	"Typing in the search field is slow", "Broken link in the welcome letter", "Export as a table",
}

func newIssue(number int, in issueInput, author int) issue {
	base := fmt.Sprintf("%s/repos/acme/anvil/issues/%d", api, number)
	i := issue{
		URL: base, RepositoryURL: api + "/repos/acme/anvil", LabelsURL: base + "/labels{/name}", CommentsURL: base + "/comments",
		EventsURL: base + "/events", HTMLURL: fmt.Sprintf("https://workbench.example/acme/anvil/issues/%d", number),
		ID: 1917000000 + int64(number)*7919, NodeID: fmt.Sprintf("I_kwDOABPHjc5yQ%03d", number), Number: number, Title: in.Title,
		User: account(author), State: "open", Labels: []label{}, Assignees: []user{}, CreatedAt: at(number * 29), UpdatedAt: at(number*29 + 5),
		AuthorAssociation: "CONTRIBUTOR", Body: in.Body, Reactions: noReactions(base), TimelineURL: base + "/timeline",
	}
	for _, l := range in.Labels {
		i.Labels = append(i.Labels, labelNamed(l))
	}
	for _, login := range in.Assignees {
		for n, known := range logins {
			if known == login {
				i.Assignees = append(i.Assignees, account(n))
			}
		}
	}
	if len(i.Assignees) > 0 {
		i.Assignee = &i.Assignees[0]
	}
	return i
}

func newComment(id int64, issue, author int, body string) comment {
	return comment{
		URL:     fmt.Sprintf("%s/repos/acme/anvil/comments/%d", api, id),
		HTMLURL: fmt.Sprintf("https://workbench.example/acme/anvil/issues/%d#comment-%d", issue, id), IssueURL: fmt.Sprintf("%s/repos/acme/anvil/issues/%d", api, issue),
		ID: id, NodeID: fmt.Sprintf("IC_kwDOABPHjc5y%d", id), User: account(author), CreatedAt: at(issue*29 + author), UpdatedAt: at(issue*29 + author),
		Body: body, Reactions: noReactions(fmt.Sprintf("%s/repos/acme/anvil/comments/%d", api, id)), issue: issue,
	}
}

var customerNames = []string{
	"Jana Nováková", "Peter Lind", "Ana Sousa", "Kofi Mensah", "Lena Vogel", "Ravi Patel", "Sofia Rossi", "Noah Smith",
}

const idLetters = "0a1B2c3D4e5F6g7H8i9J"

// objectID makes identifiers of the length and mix that payment APIs use.
func objectID(prefix string, n int) string {
	var b strings.Builder
	b.WriteString(prefix + "_1")
	for i := range 16 {
		b.WriteByte(idLetters[(n*7+i*i*3+n*i)%len(idLetters)])
	}
	return b.String() + strconv.Itoa(n)
}

func newCustomer(n int, in customerInput) customer {
	c := customer{
		ID: objectID("cus", n), Object: "customer", Created: epoch.Unix() + int64(n)*86400, Currency: new("eur"), Description: in.Description,
		Email: in.Email, InvoicePrefix: fmt.Sprintf("A1C%04d", n), Metadata: in.Metadata, Name: in.Name, NextInvoiceSequence: 1,
		Phone: in.Phone, PreferredLocales: []string{}, TaxExempt: "none",
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	return c
}

func newCharge(n int, customer customer, in chargeInput) charge {
	id := objectID("ch", n)
	c := charge{
		ID: id, Object: "charge", Amount: in.Amount, AmountCaptured: in.Amount, BalanceTransaction: objectID("txn", n),
		BillingDetails: billingDetails{Address: address{City: new("Brno"), Country: new("CZ"), PostalCode: new("60200")}, Email: new(customer.Email), Name: new(customer.Name)},
		Captured:       true, Created: epoch.Unix() + int64(n)*3600*7, Currency: in.Currency, Customer: customer.ID, Description: in.Description,
		Metadata: in.Metadata, Outcome: outcome{NetworkStatus: "approved_by_network", RiskLevel: "normal", RiskScore: 10 + n*3%50, SellerMessage: "Payment complete.", Type: "authorized"},
		Paid: true, PaymentMethod: objectID("pm", n), PaymentMethodDetails: paymentMethodDetails{Card: card{
			Brand: "visa", Country: "CZ", ExpMonth: n%12 + 1, ExpYear: 2029, Fingerprint: objectID("fp", n), Funding: "credit", Last4: fmt.Sprintf("%04d", 4242+n*17%5000), Network: "visa",
		}, Type: "card"},
		ReceiptURL: "https://pay.workbench.example/receipts/" + id, Status: "succeeded",
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	return c
}

func avatarsOf(id string) avatars {
	u := "https://avatars.workbench.example/" + id + "?size="
	return avatars{Large: u + "48", Small: u + "24", Tiny: u + "16", Medium: u + "32"}
}

func personOf(i int) person {
	id := fmt.Sprintf("5b10ac8d82e05b22cc7d%04d", i%len(customerNames))
	return person{
		Self: api + "/rest/user?accountId=" + id, AccountID: id, DisplayName: customerNames[i%len(customerNames)],
		AvatarURLs: avatarsOf(id), Active: true, TimeZone: "Europe/Prague", AccountType: "human",
	}
}

var projectNames = []struct{ key, name string }{{"ORD", "Orders"}, {"PAY", "Payments"}, {"WEB", "Website"}}

func projectOf(i int) project {
	p := projectNames[i]
	id := strconv.Itoa(10000 + i)
	return project{
		Expand: "description,lead,issueTypes,url,projectKeys", Self: api + "/rest/projects/" + p.key, ID: id, Key: p.key, Name: p.name,
		AvatarURLs: avatarsOf("project/" + id), ProjectTypeKey: "software", Style: "classic", Lead: personOf(i),
	}
}

func namedOf(kind, id, name string) named {
	return named{Self: api + "/rest/" + kind + "/" + id, ID: id, Name: name, IconURL: "https://workbench.example/images/" + kind + "/" + id + ".svg"}
}

func ticketsOf(key string) []ticket {
	summaries := []string{"Split the order form in two steps", "Show the state of a payment at once", "Measure how long checkout takes", "Remove the old export", "Prepare the spring release", "Warn before a card expires"}
	statuses := []named{namedOf("status", "10000", "To Do"), namedOf("status", "3", "In Progress"), namedOf("status", "10001", "Done")}
	var out []ticket
	for n, summary := range summaries {
		number := n + 1
		t := ticket{
			Expand: "renderedFields,names,schema,operations,editmeta,changelog", ID: strconv.Itoa(20000 + len(key)*100 + n), Key: fmt.Sprintf("%s-%d", key, number),
			Self: fmt.Sprintf("%s/rest/issue/%s-%d", api, key, number),
			Fields: ticketFields{
				Summary: summary, Status: statuses[n%3], Priority: namedOf("priority", "3", "Medium"), IssueType: namedOf("issuetype", "10002", "Task"),
				Reporter: personOf(n + 2), Labels: []string{}, Created: at(n * 50), Updated: at(n*50 + 9),
			},
		}
		if n%2 == 0 {
			p := personOf(n)
			t.Fields.Assignee, t.Fields.Points = &p, new(float64(n%5)+1)
		}
		out = append(out, t)
	}
	return out
}
