package openapi

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/wording"
	"github.com/sluicegate/sluice/plugins/operation"
)

// maxToolName keeps server name + tool name under the limits of real clients
// (Cursor filters beyond 60 together, Codex beyond 64 with its prefix).
const maxToolName = 40

// namer gives tool names (rule 23). A name depends on its own operation alone;
// only when two operations want the same name does the later one get another.
type namer struct{ taken map[string]bool }

// name chooses the tool name of an operation.
func (n *namer) name(id, method, path string, tags []string) string {
	if n.taken == nil {
		n.taken = make(map[string]bool)
	}
	var candidates []string
	if id = withoutPath(id, path); id != "" {
		words := idWords(id, method, path)
		if said := onlyVerb(words, path); said != "" {
			candidates = append(candidates, said, fromPath(method, path))
		}
		candidates = append(candidates, readable(id, words, tags), strings.Join(words, "_"))
	}
	for _, c := range candidates { // too long: leave out what says least
		if len(c) > maxToolName {
			candidates = append(candidates, shorter(c))
		}
	}
	candidates = append(candidates, fromPath(method, path))
	for _, c := range candidates {
		c = startLetter(c)
		if c == "" || len(c) > maxToolName {
			continue
		}
		if !n.taken[c] {
			n.taken[c] = true
			return c
		}
	}
	base := startLetter(candidates[0])
	if base == "" {
		base = "call"
	}
	for salt := ""; ; salt += "'" {
		name := cutName(base, maxToolName-5) + "_" + nameHash(method, path+salt)
		if !n.taken[name] {
			n.taken[name] = true
			return name
		}
	}
}

// HashEnds reports whether the name of an operation ends in digits that only tell it
// apart from others: every candidate that says something was taken or too long.
func HashEnds(name, method, path string) bool {
	return strings.HasSuffix(name, "_"+nameHash(method, path))
}

// nameHash is 4 base32 digits that tell operations apart.
func nameHash(method, path string) string {
	sum := sha256.Sum256([]byte(method + " " + path))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:4])
}

// shortForms are common abbreviations, used only for names that are too long.
var shortForms = strings.NewReplacer(
	"authenticated_user", "user", "organization", "org", "organisation", "org", "repository", "repo", "repositories", "repos",
	"environment", "env", "configuration", "config", "application", "app", "administrator", "admin", "information", "info",
	"subscription", "sub", "notification", "notice", "permissions", "perms", "permission", "perm",
)

// shorter abbreviates a name and leaves out words that only connect others.
func shorter(name string) string {
	ws := strings.Split(shortForms.Replace(name), "_")
	ws = slices.DeleteFunc(ws, func(w string) bool {
		return w == "for" || w == "of" || w == "the" || w == "to" || w == "in" || w == "on" || w == "with" || w == "and" || w == "namespaced"
	})
	return strings.Join(wording.Dedupe(ws), "_")
}

// cutName shortens a name at a word boundary where one is near.
func cutName(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if s[n] != '_' {
		if i := strings.LastIndexByte(s[:n], '_'); i > n*2/3 {
			n = i
		}
	}
	return strings.Trim(s[:n], "_")
}

func startLetter(s string) string {
	s = strings.Trim(s, "_")
	if s != "" && isDigit(s[0]) {
		s = "op_" + s
	}
	return s
}

func cutPlain(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// noise are words of frameworks that say nothing about an operation.
var noise = []string{"controller", "api", "endpoint", "handler", "resource", "service"}

// withoutPath is what an operationId says beyond the path that some generators write into it:
// "post-/crm/v3/contacts/search_doSearch" says doSearch.
func withoutPath(id, path string) string {
	if strings.Count(path, "/") > 1 {
		if _, rest, found := strings.Cut(id, path); found {
			if rest = strings.Trim(rest, "_-./ "); rest != "" {
				return rest
			}
		}
	}
	return id
}

// idWords are the words of an operationId, without the path and method that
// FastAPI and others append.
func idWords(id, method, path string) []string {
	ws := wording.Split(id)
	tail := append(wording.Split(path), strings.ToLower(method))
	if n := len(ws) - len(tail); n > 0 && len(tail) > 1 && slices.Equal(ws[n:], tail) {
		ws = ws[:n]
	}
	if slices.Contains(strings.Split(strings.ToLower(path), "/"), "a") {
		return wording.Dedupe(ws) // "a" is a thing here
	}
	return tidy(ws)
}

// tidy drops articles and repeated words and makes one verb of "create or
// update".
func tidy(ws []string) []string {
	last := len(ws) - 1
	ws = slices.DeleteFunc(ws, func(w string) bool { return (w == "a" || w == "an" || w == "the") && last > 1 })
	if len(ws) > 3 && ws[1] == "or" && (ws[0] == "create" || ws[0] == "add") && (ws[2] == "update" || ws[2] == "replace") {
		ws = append([]string{"upsert"}, ws[3:]...)
	}
	return wording.Dedupe(ws)
}

// verbs start the names of operations. The value says that the verb is about one
// thing, so that "issues/get" is get_issue.
var verbs = map[string]bool{
	"list": false, "search": false, "find": false, "query": false, "count": false, "export": false, "import": false,
	"fetch": false, "read": true, "get": true, "retrieve": true, "show": true, "view": true, "describe": true, "check": true,
	"create": true, "add": true, "new": true, "insert": true, "post": true, "put": true, "set": true, "update": true,
	"upsert": true, "patch": true, "edit": true, "modify": true, "replace": true, "rename": true, "delete": true,
	"remove": true, "destroy": true, "cancel": true, "archive": true, "restore": true, "enable": true, "disable": true,
	"start": true, "stop": true, "send": true, "submit": true, "upload": true, "download": true, "merge": true, "move": true,
	"copy": true, "clone": true, "fork": true, "lock": true, "unlock": true, "approve": true, "reject": true, "revoke": true,
	"generate": true, "validate": true, "verify": true, "test": true, "run": true, "render": true, "mark": true, "star": true,
	"unstar": true, "follow": true, "unfollow": true, "block": true, "unblock": true, "invite": true, "join": true, "leave": true,
	"accept": true, "decline": true, "convert": true, "transfer": true, "request": true, "reset": true, "sync": true,
	"redeliver": true, "ping": true, "watch": true, "publish": true, "close": true, "open": true, "assign": true, "unassign": true,
	"pin": true, "unpin": true, "dismiss": true, "attach": true, "detach": true, "suspend": true, "unsuspend": true, "rerequest": true,
	"map": true, "compare": true, "rerun": true, "review": true, "resolve": true, "pause": true, "resume": true, "retry": true,
	"activate": true, "deactivate": true, "register": true, "unregister": true, "link": true, "unlink": true, "apply": true,
	"execute": true, "confirm": true, "complete": true, "refresh": true, "rotate": true, "bulk": false, "duplicate": true,
	"subscribe": true, "unsubscribe": true, "connect": true, "disconnect": true, "grant": true, "deny": true, "ban": true, "unban": true,
}

// vague words say nothing about the object of an operation.
var vague = []string{"by", "id", "ids", "uuid", "key", "all", "one", "many", "item", "items", "the", "a", "an", "list", "index"}

// onlyVerb is the name of an operation whose id is a bare verb ("get",
// "getById", "findAll", "index"): the verb, what the path names, and the rest.
// It is "" when the id says more than a verb, or the path says nothing.
func onlyVerb(ws []string, path string) string {
	switch {
	case len(ws) == 2 && ws[0] == "do":
		ws = ws[1:]
	case len(ws) == 2 && ws[0] == "get" && (ws[1] == "page" || ws[1] == "pages"):
		ws = []string{"list"}
	}
	if len(ws) == 0 || slices.ContainsFunc(ws[1:], func(w string) bool { return !slices.Contains(vague, w) }) {
		return ""
	}
	verb := ws[0]
	one, isVerb := verbs[verb]
	if verb == "index" {
		verb, isVerb = "list", true
	}
	if !isVerb {
		return ""
	}
	rest := slices.DeleteFunc(slices.Clone(ws[1:]), func(w string) bool {
		return w == "item" || w == "items" || w == "the" || w == "a" || w == "an" || w == "one" || w == "many" || w == "index"
	})
	var object []string
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	endsInParam := strings.HasSuffix(strings.TrimSuffix(path, "/"), "}")
	for seg := range strings.SplitSeq(path, "/") {
		w := wording.Split(seg)
		if !strings.ContainsRune(seg, '{') && len(w) > 0 && !version1(w) && !slices.Equal(w, ws[:1]) {
			if len(object) > 0 && len(w) == 1 && (w[0] == "batch" || w[0] == "bulk") {
				w = append(singular(object), w[0])
			}
			object = w
		}
	}
	if len(object) == 0 || slices.ContainsFunc(ws[1:], func(w string) bool { return slices.Contains(object, w) }) {
		return "" // "read_items" of /items says it
	}
	if (one && (endsInParam || verb != "get" && verb != "read" && verb != "retrieve" && verb != "show" && verb != "view")) || slices.Contains(rest, "by") {
		object = singular(object)
	}
	name := []string{verb}
	if len(rest) > 0 && rest[0] == "all" {
		name, rest = append(name, "all"), rest[1:]
	}
	return strings.Join(wording.Dedupe(append(append(name, object...), rest...)), "_")
}

// readable turns a namespaced operationId into verb and object:
// "issues/list-for-repo" becomes list_repo_issues, "issues/create-comment"
// create_issue_comment, "UsersController_findAll" find_all_users.
func readable(id string, all []string, tags []string) string {
	ns, action := namespace(id, tags)
	plain := strings.Join(all, "_")
	if len(ns) == 0 || len(action) == 0 {
		return plain
	}
	one, isVerb := verbs[action[0]]
	if !isVerb {
		return plain
	}
	verb, rest := action[0], action[1:]
	name := []string{verb}
	object := ns
	if one || len(rest) > 0 && rest[0] != "for" && rest[0] != "by" && rest[0] != "all" {
		object = singular(ns)
	}
	if overlap(rest, ns) {
		return strings.Join(wording.Dedupe(append(name, rest...)), "_")
	}
	target := []string(nil)
	if i := slices.Index(rest, "for"); i >= 0 && i+1 < len(rest) {
		target = rest[i+1:]
		rest = rest[:i]
		if i == 0 && !one {
			object = ns
		}
	}
	if len(rest) > 0 && (rest[0] == "by" || rest[0] == "from" || rest[0] == "to" || rest[0] == "in" || rest[0] == "with") {
		name = append(append(append(name, target...), object...), rest...)
	} else if len(rest) > 0 && rest[0] == "all" {
		name = append(append(append(append(name, "all"), target...), ns...), rest[1:]...)
	} else if slices.ContainsFunc(rest, func(w string) bool { return slices.Contains(target, w) }) {
		name = append(append(name, object...), rest...)
		name = append(append(name, "for"), target...)
	} else {
		name = append(append(append(name, target...), object...), rest...)
	}
	return strings.Join(wording.Dedupe(name), "_")
}

// namespace splits an operationId at its separator: "issues/list-for-repo",
// "drive.files.list", "UsersController_findAll", or "pets_list" when pets is a
// tag.
func namespace(id string, tags []string) (ns, action []string) {
	cut := strings.LastIndexAny(id, "/.:#")
	if cut < 0 {
		cut = strings.IndexByte(id, '_')
		if cut <= 0 {
			return nil, nil
		}
		head := wording.Split(id[:cut])
		tagged := slices.ContainsFunc(tags, func(t string) bool { return slices.Equal(wording.Split(t), head) })
		controller := len(head) > 1 && slices.Contains(noise, head[len(head)-1])
		if !tagged && !controller {
			return nil, nil
		}
	}
	ns, action = wording.Split(id[:cut]), tidy(wording.Split(id[cut+1:]))
	for len(ns) > 1 && slices.Contains(noise, ns[len(ns)-1]) {
		ns = ns[:len(ns)-1]
	}
	if len(ns) > 3 {
		ns = ns[len(ns)-2:]
	}
	return ns, action
}

// overlap reports whether the action already names the namespace.
func overlap(rest, ns []string) bool {
	last := ns[len(ns)-1]
	return slices.ContainsFunc(rest, func(w string) bool {
		return w == last || w == wording.Singular(last) || wording.Singular(w) == wording.Singular(last)
	})
}

func singular(ws []string) []string {
	out := slices.Clone(ws)
	out[len(out)-1] = wording.Singular(out[len(out)-1])
	return out
}

// fromPath makes a name for an operation without an id: verb, the last static
// segments, and what it is found by.
func fromPath(method, path string) string {
	path, _, _ = strings.Cut(path, "#")
	path, query, _ := strings.Cut(path, "?")
	var static [][]string
	var by []string
	var endsInParam bool
	for seg := range strings.SplitSeq(path, "/") {
		if seg == "" {
			continue
		}
		if strings.ContainsRune(seg, '{') {
			by = wording.Split(seg)
			endsInParam = true
			continue
		}
		if w := wording.Split(seg); len(w) > 0 && !version1(w) {
			static = append(static, w)
			endsInParam = false
		}
	}
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "replace", "PATCH": "update", "DELETE": "delete", "QUERY": "query"}[method]
	if verb == "" {
		verb = strings.Join(wording.Split(method), "_")
	}
	if method == "GET" && !endsInParam && len(static) > 0 {
		if last := static[len(static)-1]; strings.HasSuffix(last[len(last)-1], "s") {
			verb = "list"
		}
	}
	name := []string{verb}
	if verb == "create" && len(static) > 0 {
		if _, isVerb := verbs[static[len(static)-1][0]]; isVerb { // POST /builds/{id}/cancel
			last := static[len(static)-1]
			static = static[:len(static)-1]
			name = last
			if len(static) > 0 {
				static[len(static)-1] = singular(static[len(static)-1])
			}
		}
	}
	from := max(0, len(static)-2)
	for i, w := range static[from:] {
		if i+from < len(static)-1 || (verb != "list" && (endsInParam || verb == "create")) {
			w = singular(w)
		}
		name = append(name, w...)
	}
	if endsInParam && len(by) > 0 {
		name = append(append(name, "by"), by...)
	}
	if query != "" {
		name = append(name, wording.Split(query)...)
	}
	return strings.Join(wording.Dedupe(name), "_")
}

// version1 reports a path segment that is only a version: "v1", "2.0".
func version1(w []string) bool {
	s := strings.Join(w, "")
	s = strings.TrimPrefix(s, "v")
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// humanise makes a title of a tool name.
func humanise(name string) string {
	s := strings.ReplaceAll(name, "_", " ")
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// noiseOfSlugs are words of titles that do not tell APIs apart.
var noiseOfSlugs = []string{
	"api", "apis", "rest", "restful", "http", "openapi", "open-api", "swagger", "oas", "spec", "specs", "specification", "definition", "definitions",
	"the", "a", "an", "of", "for", "and", "official", "documentation", "docs", "reference", "extension", "extensions", "version", "public",
}

func slugNoise(word string) bool { return slices.Contains(noiseOfSlugs, word) }

// maxSlug keeps <connector>@<version> and the URL of a toolset readable.
const maxSlug = 40

// apiName makes an API's name of its title. A title that names none ("API Reference")
// leaves it to the host of the first server.
func apiName(title string, servers []operation.Server) string {
	if len(servers) > 0 && !slices.ContainsFunc(slugWords(title), func(w string) bool { return !slugNoise(w) }) {
		if name := hostName(servers[0].URL); name != "" {
			return name
		}
	}
	return slug(title)
}

// hostName is the part of a host that somebody registered, without what all hosts of its
// kind end in: sentry of https://{region}.sentry.io, ons of https://api.ons.gov.uk. "" for
// an address, and for a name without dots.
func hostName(server string) string {
	_, rest, _ := strings.Cut(server, "://")
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, ":")
	labels := strings.Split(strings.ToLower(host), ".")
	n := len(labels) - 1
	if n < 1 || strings.Trim(labels[n], "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	if n > 1 && len(labels[n]) == 2 && slices.Contains([]string{"ac", "co", "com", "edu", "gov", "net", "or", "org"}, labels[n-1]) {
		n--
	}
	name := labels[n-1]
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || slugNoise(name) {
		return ""
	}
	return strings.Trim(name[:min(len(name), maxSlug)], "-")
}

// slug makes an API's name of its title: [a-z0-9-], at most maxSlug bytes. A
// brand's own capitals are not word boundaries ("GitHub's official OpenAPI spec"
// is github), and what follows a plus sign adds to the API without naming it.
func slug(title string) string {
	head, _, _ := strings.Cut(cutPlain(title, 512), " + ")
	all := slugWords(head)
	var keep []string
	for i, w := range all {
		afterFormat := i > 0 && (all[i-1] == "openapi" || all[i-1] == "swagger" || all[i-1] == "oas" || i > 1 && all[i-2] == "openapi")
		if slugNoise(w) || afterFormat && strings.Trim(w, "v0123456789") == "" {
			continue
		}
		keep = append(keep, w)
	}
	if len(keep) == 0 {
		keep = all
	}
	s := strings.Join(wording.Dedupe(keep), "-")
	if len(s) > maxSlug {
		cut := s[:maxSlug]
		if i := strings.LastIndexByte(cut, '-'); s[maxSlug] != '-' && i > maxSlug/2 {
			cut = cut[:i]
		}
		s = cut
	}
	switch s = strings.Trim(s, "-"); {
	case s != "":
		return s
	case strings.TrimSpace(title) != "": // a title in another script
		return "api-" + nameHash("", title)
	}
	return "api"
}

// slugWords splits a title at what is not a Latin letter or digit, lower case, without the
// possessive.
func slugWords(title string) []string {
	title = strings.NewReplacer("'s ", " ", "’s ", " ", "'", "", "’", "").Replace(strings.ToLower(wording.ASCII(title)) + " ")
	return strings.FieldsFunc(title, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// ToolName makes a name in the style of generated tools of any text: lower case words
// joined by underscores, a letter first, at most 40 bytes, shortened as names of
// operations are. It is "" when the text has no letter or digit of ASCII.
func ToolName(text string) string {
	name := strings.Join(wording.Dedupe(wording.Split(text)), "_")
	if len(name) > maxToolName {
		name = shorter(name)
	}
	return cutName(startLetter(name), maxToolName)
}
