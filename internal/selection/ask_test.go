package selection

import (
	"strings"
	"testing"
)

func TestIntent(t *testing.T) {
	for q, want := range map[string]intent{
		"What is running in staging?":                        intentRead,
		"Please show me the open issues":                     intentRead,
		"Can you put Maria on issue 17?":                     intentWrite,
		"Can 88 be merged without conflicts?":                intentRead,
		"Something strange happened, what was reported?":     intentRead,
		"Tell me who is online":                              intentRead,
		"Tell everybody that lunch is here":                  intentWrite,
		"PR 42 has been approved, go ahead and merge it.":    intentWrite,
		"The branch is merged, get rid of it.":               intentWrite,
		"get commits":                                        intentRead,
		"create refund":                                      intentWrite,
		"Since when is Bo a member":                          intentRead,
		"under which names are we known":                     intentRead,
		"Anything new today":                                 intentRead,
		"I am on holiday, let Sam take it":                   intentWrite, // the first clause tells something
		"We have a new colleague":                            intentUnknown,
		"She wants to cancel her plan":                       intentWrite,
		"Do not send the mail":                               intentWrite,
		"Don't send the mail":                                intentWrite,
		"Do you send the mail":                               intentRead,
		"Report a bug":                                       intentWrite,
		"report formats":                                     intentUnknown,
		"Follow the artist of this song":                     intentWrite,
		"play some quiet songs":                              intentWrite,
		"Rate this film":                                     intentWrite,
		"rate limits":                                        intentUnknown,
		"get her into the team":                              intentWrite,
		"get the members of the team":                        intentRead,
		"for the team":                                       intentUnknown,
		"weather in Paris":                                   intentUnknown,
		"":                                                   intentUnknown,
		strings.Repeat("please ", 11) + "create an issue":    intentWrite,
		strings.Repeat("please ", 12) + "create an issue":    intentUnknown, // the first 12 words of a clause count
		strings.Repeat("ö", 300) + " \xff? (“what”) ?? .. !": intentRead,
	} {
		if got, _, _ := intentOf(q); got != want {
			t.Errorf("intentOf(%q) = %d, want %d", q, got, want)
		}
	}
	if maxLead != 12 {
		t.Errorf("%d words of a clause are looked at, want 12", maxLead)
	}
	_, orders, steps := intentOf("cancel the order and then send a message")
	if !orders[4] || !orders[2] || orders[3] || steps != 2 {
		t.Errorf("orders %v in %d steps, want create and delete in two", orders, steps)
	}
}

func TestLiterals(t *testing.T) {
	for q, want := range map[string]string{
		"Who is behind jo@example.com?":         "Who is behind email?",
		"Tell https://example.com/hook":         "Tell url",
		"Tell #general about docs/setup.md":     "Tell channel about file",
		"Route shop.example.com to it":          "Route domain to it",
		"What does SHOP-12 say in octo/site, 5": "What does  say in , ",
		"send an in-app message v2 via OAuth2":  "send an in-app message v2 via OAuth2",
		"read and/or write":                     "read  write",
		"":                                      "",
	} {
		if got, _ := withoutLiterals(q); got != want {
			t.Errorf("withoutLiterals(%q) = %q, want %q", q, got, want)
		}
	}
	for q, want := range map[string]bool{"what does ticket 12 say": true, "what is open in octo/site": false, "mail jo@example.com": false} {
		if _, one := withoutLiterals(q); one != want {
			t.Errorf("%q names one: %v", q, one)
		}
	}
}

func TestSenses(t *testing.T) {
	tools := []Tool{
		{Name: "create_refund", Description: "Creates a refund."},
		{Name: "list_invoices", Description: "Lists invoices."},
		{Name: "remove_member", Description: "Removes a member."},
		{Name: "get_balance", Description: "Reads the balance."},
		{Name: "share_thing", Description: "Shares a thing."},
	}
	s := Build(tools, nil).NewSearcher()
	for q, want := range map[string]string{
		"Give the customer her money back": "create_refund",
		"Which bills are overdue":          "list_invoices",
		"Kick her out":                     "remove_member", // a particle apart from its verb
		"Let Ana Maria see the plan":       "share_thing",   // a verb apart from "let"
	} {
		if hits := s.Search(q, 1); len(hits) == 0 || tools[hits[0].Tool].Name != want {
			t.Errorf("%q: %v, want %s", q, hits, want)
		}
	}
	for _, bad := range []string{"b c d e f g", "the"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a phrase %q is taken", bad)
				}
			}()
			parseSenses("x: " + bad)
		}()
	}
	parseSenses("x: a1 b2") // digits part words
}

// TestDenied: what is said not to be so is looked for by its opposite.
func TestDenied(t *testing.T) {
	tools := []Tool{
		{Name: "list_messages", Description: "Lists messages."},
		{Name: "list_unread", Description: "Lists what is unread."},
		{Name: "list_unpaid", Description: "Lists what is unpaid."},
	}
	s := Build(tools, nil).NewSearcher()
	for q, want := range map[string]string{
		"Which messages have I not yet read?":                       "list_unread",
		"Which messages haven't they read":                          "list_unread",
		"Nobody paid":                                               "list_unpaid",
		"Which messages are read?":                                  "list_messages",
		"messages not " + strings.Repeat("x ", notReach-1) + "read": "list_unread",
		"messages not " + strings.Repeat("x ", notReach) + "read":   "list_messages", // one word too far
	} {
		if hits := s.Search(q, 1); len(hits) == 0 || tools[hits[0].Tool].Name != want {
			t.Errorf("%q: %v, want %s", q, hits, want)
		}
	}
	tools = nil
	said := ""
	for c := 'a'; c <= 'l'; c++ {
		tools = append(tools, Tool{Name: "unx" + string(c)})
		said += " not x" + string(c)
	}
	if s = Build(tools, nil).NewSearcher(); maxDenied != 8 {
		t.Errorf("maxDenied %d, want 8", maxDenied)
	}
	if s.queryTerms(said[:len(" not xa")*maxDenied]); len(s.denied) != maxDenied {
		t.Errorf("%d opposites of %d", len(s.denied), maxDenied)
	}
	if s.queryTerms(said[:len(" not xa")*(maxDenied+1)]); len(s.denied) != maxDenied {
		t.Errorf("%d opposites of one more than %d", len(s.denied), maxDenied)
	}
}

// TestVerbClass: what a tool does, by its name, and where that says nothing by its method.
func TestVerbClass(t *testing.T) {
	for name, want := range map[[2]string]int8{
		{"list_users", "GET"}:           1,
		{"get_create_volume", "GET"}:    2, // the word of the method says nothing
		{"post_describe_hosts", "POST"}: 1,
		{"post_modify_host", "POST"}:    3,
		{"get_delete_volume", "GET"}:    4,
		{"get_post_comments", "GET"}:    1, // a post is a thing here
		{"delete_post", "DELETE"}:       4,
		{"get_create_volume", "POST"}:   1, // it is not the word of the method
		{"volume", "PUT"}:               3,
		{"volume", ""}:                  0,
	} {
		if got := verbClass(name[0], name[1]); got != want {
			t.Errorf("%s %s: class %d, want %d", name[1], name[0], got, want)
		}
	}
}

// TestFirstSentence: what a tool does counts more than what else is to be known.
func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"Lists users. Needs a scope.":    "Lists users.",
		"Lists users\nNeeds a scope. No": "Lists users",
		"Lists v1.2 users":               "Lists v1.2 users",
		"":                               "",
	} {
		first, more := firstSentence(text)
		if first != want || first+more != text {
			t.Errorf("%q: %q and %q, want %q", text, first, more, want)
		}
	}
	s := Build([]Tool{
		{Name: "a", Description: "Reads the report. It names the owner of each file."},
		{Name: "b", Description: "It names the owner of each file. Reads the report."},
	}, nil).NewSearcher()
	words := map[int]float32{}
	for _, h := range s.Search("report", 2) {
		words[h.Tool] = h.Features[FeatureBM25]
	}
	if len(words) != 2 || words[0] <= words[1] {
		t.Errorf("%v, want more of the tool whose first sentence says it", words)
	}
}

// TestSenseBounds: what a stranger's request costs.
func TestSenseBounds(t *testing.T) {
	if maxPlaced != 48 || maxApart != 6 || maxPhrase != 5 || maxMeant != 64 || maxLet != 3 {
		t.Errorf("maxPlaced %d, maxApart %d, maxPhrase %d, maxMeant %d, maxLet %d; want 48, 6, 5, 64, 3", maxPlaced, maxApart, maxPhrase, maxMeant, maxLet)
	}
	s := Build([]Tool{{Name: "create_refund"}, {Name: "remove_member"}}, nil).NewSearcher()
	means := func(q string) int {
		s.queryTerms(q)
		return len(s.meant)
	}
	for q, want := range map[string]bool{
		strings.Repeat("x ", maxPlaced-1) + "reimburse":          true,
		strings.Repeat("x ", maxPlaced) + "reimburse":            false, // one word past those that phrases are looked for among
		"kick" + strings.Repeat(" x", maxApart-1) + " out":       true,
		"kick" + strings.Repeat(" x", maxApart) + " out":         false,
		"money " + strings.Repeat("the ", 60) + "back":           true, // articles do not count
		"money " + strings.Repeat("x ", maxPhrase) + "backwards": false,
	} {
		if got := means(q); (got > 0) != want {
			t.Errorf("%.60q means %d terms", q, got)
		}
	}
	var all []Tool
	var said strings.Builder
	for phrase, i := range senses().byPhrase {
		_ = phrase
		for _, w := range senses().meant[i] {
			all = append(all, Tool{Name: w})
		}
	}
	for line := range strings.Lines(sensesText) {
		if _, list, ok := strings.Cut(line, ": "); ok && said.Len() < maxQuery {
			first, _, _ := strings.Cut(list, ",")
			if !strings.Contains(first, " ") {
				said.WriteString(strings.TrimSpace(first) + " ")
			}
		}
	}
	s = Build(all, nil).NewSearcher()
	if n := means(said.String()); n > maxMeant || n < maxMeant/2 {
		t.Errorf("a request of many words means %d terms, at most %d", n, maxMeant)
	}
}
