package naming

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/openapi"
)

// tool is one of a made-up API: "NAME METHOD PATH TITLE".
func tool(s string) Tool {
	f := strings.SplitN(s, " ", 4)
	t := Tool{Name: f[0], Method: f[1], Path: f[2]}
	if len(f) > 3 {
		t.Title = f[3]
		t.Description = f[3] + "."
	}
	return t
}

// named are the proposals for tools, "old → new" each.
func named(t *testing.T, lines ...string) []string {
	t.Helper()
	var tools []Tool
	for _, l := range lines {
		tools = append(tools, tool(l))
	}
	var out []string
	seen := map[string]bool{}
	for i, n := range Names(tools, nil) {
		if n.Name == "" {
			continue
		}
		if n.Reason == "" || len(n.Name) > LongName || seen[n.Name] || slices.ContainsFunc(tools, func(o Tool) bool { return o.Name == n.Name }) {
			t.Errorf("%s: %+v", tools[i].Name, n)
		}
		seen[n.Name] = true
		out = append(out, tools[i].Name+" → "+n.Name)
	}
	return out
}

func TestNames(t *testing.T) {
	f := func(lines []string, want ...string) {
		t.Helper()
		if got := named(t, lines...); !slices.Equal(got, want) {
			t.Errorf("%q\ngot  %q\nwant %q", lines, got, want)
		}
	}
	one := func(line, want string) {
		t.Helper()
		name, _, _ := strings.Cut(line, " ")
		if want == "" {
			f([]string{line})
			return
		}
		f([]string{line}, name+" → "+want)
	}
	one("request_delete DELETE /v1/user Delete User Account", "")
	one("email_login POST /registration Login with email", "")
	// The method is not a verb; what the text says is.
	one("post_buyers POST /v1/buyers Create a buyer", "create_buyer")
	one("post_buyers_buyer POST /v1/buyers/{buyer} Update a buyer", "update_buyer")
	one("post_offers_offer_accept POST /v1/offers/{offer}/accept Accept an offer", "accept_offer")
	one("put_users_id PUT /users/{id} Edits a user", "update_user")
	one("post_things POST /things", "") // nothing says what it does
	one("post_letter POST /post/letter Sends a letter", "")
	one("post_jobs_id_terminate POST /jobs/{id}/terminate", "terminate_job")
	one("post_groups_terminate_sessions POST /groups/terminate_sessions Create jobs that end sessions", "") // text and path disagree
	one("deleteword_list DELETE /indexes/{id}/settings/word-list Reset wordList", "reset_word_list")
	// Lists.
	one("get_buyers GET /v1/buyers List all buyers", "list_buyers")
	one("get_buyers GET /v1/buyers Get all buyers", "list_buyers")
	one("get_buyers GET /v1/buyers Returns a list of buyers", "list_buyers")
	one("get_buyers GET /v1/buyers Get buyers", "") // may be so
	one("get_shops_shop_people GET /v1/shops/{shop}/people List the people of a shop", "list_shop_people")
	// A collection and its parameter.
	one("get_buyers_buyer GET /v1/buyers/{buyer} Retrieve a buyer", "get_buyer")
	one("delete_files_id_notes DELETE /files/{file_id}/notes Delete notes", "delete_file_notes")
	one("get_vendor_ips_id GET /vendor/ips/{id} Get an IP", "get_ip")
	// Versions, roots, scopes.
	one("read_core_v1_namespaced_crate GET /api/v1/namespaces/{namespace}/crates/{name} Reads the crate", "get_crate")
	one("get_api_rule_by_index GET /api/rules/{index} Get a rule by index", "get_rule")
	// The verb stands later, or only in the text.
	one("repo_list_tags GET /repos/{repo}/tags List the tags of a repo", "list_repo_tags")
	one("rooms_archive POST /rooms.archive Archives a room", "archive_room")
	one("cluster_status GET /cluster/status Get the status of the cluster", "get_cluster_status")
	one("repo_create_key POST /repos/{repo}/keys Add a key", "create_repo_key")
	one("judge_events POST /events/{id}/judging Run a judge on an event", "")
	one("download_report GET /reports/{id}/file Get a report", "") // its own verb is better
	one("statements_download POST /statements/download Retrieve a statement", "download_statement")
	// The group says what the object says again.
	one("brands_get_brand GET /brands/{brand_id} Gets a brand", "get_brand")
	one("service_info_get_service_info GET /service_info Gets the service information", "get_service_info")
	one("billing_payments_get_payment GET /billing_payments/{payment_id} Gets a payment", "get_billing_payment")
	one("billing_invoices_get_billing_invoices GET /billing_invoices Get a list of invoices", "list_billing_invoices")
	one("oauth2_post_revoke POST /oauth2/revoke Revoke a token", "revoke_oauth2")
	f([]string{"billing_plan_get_billing_plan GET /accounts/{account_id}/billing_plan Gets the billing plan", "get_billing_plan GET /billing_plans/{plan_id} Gets a billing plan"},
		"billing_plan_get_billing_plan → get_account_billing_plan")
	// A text of the collection, of what is in the item, and of several deeds.
	one("get_template GET /templates/{template_id} Gets a list of templates", "")
	one("get_folder_by_folder_id GET /folders/{folder_id} Gets a list of all the items in a folder", "get_folder")
	one("put_mail PUT /mails/{mail_id} Send Draft Mail/Delete Mail", "")
	// What is good stays.
	one("list_pets GET /pets List pets", "")
	one("create_pet POST /pets Creates a pet", "")
	one("batch_change_records POST /records/batch Batch create, update and delete records", "")
	// Remote procedures.
	f([]string{"get_modify_volume GET /#Action=ModifyVolume", "post_modify_volume POST /#Action=ModifyVolume"},
		"get_modify_volume → modify_volume_via_get", "post_modify_volume → modify_volume")

	// The group separates, and only where two things have one name.
	f([]string{"post_issuing_disputes POST /issuing/disputes Create a dispute", "get_disputes GET /disputes List disputes", "post_issuing_cards POST /issuing/cards Create a card"},
		"post_issuing_disputes → create_issuing_dispute", "get_disputes → list_disputes", "post_issuing_cards → create_card")
	// Names of other tools are taken, also of those that get another.
	f([]string{"post_pets POST /pets Create a pet", "create_pet POST /animals/pets"})
	// Two paths that nothing tells apart: the first has the name.
	f([]string{"post_shops_shop_people POST /shops/{shop}/people Create a person", "post_shops_shop_persons POST /shops/{shop}/persons Create a person"},
		"post_shops_shop_people → create_shop_person")
	// A group that changes what a tool is for stays.
	one("post_test_cards_card_ship POST /test/cards/{card}/ship Ship a card", "ship_test_card")
	// Words that a path writes together, as the texts write them.
	f([]string{"post_issuetypescreenschemes POST /issuetypescreenschemes Create an issue type screen scheme"}, "post_issuetypescreenschemes → create_issue_type_screen_scheme")
}

// TestOddStyles: specifications of other tools and languages get the verb that the operation
// has, or none.
func TestOddStyles(t *testing.T) {
	generated := func(name, method, path string) string { // what a tool without texts says
		words := strings.ReplaceAll(name, "_", " ")
		return name + " " + method + " " + path + " " + strings.ToUpper(words[:1]) + words[1:] + " (" + method + " " + path + ")"
	}
	for line, want := range map[string]string{
		generated("post_v1_books_book_undelete", "POST", "/v1/books/{book}:undelete"):         "undelete_book",
		generated("post_users_id_actions_unsuspend", "POST", "/users/{id}/actions/unsuspend"): "unsuspend_user",
		generated("put_users_id_enable", "PUT", "/users/{id}/enable"):                         "enable_user",
		generated("put_rechnungen_id_bezahlt", "PUT", "/rechnungen/{id}/bezahlt"):             "", // was put_rechnungen_bezahlt
		generated("post_v2_1_customer_bulk_update", "POST", "/v2.1/Customer/BulkUpdate"):      "", // was post_bulk_update
		"get_api_user_delete GET /api/user/delete Deletes the user":                           "", // was get_delete
		"rpc_get_user_list POST /rpc/getUserList Get the list of users":                       "list_users",
		"do_checkout POST /rpc/doCheckout Checkout":                                           "",
		"post_cart_checkout POST /cart/checkout Check out the cart":                           "", // was check_out
		"post_facturas_enviar POST /facturas/enviar Enviar una factura":                       "enviar_factura",
		"post_v1_books_search POST /v1/books:search Search books":                             "search_books",
		"post_devices_id_action_reboot POST /devices/{id}/action/reboot Reboots a device":     "reboot_device",
		"post_actions POST /repos/{id}/actions Creates an action":                             "create_repo_action",
	} {
		got, old := named(t, line), strings.SplitN(line, " ", 2)[0]
		if want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{old + " → " + want}) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	got := named(t, "find_all_users_v2 GET /api/v2/users", "find_user_one_v2 GET /api/v2/users/{id}", "create_user_v2 POST /api/v2/users", "find_all_users_v1 GET /api/v1/users")
	want := []string{"find_all_users_v2 → find_users_v2", "find_user_one_v2 → find_user", "create_user_v2 → create_user", "find_all_users_v1 → find_users_v1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A longer honest name rather than a hash.
func TestHash(t *testing.T) {
	path := "/organizations/{org}/artifacts/permissions/artifact-and-protocol-retention"
	generated := Tool{Method: "PUT", Path: path, Title: "Set retention of artifacts and protocols", Description: "Set retention of artifacts and protocols."}
	for _, end := range []string{"aaaa"} { // not the hash: nothing is wrong with it
		generated.Name = "set_artifact_retention_" + end
		if got := Names([]Tool{generated}, nil); got[0].Name != "" {
			t.Errorf("%+v", got)
		}
	}
	generated.Name = "set_artifact_and_protocol_retent_" + hashOf(t, generated.Method, path)
	got := Names([]Tool{generated}, nil)
	if got[0].Name != "set_organization_artifacts_permissions_artifact_and_protocol_retention" && got[0].Name != "set_artifact_and_protocol_retention" || len(got[0].Name) > LongName || got[0].Reason != faultHash {
		t.Errorf("%+v", got)
	}
}

// hashOf finds the digits that a generated name of the operation would end in.
func hashOf(t *testing.T, method, path string) string {
	t.Helper()
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	for _, a := range digits {
		for _, b := range digits {
			for _, c := range digits {
				for _, d := range digits {
					if h := string([]rune{a, b, c, d}); openapi.HashEnds("x_"+h, method, path) {
						return h
					}
				}
			}
		}
	}
	t.Fatal("no hash")
	return ""
}

// Proposals do not depend on what was asked before, and hostile tools cost nothing.
// TestFragments: what stands behind # tells which of several things a path does.
func TestFragments(t *testing.T) {
	got := named(t,
		"remove_put_crates_id_shared_link PUT /crates/{crate_id}#remove_shared_link Remove shared link from crate",
		"get_crates_id_shared_link GET /crates/{crate_id}#get_shared_link Get shared link for crate",
		"get_crates_id GET /crates/{crate_id} Get a crate",
		"crate_prune POST /crates/prune Delete unused crates",
		"put_crate_request_fee PUT /crates/{crate_id}#requestFee Sets the request fee of a crate",
	)
	want := []string{
		"remove_put_crates_id_shared_link → remove_crate_shared_link", "get_crates_id_shared_link → get_crate_shared_link",
		"get_crates_id → get_crate", "crate_prune → prune_crates",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPlurals: an object is in the plural where the text says so, in the singular where it
// speaks of one.
func TestPlurals(t *testing.T) {
	for line, want := range map[string]string{
		"get_depot_by_region GET /depots/{region} List depots in a region":                 "list_depots_by_region",
		"get_depot_parcel_by_day GET /depots/{depot}/parcels/{day} List parcels for a day": "list_depot_parcels_by_day",
		"get_parcels_for_depot GET /depots/{depot}/parcels List parcels of the depot":      "list_parcels_for_depot",
		"depot_insights_get POST /depot/insights/get Retrieve the insights of a depot":     "get_depot_insights",
		"depot_reports_get POST /depot/reports/get Retrieve a report of the depot":         "get_depot_report",
		"depot_duties_get POST /depot/duties/get Get information of a depot":               "get_depot_duties",
		"depots_lookup_by_code GET /depots.lookupByCode Find a depot with a code":          "find_depot_by_code",
		"batch_update POST /depots/{depot}/parcels/batch Batch update parcels":             "batch_update_parcels",
	} {
		old, _, _ := strings.Cut(line, " ")
		if got := named(t, line); len(got) != 1 || got[0] != old+" → "+want {
			t.Errorf("%s: %q, want %s", line, got, want)
		}
	}
}

func TestNamesAreBounded(t *testing.T) {
	var tools []Tool
	for i := range MaxTools + 1 {
		tools = append(tools, tool(fmt.Sprintf("post_t%d POST /t%d Create a thing", i, i)))
	}
	got := Names(tools, nil)
	if len(got) != len(tools) || got[MaxTools-1].Name == "" || got[MaxTools].Name != "" {
		t.Errorf("%d proposals, at the limit %+v, past it %+v", len(got), got[MaxTools-1], got[MaxTools])
	}
	if again := Names(tools, nil); !slices.Equal(got, again) {
		t.Error("not the same the second time")
	}
	for _, odd := range []Tool{
		{},
		{Name: "x"},
		{Name: "post_", Method: "POST", Path: "/"},
		{Name: "_", Method: "GET", Path: "//{}/{}//#?"},
		{Name: "get_x", Method: "GET", Path: "/x/{", Title: "ÄÖ", Description: "\x00"},
		{Name: "post_" + strings.Repeat("x_", 30), Method: "POST", Path: "/" + strings.Repeat("xxxxxxxx/", 100), Title: "Create x", Description: strings.Repeat("Create ", 1000)},
	} {
		for _, n := range Names([]Tool{odd}, nil) {
			if len(n.Name) > LongName {
				t.Errorf("%+v: %q", odd, n.Name)
			}
		}
		Describe(&odd, odd.Name)
	}
}
