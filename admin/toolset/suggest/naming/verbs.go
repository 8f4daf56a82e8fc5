package naming

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// canonical is the one verb that is used for several that mean the same.
var canonical = map[string]string{
	"retrieve": "get", "fetch": "get", "return": "get", "obtain": "get", "read": "get", "show": "get", "view": "get", "display": "get", "see": "get",
	"lookup": "find", "enumerate": "list", "browse": "list", "edit": "update", "modify": "update", "patch": "update", "change": "update",
	"amend": "update", "destroy": "delete", "erase": "delete", "new": "create", "synchronize": "sync", "del": "delete",
}

// more are verbs of operations that the reader of specifications has no use for.
var more = words(`change override judge hangup recycle append abort redact deny undelete unpublish redeem dispute void
	add capture simulate reverse resize migrate deliver advance fail finalize expire rerun import install
	unsuspend unpause unblock unban unmute unhide introspect recover promote schedule trigger force evaluate collect configure initiate manage reply reorder swap rescue clone
	resize purge extract classify translate embed tokenize score recommend suggest autocomplete complete download upload ping test echo generate
	render validate verify convert calculate compute authenticate mint refresh rotate permit restrict require unrestrict
	associate disassociate attach detach activate deactivate enable disable start stop restart suspend resume cancel archive unarchive
	register deregister unregister provision deprovision export assign unassign link unlink lock unlock watch unwatch star unstar
	reject respond ship submit send track reserve release allocate deallocate create delete update list get search find query count describe
	compare inspect upsert replace set reset remove merge approve decline accept prune revoke invite join leave close reopen open rename move copy`)

// thirds are third persons that dropping an s does not make the verb of.
var thirds = map[string]string{
	"searches": "search", "fetches": "fetch", "attaches": "attach", "detaches": "detach", "patches": "patch", "publishes": "publish",
	"modifies": "modify", "verifies": "verify", "copies": "copy", "applies": "apply", "queries": "query", "replies": "reply", "retries": "retry",
	"pushes": "push", "refreshes": "refresh", "purges": "purge", "does": "do", "cancelled": "cancel", "has": "have", "goes": "go", "dismisses": "dismiss",
	"watches": "watch", "matches": "match", "processes": "process", "unpublishes": "unpublish", "launches": "launch", "finishes": "finish", "destroys": "destroy",
	"deploys": "deploy", "displays": "display", "pays": "pay", "notifies": "notify", "classifies": "classify", "specifies": "specify", "simplifies": "simplify",
}

// words is a set of words.
func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// isVerb reports whether a word is a verb of operations.
func isVerb(w string) bool {
	v, _ := openapi.IsVerb(w)
	return v || more[w]
}

// baseOf is the verb whose third person or base form w is; "" when it is none.
func baseOf(w string) string {
	if t, ok := thirds[w]; ok {
		w = t
	}
	if isVerb(w) {
		return w
	}
	if s, ok := strings.CutSuffix(w, "s"); ok && isVerb(s) {
		return s
	}
	return ""
}

// skipped are words before the verb of a text.
var skipped = words("partially permanently manually asynchronously immediately synchronously optionally simply this that the api endpoint method operation call request " +
	"allows you to lets can will use used for experimental beta deprecated preview admin please bulk batch also")

// several reports a text of several deeds: "Send draft/void envelope".
func several(text string) bool {
	parts := strings.Split(text, "/")
	for _, p := range parts[1:] {
		if w, _, found := strings.Cut(strings.TrimSpace(p), " "); found && isPlain(strings.ToLower(w)) {
			return true
		}
	}
	return false
}

// saidVerb is the verb that a text begins with, as used in names, and the words behind
// it; "" when it begins with none.
func saidVerb(text string) (verb string, rest []string) {
	const looked = 200 // bytes of a text: the verb stands first
	text = text[:min(len(text), looked)]
	if i := strings.IndexAny(text, ".;:\n"); i > 0 {
		text = text[:i]
	}
	if several(text) {
		return "", nil
	}
	ws := wording.Split(text)
	for len(ws) > 0 && skipped[ws[0]] && baseOf(ws[0]) == "" {
		ws = ws[1:]
	}
	if len(ws) == 0 {
		return "", nil
	}
	verb = baseOf(ws[0])
	if verb == "" {
		return "", nil
	}
	if len(ws) > 1 && (ws[1] == "that" || ws[1] == "whether" && !reading(verb)) {
		return "", nil // "Indicate that …": about the caller
	}
	if len(ws) > 1 && (ws[1] == "out" || ws[1] == "off") {
		return "", nil // "Check out the cart" checks nothing
	}
	third := verb != ws[0]
	if noun(verb) && !third && len(ws) > 1 && (isNoun(ws[1]) || things[verb] && wording.Singular(ws[1]) != ws[1]) {
		return "", nil // "Report status", "Test results": no command
	}
	if third && noun(verb) && len(ws) > 1 && !articles[ws[1]] {
		return "", nil // "Orders placed": a plural
	}
	ws = ws[1:]
	if len(ws) > 0 && isPlain(ws[0]) && baseOf(ws[0]) == ws[0] && ws[0] != "add" {
		return "", nil // "Create, update and delete": which of them is not sure
	}
	if len(ws) > 2 && ws[0] == "or" && (verb == "create" || verb == "add") {
		switch second := baseOf(ws[1]); {
		case second == "update" || second == "replace" || second == "edit" || second == "modify":
			return "upsert", ws[2:]
		case second != "":
			return verb, ws[2:]
		}
	}
	if c, ok := canonical[verb]; ok {
		verb = c
	}
	for len(ws) > 0 && (ws[0] == "up" || ws[0] == "all" || determiners[ws[0]] || ws[0] == "list" || ws[0] == "collection" || ws[0] == "of" || ws[0] == "back") {
		if verb == "get" && (ws[0] == "list" || ws[0] == "collection" || ws[0] == "all") && (len(ws) > 1 && (ws[0] == "all" || ws[1] == "of")) {
			verb = "list"
		}
		ws = ws[1:]
	}
	return verb, ws
}

// things are verbs that a plural behind them makes a noun of: "Export jobs".
var things = words("report test import export request order process review transfer backup schedule trade charge claim release post link query run batch project event")

var articles = words("a an the all one this these your specific given existing new multiple current")

// determiners stand before an object, in the languages that verbs are known in.
var determiners = words("a an the un una el la los las une le les ein eine einen den")

func noun(verb string) bool {
	_, n := openapi.IsVerb(verb)
	return n
}

// isNoun are words before which a verb that is a noun as often is a noun.
func isNoun(w string) bool {
	return abouts[w]
}

var abouts = words("id ids status state type types info information detail details history log logs url urls code codes count counts policy settings options " +
	"reason rate rates limit limits form page template templates event events requests attempts summary stats statistics schedule schema token tokens " +
	"metadata rules fee fees metrics results result endpoint api data of for by in")

// reading reports verbs that change nothing.
func reading(verb string) bool {
	return slices.Contains([]string{"get", "list", "find", "search", "query", "count", "describe", "check", "compare", "inspect", "download", "preview", "retrieve", "fetch", "read", "show", "view", "return"}, verb)
}

// contradicts reports whether a method cannot do what a verb says.
func contradicts(method, verb string) bool {
	switch method {
	case "GET", "HEAD":
		switch verb {
		case "create", "delete", "update", "replace", "upsert", "remove", "add", "set", "post", "put":
			return true
		}
	case "DELETE":
		return reading(verb) || verb == "create" || verb == "update" || verb == "replace" || verb == "upsert" || verb == "set" || verb == "post" || verb == "put"
	case "PUT", "PATCH":
		return reading(verb) && verb != "check" || verb == "delete"
	}
	return false
}

// methodVerbs are the words of methods that generated names begin with.
var methodVerbs = words("get post put patch delete head options query")
