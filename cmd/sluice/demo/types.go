package demo

// The types carry their own documentation: tag doc is the description in the
// OpenAPI document, format its format, enum its values.

type user struct {
	Login             string `json:"login" doc:"Name of the account"`
	ID                int64  `json:"id"`
	NodeID            string `json:"node_id"`
	AvatarURL         string `json:"avatar_url" format:"uri"`
	GravatarID        string `json:"gravatar_id"`
	URL               string `json:"url" format:"uri"`
	HTMLURL           string `json:"html_url" format:"uri"`
	FollowersURL      string `json:"followers_url" format:"uri"`
	FollowingURL      string `json:"following_url"`
	GistsURL          string `json:"gists_url"`
	StarredURL        string `json:"starred_url"`
	SubscriptionsURL  string `json:"subscriptions_url" format:"uri"`
	OrganizationsURL  string `json:"organizations_url" format:"uri"`
	ReposURL          string `json:"repos_url" format:"uri"`
	EventsURL         string `json:"events_url"`
	ReceivedEventsURL string `json:"received_events_url" format:"uri"`
	Type              string `json:"type"`
	SiteAdmin         bool   `json:"site_admin"`
}

type repository struct {
	ID              int64    `json:"id"`
	NodeID          string   `json:"node_id"`
	Name            string   `json:"name"`
	FullName        string   `json:"full_name" doc:"owner/name"`
	Private         bool     `json:"private"`
	Owner           user     `json:"owner"`
	HTMLURL         string   `json:"html_url" format:"uri"`
	Description     *string  `json:"description"`
	Fork            bool     `json:"fork"`
	URL             string   `json:"url" format:"uri"`
	ArchiveURL      string   `json:"archive_url"`
	AssigneesURL    string   `json:"assignees_url"`
	BranchesURL     string   `json:"branches_url"`
	CollaboratorURL string   `json:"collaborators_url"`
	CommentsURL     string   `json:"comments_url"`
	CommitsURL      string   `json:"commits_url"`
	ContentsURL     string   `json:"contents_url"`
	IssuesURL       string   `json:"issues_url"`
	LabelsURL       string   `json:"labels_url"`
	PullsURL        string   `json:"pulls_url"`
	ReleasesURL     string   `json:"releases_url"`
	GitURL          string   `json:"git_url"`
	SSHURL          string   `json:"ssh_url"`
	CloneURL        string   `json:"clone_url" format:"uri"`
	MirrorURL       *string  `json:"mirror_url" format:"uri"`
	Homepage        *string  `json:"homepage" format:"uri"`
	Language        *string  `json:"language"`
	ForksCount      int      `json:"forks_count"`
	StargazersCount int      `json:"stargazers_count"`
	OpenIssuesCount int      `json:"open_issues_count"`
	DefaultBranch   string   `json:"default_branch"`
	Topics          []string `json:"topics"`
	Archived        bool     `json:"archived"`
	Visibility      string   `json:"visibility" enum:"public,private,internal"`
	PushedAt        string   `json:"pushed_at" format:"date-time"`
	CreatedAt       string   `json:"created_at" format:"date-time"`
	UpdatedAt       string   `json:"updated_at" format:"date-time"`
}

type label struct {
	ID          int64   `json:"id"`
	NodeID      string  `json:"node_id"`
	URL         string  `json:"url" format:"uri"`
	Name        string  `json:"name"`
	Color       string  `json:"color"`
	Default     bool    `json:"default"`
	Description *string `json:"description"`
}

type reactions struct {
	URL        string `json:"url" format:"uri"`
	TotalCount int    `json:"total_count"`
	PlusOne    int    `json:"+1"`
	MinusOne   int    `json:"-1"`
	Laugh      int    `json:"laugh"`
	Heart      int    `json:"heart"`
}

type issue struct {
	URL               string      `json:"url" format:"uri"`
	RepositoryURL     string      `json:"repository_url" format:"uri"`
	LabelsURL         string      `json:"labels_url"`
	CommentsURL       string      `json:"comments_url" format:"uri"`
	EventsURL         string      `json:"events_url" format:"uri"`
	HTMLURL           string      `json:"html_url" format:"uri"`
	ID                int64       `json:"id"`
	NodeID            string      `json:"node_id"`
	Number            int         `json:"number" doc:"Number of the issue in its repository"`
	Title             string      `json:"title"`
	User              user        `json:"user"`
	Labels            []label     `json:"labels"`
	State             string      `json:"state" enum:"open,closed"`
	Locked            bool        `json:"locked"`
	Assignee          *user       `json:"assignee"`
	Assignees         []user      `json:"assignees"`
	Milestone         *string     `json:"milestone"`
	Comments          int         `json:"comments"`
	CreatedAt         string      `json:"created_at" format:"date-time"`
	UpdatedAt         string      `json:"updated_at" format:"date-time"`
	ClosedAt          *string     `json:"closed_at" format:"date-time"`
	AuthorAssociation string      `json:"author_association"`
	ActiveLockReason  *string     `json:"active_lock_reason"`
	Body              *string     `json:"body"`
	Reactions         reactions   `json:"reactions"`
	TimelineURL       string      `json:"timeline_url" format:"uri"`
	StateReason       *string     `json:"state_reason"`
	Repository        *repository `json:"repository,omitempty"`
}

type issueSearch struct {
	TotalCount        int     `json:"total_count"`
	IncompleteResults bool    `json:"incomplete_results"`
	Items             []issue `json:"items"`
}

type issueInput struct {
	Title     string   `json:"title" doc:"Title of the issue" required:"true"`
	Body      *string  `json:"body,omitempty" doc:"Text in Markdown"`
	Labels    []string `json:"labels,omitempty"`
	Assignees []string `json:"assignees,omitempty" doc:"Logins of the people to assign"`
}

type issuePatch struct {
	Title  *string  `json:"title,omitempty"`
	Body   *string  `json:"body,omitempty"`
	State  *string  `json:"state,omitempty" enum:"open,closed"`
	Labels []string `json:"labels,omitempty" doc:"Replaces all labels"`
}

type comment struct {
	URL       string    `json:"url" format:"uri"`
	HTMLURL   string    `json:"html_url" format:"uri"`
	IssueURL  string    `json:"issue_url" format:"uri"`
	ID        int64     `json:"id"`
	NodeID    string    `json:"node_id"`
	User      user      `json:"user"`
	CreatedAt string    `json:"created_at" format:"date-time"`
	UpdatedAt string    `json:"updated_at" format:"date-time"`
	Body      string    `json:"body"`
	Reactions reactions `json:"reactions"`
	issue     int
}

type commentInput struct {
	Body string `json:"body" doc:"Text in Markdown" required:"true"`
}

type address struct {
	City       *string `json:"city"`
	Country    *string `json:"country"`
	Line1      *string `json:"line1"`
	Line2      *string `json:"line2"`
	PostalCode *string `json:"postal_code"`
	State      *string `json:"state"`
}

type invoiceSettings struct {
	CustomFields         *string `json:"custom_fields"`
	DefaultPaymentMethod *string `json:"default_payment_method"`
	Footer               *string `json:"footer"`
}

type customer struct {
	ID                  string            `json:"id" doc:"Begins with cus_"`
	Object              string            `json:"object"`
	Address             *address          `json:"address"`
	Balance             int64             `json:"balance"`
	Created             int64             `json:"created" format:"unix-time"`
	Currency            *string           `json:"currency"`
	DefaultSource       *string           `json:"default_source"`
	Delinquent          bool              `json:"delinquent"`
	Description         *string           `json:"description"`
	Discount            *string           `json:"discount"`
	Email               string            `json:"email" format:"email"`
	InvoicePrefix       string            `json:"invoice_prefix"`
	InvoiceSettings     invoiceSettings   `json:"invoice_settings"`
	Livemode            bool              `json:"livemode"`
	Metadata            map[string]string `json:"metadata"`
	Name                string            `json:"name"`
	NextInvoiceSequence int               `json:"next_invoice_sequence"`
	Phone               *string           `json:"phone"`
	PreferredLocales    []string          `json:"preferred_locales"`
	Shipping            *address          `json:"shipping"`
	TaxExempt           string            `json:"tax_exempt"`
	TestClock           *string           `json:"test_clock"`
}

type customerInput struct {
	Email       string            `json:"email" format:"email" required:"true"`
	Name        string            `json:"name" required:"true"`
	Description *string           `json:"description,omitempty"`
	Phone       *string           `json:"phone,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type customerPatch struct {
	Email       *string           `json:"email,omitempty" format:"email"`
	Name        *string           `json:"name,omitempty"`
	Description *string           `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type customerList struct {
	Object  string     `json:"object"`
	URL     string     `json:"url"`
	HasMore bool       `json:"has_more"`
	Data    []customer `json:"data"`
}

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

type billingDetails struct {
	Address address `json:"address"`
	Email   *string `json:"email"`
	Name    *string `json:"name"`
	Phone   *string `json:"phone"`
}

type card struct {
	Brand        string  `json:"brand"`
	Country      string  `json:"country"`
	ExpMonth     int     `json:"exp_month"`
	ExpYear      int     `json:"exp_year"`
	Fingerprint  string  `json:"fingerprint"`
	Funding      string  `json:"funding"`
	Installments *string `json:"installments"`
	Last4        string  `json:"last4"`
	Mandate      *string `json:"mandate"`
	Network      string  `json:"network"`
	Wallet       *string `json:"wallet"`
}

type paymentMethodDetails struct {
	Card card   `json:"card"`
	Type string `json:"type"`
}

type outcome struct {
	NetworkStatus string  `json:"network_status"`
	Reason        *string `json:"reason"`
	RiskLevel     string  `json:"risk_level"`
	RiskScore     int     `json:"risk_score"`
	SellerMessage string  `json:"seller_message"`
	Type          string  `json:"type"`
}

type charge struct {
	ID                   string               `json:"id" doc:"Begins with ch_"`
	Object               string               `json:"object"`
	Amount               int64                `json:"amount" doc:"In the smallest unit of the currency"`
	AmountCaptured       int64                `json:"amount_captured"`
	AmountRefunded       int64                `json:"amount_refunded"`
	Application          *string              `json:"application"`
	ApplicationFee       *string              `json:"application_fee"`
	BalanceTransaction   string               `json:"balance_transaction"`
	BillingDetails       billingDetails       `json:"billing_details"`
	Captured             bool                 `json:"captured"`
	Created              int64                `json:"created" format:"unix-time"`
	Currency             string               `json:"currency"`
	Customer             string               `json:"customer"`
	Description          *string              `json:"description"`
	Disputed             bool                 `json:"disputed"`
	FailureCode          *string              `json:"failure_code"`
	FailureMessage       *string              `json:"failure_message"`
	Invoice              *string              `json:"invoice"`
	Livemode             bool                 `json:"livemode"`
	Metadata             map[string]string    `json:"metadata"`
	OnBehalfOf           *string              `json:"on_behalf_of"`
	Outcome              outcome              `json:"outcome"`
	Paid                 bool                 `json:"paid"`
	PaymentIntent        *string              `json:"payment_intent"`
	PaymentMethod        string               `json:"payment_method"`
	PaymentMethodDetails paymentMethodDetails `json:"payment_method_details"`
	ReceiptEmail         *string              `json:"receipt_email"`
	ReceiptNumber        *string              `json:"receipt_number"`
	ReceiptURL           string               `json:"receipt_url" format:"uri"`
	Refunded             bool                 `json:"refunded"`
	Status               string               `json:"status" enum:"succeeded,pending,failed"`
}

type chargeList struct {
	Object  string   `json:"object"`
	URL     string   `json:"url"`
	HasMore bool     `json:"has_more"`
	Data    []charge `json:"data"`
}

type chargeInput struct {
	Customer    string            `json:"customer" doc:"Customer to charge" required:"true"`
	Amount      int64             `json:"amount" doc:"In the smallest unit of the currency" required:"true"`
	Currency    string            `json:"currency" required:"true" doc:"ISO 4217 code, lower case"`
	Description *string           `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type avatars struct {
	Large  string `json:"48x48" format:"uri"`
	Small  string `json:"24x24" format:"uri"`
	Tiny   string `json:"16x16" format:"uri"`
	Medium string `json:"32x32" format:"uri"`
}

type person struct {
	Self        string  `json:"self" format:"uri"`
	AccountID   string  `json:"accountId"`
	DisplayName string  `json:"displayName"`
	AvatarURLs  avatars `json:"avatarUrls"`
	Active      bool    `json:"active"`
	TimeZone    string  `json:"timeZone"`
	AccountType string  `json:"accountType"`
}

type link struct {
	Href string `json:"href" format:"uri"`
}

type links struct {
	Self  link  `json:"self"`
	Next  *link `json:"next,omitempty"`
	First link  `json:"first"`
}

type project struct {
	Expand         string  `json:"expand"`
	Self           string  `json:"self" format:"uri"`
	ID             string  `json:"id"`
	Key            string  `json:"key"`
	Name           string  `json:"name"`
	AvatarURLs     avatars `json:"avatarUrls"`
	ProjectTypeKey string  `json:"projectTypeKey"`
	Simplified     bool    `json:"simplified"`
	Style          string  `json:"style"`
	IsPrivate      bool    `json:"isPrivate"`
	Lead           person  `json:"lead"`
}

type projectPage struct {
	Self       string    `json:"self" format:"uri"`
	MaxResults int       `json:"maxResults"`
	StartAt    int       `json:"startAt"`
	Total      int       `json:"total"`
	IsLast     bool      `json:"isLast"`
	Values     []project `json:"values"`
	Links      links     `json:"_links"`
}

type named struct {
	Self    string `json:"self" format:"uri"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	IconURL string `json:"iconUrl" format:"uri"`
}

type ticketFields struct {
	Summary    string   `json:"summary"`
	Status     named    `json:"status"`
	Priority   named    `json:"priority"`
	IssueType  named    `json:"issuetype"`
	Assignee   *person  `json:"assignee"`
	Reporter   person   `json:"reporter"`
	Labels     []string `json:"labels"`
	DueDate    *string  `json:"duedate" format:"date"`
	Resolution *named   `json:"resolution"`
	Points     *float64 `json:"customfield_10016" doc:"Story points"`
	Sprint     *string  `json:"customfield_10020"`
	Created    string   `json:"created"`
	Updated    string   `json:"updated"`
}

type ticket struct {
	Expand string       `json:"expand"`
	ID     string       `json:"id"`
	Self   string       `json:"self" format:"uri"`
	Key    string       `json:"key"`
	Fields ticketFields `json:"fields"`
}

type ticketPage struct {
	Expand     string   `json:"expand"`
	StartAt    int      `json:"startAt"`
	MaxResults int      `json:"maxResults"`
	Total      int      `json:"total"`
	Issues     []ticket `json:"issues"`
	Links      links    `json:"_links"`
}

type failure struct {
	Message          string `json:"message"`
	DocumentationURL string `json:"documentation_url" format:"uri"`
	Status           string `json:"status"`
}
