package openapi

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// What an operation does to the upstream is told by its method, and by its words where
// they say more: a GET of /apps.uninstall uninstalls. Words are verbs in their base
// form, so that what names a thing (deletions, a deleted user, starts_at) is none.

// force says what a verb does to the upstream.
type force uint8

const (
	reads    force = iota
	acts           // something is made, sent or started
	destroys       // something is ended, taken away or overwritten
)

// plainVerbs are verbs that change something and are hardly ever nouns.
var plainVerbs = verbTable(
	"abort cancel clear deactivate deauthenticate deauthorize decommission delete demote deny deprovision destroy detach disable disassociate disconnect dismiss erase evict "+
		"expunge flush invalidate kick kill logoff logout obliterate overwrite purge reboot reject remove reset restart revoke rollback "+
		"shutdown signoff signout suspend terminate truncate unarchive unassign unban unblock uninstall unlike unlink unpublish unregister "+
		"unshare unstar unfollow unsubscribe withdraw wipe disenroll unenroll depublish deregister hangup expire disarm quarantine blacklist hibernate reimage reinstall "+
		// German, Spanish, Portuguese, French, Italian, Dutch, as names and texts have them.
		"löschen loeschen löscht loescht entfernen entfernt abmelden stornieren storniert deaktivieren deaktiviert widerrufen widerruft zurücksetzen beenden "+
		"eliminar elimina borrar borra cancelar cancela anular anula revocar revoca desactivar desactiva excluir exclui apagar apaga remover desativar "+
		"supprimer supprime effacer annuler annule révoquer révoque désactiver déconnecter deconnecter cancellare cancella revocare disattivare verwijderen verwijder",
	"accept acknowledge activate add advertise allocate append approve assign associate attach authenticate authorise authorize confirm connect create decline deploy dispatch donate enable "+
		"enqueue enroll execute failover finalize honk impersonate increment initialise initialize initiate insert invoke lock modify notify "+
		"provision publish reactivate rebuild recalculate redeem redeliver refresh regenerate register reindex reload remind "+
		"reissue rename renew reopen replace replay reprocess requeue rerun resend reserve restore resubmit retrigger revert rotate save send "+
		"subscribe submit toggle trigger unlock unmute unpin unsnooze upsert vacuum unpause unsuspend undelete upvote downvote escalate reassign broadcast cordon uncordon "+
		"senden sendet versenden versendet anlegen starten startet auslösen ausloesen bestätigen bestaetigen aktivieren freigeben enviar envía envia iniciar ejecutar crear crea activar "+
		"confirmar criar executar ativar envoyer envoie démarrer demarrer créer exécuter activer confirmer inviare invia avviare creare attivare confermare verzenden versturen",
)

// nounVerbs are verbs that name a thing as often: they count where the place shows
// that they are meant as verbs, and where nothing says that the operation reads.
var nounVerbs = verbTable(
	"block stop close archive cut drop ban merge move transfer refund void discard edit update patch set write end reset-all empty switch undo",
	"run start begin open resume pause import install invite join leave link mark mute pin post push put process purchase pay book buy "+
		"call charge claim clone complete copy fork follow grant hide ignore like order print release request retry schedule share "+
		"snooze star sync synchronize train upload vote apply commit capture checkout dial launch migrate scan boot exec queue trade swap "+
		"consume extend convert play skip wake take arm drain upgrade downgrade resize scale recover reply forward bookmark favorite favourite flag touch generate grab backup login logon signin signup exchange indicate perform verify make",
)

// commands are the noun verbs that stand as the last segment of a path for what is
// done, as in /jobs/{id}/run.
var commands = []string{
	"run", "start", "stop", "begin", "pause", "resume", "retry", "sync", "synchronize", "exec", "launch", "install", "apply", "join", "leave",
	"pay", "checkout", "undo", "mark", "mute", "boot", "generate", "empty", "login", "logon", "signin", "signup", "verify", "merge", "archive", "move", "clone", "migrate", "discard", "void", "update", "set", "edit",
	"play", "skip", "wake", "drain", "upgrade", "downgrade", "resize",
}

// proofs name the parameter of a link that is sent to somebody: to call it is to do what
// stands before it.
var proofs = []string{"token", "code", "hash", "secret", "signature", "otp"}

// readingVerbs start the names and texts of operations that only read.
var readingVerbs = []string{
	"get", "list", "show", "view", "read", "find", "fetch", "search", "query", "retrieve", "describe", "check", "count", "return", "lookup",
	"look", "mget", "msearch", "browse", "download", "preview", "compare", "see", "obtain", "display", "inspect", "enumerate", "filter", "estimate", "provide", "give", "detail", "head",
}

// phrases are verbs of two words; written as one, they are in plainVerbs.
var phrases = map[[2]string]string{
	{"log", "out"}: "logout", {"log", "off"}: "logoff", {"log", "in"}: "login", {"log", "on"}: "logon", {"sign", "out"}: "signout",
	{"sign", "off"}: "signoff", {"sign", "in"}: "signin", {"sign", "up"}: "signup", {"opt", "out"}: "unsubscribe", {"opt", "in"}: "subscribe",
	{"shut", "down"}: "shutdown", {"turn", "off"}: "disable", {"turn", "on"}: "enable", {"roll", "back"}: "rollback",
	{"power", "off"}: "shutdown", {"power", "on"}: "enable", {"hang", "up"}: "hangup", {"fail", "over"}: "failover", {"kick", "off"}: "trigger", {"take", "down"}: "remove", {"switch", "off"}: "disable", {"switch", "on"}: "enable",
	{"de", "authenticate"}: "deauthenticate", {"de", "authorize"}: "deauthorize", {"de", "activate"}: "deactivate", {"de", "register"}: "deregister",
}

// aboutNouns follow a verb that tells more of a noun: send_date, cancel_policy.
var aboutNouns = []string{
	"at", "on", "by", "date", "dates", "time", "times", "day", "id", "ids", "status", "state", "type", "types", "info", "information", "detail", "details",
	"history", "log", "logs", "url", "urls", "uri", "code", "codes", "count", "counts", "policy", "policies", "settings", "options", "option",
	"reason", "reasons", "rate", "rates", "limit", "limits", "list", "form", "page", "template", "templates", "preview", "events", "event", "requests",
	"attempts", "summary", "stats", "statistics", "schedule", "schema", "token", "tokens", "target", "targets", "metadata", "rules", "fee", "fees", "metrics",
}

func verbTable(destroying, acting string) map[string]force {
	t := make(map[string]force)
	for w := range strings.FieldsSeq(destroying) {
		t[w] = destroys
	}
	for w := range strings.FieldsSeq(acting) {
		t[w] = acts
	}
	return t
}

// effect reads what an operation does from its words; verb is the word that says so,
// "" where all of it reads. What stands first in an operationId or a summary is believed.
// What stands elsewhere may be a noun (/password/reset/{id}): it is believed where
// nothing says that the operation reads, and a verb that is hardly ever a noun also
// where only the id says so ("getLogout").
func effect(method, id, path, summary, description string) (f force, verb string) {
	if rest, ok := strings.CutPrefix(strings.ToLower(id), strings.ToLower(method)+"_"); ok {
		id = id[len(id)-len(rest):] // "GET_DeleteVpc"
	}
	byID, said, more := ofID(id), ofText(summary, true), ofText(description, false)
	if byID.reads && (said.verb != "" || summary == "" && more.verb != "") && derived(method, id, path) {
		byID = found{} // who wrote "getSession" of GET /session did not choose the verb
	}
	if summary == "" {
		said = more
	}
	var worst found
	believe := func(x found, yes bool) {
		if x.verb != "" && yes && x.force > worst.force {
			worst = x
		}
	}
	neither := !byID.reads && !said.reads
	believe(byID, !said.reads || byID.first && byID.force == destroys)
	believe(said, said.first || !byID.reads)
	believe(more, neither)
	way := ofPath(path)
	believe(way, neither || way.first || way.plain && !way.loose && !(byID.reads && said.reads))
	return worst.force, worst.verb
}

// derived reports an operationId that only repeats the method and the path.
func derived(method, id, path string) bool {
	ws := wording.Split(id)
	if len(ws) < 2 || ws[0] != strings.ToLower(method) {
		return false
	}
	return slices.Equal(slices.DeleteFunc(ws[1:], isBy), slices.DeleteFunc(wording.Split(path), isBy))
}

func isBy(w string) bool { return w == "by" || w == "and" }

// found is a verb that was found.
type found struct {
	verb  string
	force force
	plain bool // it is hardly ever a noun
	first bool // it stands where only a verb does
	loose bool // it stands where a noun does as often
	reads bool // a reading verb is in its place
}

func plainVerb(w string) (found, bool) {
	f, ok := plainVerbs[w]
	return found{verb: w, force: f, plain: true}, ok
}

func nounVerb(w string) (found, bool) {
	f, ok := nounVerbs[w]
	return found{verb: w, force: f}, ok
}

// merged makes one word of verbs of two.
func merged(ws []string) []string {
	out := ws[:0:0]
	for i := 0; i < len(ws); i++ {
		if i+1 < len(ws) {
			if one, ok := phrases[[2]string{ws[i], ws[i+1]}]; ok {
				out = append(out, one)
				i++
				continue
			}
		}
		out = append(out, ws[i])
	}
	return out
}

// ofID looks at the verb of an operationId: its first word, the first after its
// namespace, or its last ("userLogout").
func ofID(id string) found {
	all := merged(wording.Split(id))
	if len(all) == 0 {
		return found{}
	}
	last := all
	if cut := strings.LastIndexAny(id, "/.:#_"); cut >= 0 {
		if after := merged(wording.Split(id[cut+1:])); len(after) > 0 {
			last = after
		}
	}
	if slices.Contains(readingVerbs, all[0]) || slices.Contains(readingVerbs, last[0]) || len(all) > 1 && slices.Contains(readingVerbs, all[1]) {
		return found{reads: true}
	}
	for i, list := range [...][]string{all, last} {
		if len(list) > 1 && slices.Contains(aboutNouns, list[1]) {
			continue
		}
		if x, ok := plainVerb(list[0]); ok {
			x.first, x.loose = i == 0, i > 0
			return x
		}
		if x, ok := nounVerb(list[0]); ok && (len(list) > 1 || i > 0 && strings.ContainsAny(id, "/.:#")) {
			return x
		}
	}
	end := all[len(all)-1]
	if len(all) > 2 && end == "get" { // "sessionRevokeGet"
		end = all[len(all)-2]
	}
	x, _ := plainVerb(end)
	x.loose = true
	return x
}

// ofPath looks at the last segment that is not a parameter, and at fixed values of a
// query or fragment ("?action=delete").
func ofPath(path string) found {
	end := strings.IndexAny(path, "?#")
	if end < 0 {
		end = len(path)
	}
	for pair := range strings.FieldsFuncSeq(path[end:], func(r rune) bool { return r == '&' || r == '?' || r == '#' }) {
		_, v, _ := strings.Cut(pair, "=")
		ws := merged(wording.Split(v))
		if len(ws) == 0 || strings.Contains(v, "{") {
			continue
		}
		// A name of an action starts with its verb; one that is not known may do anything.
		if x, ok := plainVerb(ws[0]); ok {
			x.first = true
			return x
		}
		if x, ok := nounVerb(ws[0]); ok || len(ws) > 1 && path[end] == '#' && !slices.Contains(readingVerbs, ws[0]) {
			return found{verb: ws[0], force: max(x.force, acts), first: true}
		}
	}
	last, ends, of := "", true, false // of: it stands behind a parameter
	for seg := range strings.SplitSeq(strings.Trim(path[:end], "/"), "/") {
		switch {
		case seg == "":
		case !strings.Contains(seg, "{"):
			of, last, ends = !ends, seg, true
		case strings.Contains(seg, "}:"): // "{name}:cancel"
			last, ends = seg[strings.LastIndexByte(seg, ':')+1:], true
		default:
			ends = ends && last != "" && slices.Contains(proofs, strings.Trim(seg, "{}")) // "/verify/{token}"
		}
	}
	for _, suffix := range [...]string{".json", ".xml", ".php", ".do", ".cgi", ".html", ".aspx", ".jsp"} {
		last = strings.TrimSuffix(last, suffix)
	}
	called := strings.LastIndexAny(last, ".:") + 1 // "apps.permissions.request"
	last = last[called:]
	ws := merged(wording.Split(last))
	if len(ws) == 0 || len(ws) > 1 && slices.Contains(aboutNouns, ws[1]) {
		return found{}
	}
	if x, ok := plainVerb(ws[0]); ok {
		x.loose = len(ws) > 1 // "deploy_keys"
		return x
	}
	if x, ok := nounVerb(ws[0]); ok && ends && (called > 0 || slices.Contains(commands, ws[0])) {
		return x
	}
	if last == "test" && of && ends { // "/webhooks/{id}/test" sends something, "/test" says that the API is there
		return found{verb: last, force: acts}
	}
	x, _ := plainVerb(ws[len(ws)-1]) // "user-logout"
	x.loose = true
	return x
}

// leads come before the verb of a text: "This endpoint can be used to delete".
var leads = []string{
	"this", "endpoint", "method", "operation", "api", "route", "action", "command", "will", "can", "be", "is", "used", "to", "allow", "let", "you", "user",
	"use", "it", "which", "should", "immediately", "permanently", "please", "admin", "and", "also", "asynchronously", "manually", "bulk", "batch",
}

// determiners come before a noun.
var determiners = []string{
	"a", "an", "the", "this", "that", "your", "its", "all", "one", "any", "some", "each", "every", "another", "multiple", "several", "specified", "given", "current",
}

// ofText looks at the first verb of a text, in the base form or the third person.
// title says that the text is what names the operation.
func ofText(text string, title bool) found {
	const looked = 12 // words: a verb further on belongs to another part of the sentence
	ws := merged(textWords(cutPlain(text, maxPropertyText)))
	for i, w := range ws[:min(len(ws), looked)] {
		base := baseVerb(w)
		next := ""
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		if slices.Contains(readingVerbs, base) {
			return found{reads: true}
		}
		if base != w && slices.Contains([]string{"that", "which", "of"}, next) {
			return found{} // "Locks that are held"
		}
		if slices.Contains(textVerbs, base) && slices.Contains(determiners, next) {
			return found{verb: base, force: acts, loose: true}
		}
		if x, ok := plainVerb(base); ok && !slices.Contains(aboutNouns, next) {
			x.first = title && i == 0
			x.loose = !x.first
			return x
		}
		if x, ok := nounVerb(base); ok && !slices.Contains(alsoReading, base) && slices.Contains(determiners, next) {
			x.loose = true
			return x
		}
		if !slices.Contains(leads, base) {
			return found{}
		}
	}
	return found{}
}

// textVerbs name things wherever they stand but before what is done to: "Emails the
// invoice".
var textVerbs = []string{"email", "mail", "place", "ring"}

// alsoReading are noun verbs that texts of operations start with that only read:
// "Perform a search", "Generate a report", "Verify an address".
var alsoReading = []string{"generate", "perform", "verify"}

// textWords are the words of a text's first sentence, lower case, where one of its
// first words is not a verb that starts it: "Logs out" is "log out".
func textWords(text string) []string {
	if end := SentenceEnd(text); end > 0 {
		text = text[:end]
	}
	ws := wording.Split(text)
	if len(ws) > 1 {
		if b := baseVerb(ws[0]); b != ws[0] {
			if _, ok := phrases[[2]string{b, ws[1]}]; ok {
				ws[0] = b
			}
		}
	}
	return ws
}

// baseVerb undoes the third person: "cancels", "replies", "pushes".
func baseVerb(w string) string {
	known := func(s string) bool {
		_, p := plainVerbs[s]
		_, n := nounVerbs[s]
		return p || n || slices.Contains(textVerbs, s) || slices.Contains(readingVerbs, s) || slices.Contains(leads, s)
	}
	if known(w) || !strings.HasSuffix(w, "s") {
		return w
	}
	for _, s := range [...]string{w[:len(w)-1], strings.TrimSuffix(w, "es"), strings.TrimSuffix(w, "ies") + "y"} {
		if known(s) {
			return s
		}
	}
	for first := range phrases { // "logs", before "out"
		if w[:len(w)-1] == first[0] {
			return first[0]
		}
	}
	return w
}

// proven is how many of id, path and text must say that a POST reads.
const proven = 2

// annotations follow the method, and the words where they say that it changes more
// than the method promises (rule 24).
func annotations(method string, name []string, does force, signs int) operation.Annotations {
	a := operation.Annotations{OpenWorld: true}
	switch method {
	case "GET", "HEAD", "OPTIONS", "QUERY":
		if does == reads {
			a.ReadOnly, a.Idempotent = true, true
		}
		a.Destructive = does == destroys
	case "PUT", "DELETE":
		a.Idempotent, a.Destructive = true, true
	case "POST":
		looks := does == reads && signs >= proven
		a.ReadOnly, a.Idempotent = looks, looks
		a.Destructive = !looks && (does == destroys || len(name) == 0 || !slices.Contains(additive, name[0]) && (does != reads || signs == 0))
	default:
		a.Destructive = true
	}
	return a
}

// lookups are verbs that only read, also as the last segment of a path that is posted
// to: /accounts/get, /{index}/_search. An export may start a job, a download may be
// counted, and what is read may be marked as read.
var lookups = []string{"get", "list", "search", "find", "lookup", "look", "fetch", "retrieve", "count", "query", "show", "describe", "batchget", "mget", "msearch", "multiget", "multisearch"}

// manners stand before a lookup in a segment of a path: /points/batch-get.
var manners = []string{"batch", "bulk", "multi", "facet", "advanced", "quick", "text", "full", "semantic", "vector", "hybrid", "field"}

// languages are words of bodies and paths for a text in a language that may also change
// something, so that a query with one is no proof of reading.
var languages = []string{"sql", "query", "statement", "statements", "command", "script", "code", "cypher", "graphql", "gremlin", "expression", "program", "mutation", "eval"}

// issued are what a call makes that says it gets it: POST /auth/token, "Get a token".
var issued = []string{"token", "tokens", "session", "key", "url", "link", "code", "otp", "authorization", "authorize", "login", "nonce", "ticket", "secret", "credential", "credentials", "id", "number", "lock", "lease"}

// looksUp tells how sure it is that a POST only reads: how many of its id, its path and
// its text say so, of which two prove it. None where one of them has a verb in front that
// changes something (_update_by_query).
func looksUp(id, path, summary, description string, b *operation.Body) int {
	path, _, _ = strings.Cut(path, "?")
	path, _, action := strings.Cut(path, "#")
	last := path[strings.LastIndexAny(path, "/.:")+1:]
	var way []string
	if !strings.Contains(last, "{") && !action {
		way = wording.Split(last)
	}
	text := summary
	if text == "" {
		text = description
	}
	ids, said := wording.Split(id), textWords(cutPlain(text, maxPropertyText))
	if slices.Equal(said, ids) {
		said = nil // one text, twice
	}
	if len(said) > 0 {
		said[0] = baseVerb(said[0])
	}
	signs, queries := 0, false
	sign := func(w string) bool {
		if !slices.Contains(lookups, w) {
			return false
		}
		signs, queries = signs+1, queries || w == "query"
		return true
	}
	byPath := false
	switch {
	case len(way) == 0:
	case changes(way[0]):
		return 0
	case sign(strings.Join(way, "")), sign(way[0]), len(way) > 1 && slices.Contains(manners, way[0]) && sign(way[len(way)-1]):
		byPath = true
	}
	if cut := strings.LastIndexAny(id, "/.:#_"); len(ids) > 0 {
		after := wording.Split(id[cut+1:])
		switch {
		case sign(ids[0]), len(after) > 0 && sign(after[0]):
		case byPath && sign(ids[len(ids)-1]): // accountsGet of /accounts/get
		case changes(ids[0]) && !byPath, len(after) > 0 && changes(after[0]) && !byPath:
			return 0
		}
	}
	if len(said) > 0 {
		switch first := said[0]; {
		case sign(first):
		case slices.Contains([]string{"run", "perform", "execute", "make"}, first):
			if slices.ContainsFunc(said[1:min(len(said), 4)], func(w string) bool { return w == "search" || w == "searches" || w == "lookup" }) {
				signs++
			}
		case changes(first) && len(said) > 1 && (len(way) == 0 || said[0] != way[0]):
			return 0
		}
	}
	isIssued := func(w string) bool { return slices.Contains(issued, w) }
	if !byPath && (slices.ContainsFunc(way, isIssued) || slices.ContainsFunc(said, isIssued)) {
		return min(signs, proven-1)
	}
	if queries && (takesLanguage(b) || slices.ContainsFunc(wording.Split(path), func(w string) bool { return w != "query" && slices.Contains(languages, w) })) {
		return 0
	}
	return signs
}

// changes reports a word that may be a verb that changes something.
func changes(w string) bool {
	_, plain := plainVerbs[w]
	_, noun := nounVerbs[w]
	return plain || noun
}

// takesLanguage reports a body with a text in a language.
func takesLanguage(b *operation.Body) bool {
	if b == nil {
		return false
	}
	text := func(name string, s *operation.Schema) bool {
		return slices.Contains(languages, strings.ToLower(name)) && (s == nil || s.Type == 0 || s.Type&operation.TypeString != 0)
	}
	for i := range b.Fields {
		if text(b.Fields[i].Name, b.Fields[i].Schema) {
			return true
		}
	}
	if b.Schema != nil {
		for _, p := range b.Schema.Properties {
			if text(p.Name, p.Schema) {
				return true
			}
		}
	}
	return false
}

// additive are the first words of names of POST operations that only add or read.
var additive = []string{
	"create", "add", "new", "insert", "list", "search", "find", "query", "get", "upload", "send", "post", "submit", "generate", "count", "validate",
	"check", "preview", "render",
}

// IsVerb reports whether a word in lower case is a verb of operations, and whether it
// names a thing as often, as transfer does.
func IsVerb(w string) (verb, noun bool) {
	if _, ok := plainVerbs[w]; ok {
		return true, false
	}
	if _, ok := nounVerbs[w]; ok {
		return true, true
	}
	if slices.Contains(readingVerbs, w) {
		return true, w == "view" || w == "search" || w == "query" || w == "check" || w == "count" || w == "return" || w == "detail" || w == "head" ||
			w == "look" || w == "list" || w == "preview" || w == "filter" || w == "download" || w == "display" || w == "estimate"
	}
	_, ok := verbs[w]
	return ok, ok && w != "create" && w != "add" && w != "assign"
}
