package openapi

import "strings"

// irregular are plurals that the rules of singularWord would spoil.
var irregular = map[string]string{
	"aliases": "alias", "statuses": "status", "buses": "bus", "bonuses": "bonus", "viruses": "virus", "campuses": "campus", "censuses": "census",
	"atlases": "atlas", "canvases": "canvas", "gases": "gas", "lenses": "lens", "biases": "bias", "focuses": "focus", "radiuses": "radius",
	"choruses": "chorus", "corpuses": "corpus", "pluses": "plus", "surpluses": "surplus", "caucuses": "caucus", "geniuses": "genius", "irises": "iris",
	"substatuses": "substatus", "analyses": "analysis", "diagnoses": "diagnosis", "crises": "crisis", "hypotheses": "hypothesis", "theses": "thesis",
	"synopses": "synopsis", "parentheses": "parenthesis", "emphases": "emphasis", "axes": "axis", "indices": "index", "matrices": "matrix",
	"vertices": "vertex", "appendices": "appendix", "quizzes": "quiz", "movies": "movie", "cookies": "cookie", "selfies": "selfie", "zombies": "zombie",
	"calories": "calorie", "pies": "pie", "ties": "tie", "lies": "lie", "caches": "cache", "niches": "niche", "headaches": "headache", "heroes": "hero",
	"echoes": "echo", "potatoes": "potato", "tomatoes": "tomato", "vetoes": "veto", "people": "person", "children": "child", "men": "man", "women": "woman",
	"geese": "goose", "mice": "mouse", "teeth": "tooth", "feet": "foot", "shelves": "shelf", "halves": "half", "wolves": "wolf", "wives": "wife",
	"lives": "life", "knives": "knife", "thieves": "thief", "selves": "self",
}

// unchanging end like plurals and have no singular that means the same, or are
// abbreviations.
var unchanging = map[string]bool{
	"series": true, "species": true, "news": true, "analytics": true, "statistics": true, "diagnostics": true, "logistics": true, "physics": true,
	"graphics": true, "demographics": true, "sales": true, "savings": true, "earnings": true, "goods": true, "means": true, "headquarters": true,
	"kubernetes": true, "postgres": true, "redis": true, "jenkins": true, "windows": true, "always": true, "https": true, "dns": true, "aws": true,
	"sms": true, "mms": true, "tls": true, "css": true, "cors": true, "gps": true, "rss": true, "ics": true, "ios": true, "macos": true, "saas": true,
	"paas": true, "iaas": true, "apns": true, "hls": true, "kms": true, "iops": true, "devops": true, "rights": true, "whois": true, "pos": true,
	"chaos": true, "cosmos": true, "kudos": true, "lens": true, "gas": true, "bias": true, "alias": true, "atlas": true, "canvas": true, "christmas": true,
}

// singularWord is the singular of a noun; what no rule is known for stays.
func singularWord(w string) string {
	if one, ok := irregular[w]; ok {
		return one
	}
	switch {
	case len(w) < 4, unchanging[w], strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), strings.HasSuffix(w, "news"):
		return w
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "zzes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

// brands are names whose own capitals begin no word, in lower case, by their parts.
var brands = map[[2]string]string{
	{"o", "auth"}: "oauth", {"o", "auth1"}: "oauth1", {"o", "auth2"}: "oauth2", {"git", "hub"}: "github", {"git", "lab"}: "gitlab", {"i", "os"}: "ios",
	{"mac", "os"}: "macos", {"graph", "ql"}: "graphql", {"open", "id"}: "openid", {"my", "sql"}: "mysql", {"no", "sql"}: "nosql", {"you", "tube"}: "youtube",
	{"pay", "pal"}: "paypal", {"linked", "in"}: "linkedin", {"whats", "app"}: "whatsapp", {"java", "script"}: "javascript", {"i", "pv4"}: "ipv4", {"i", "pv6"}: "ipv6",
	{"ip", "v4"}: "ipv4", {"ip", "v6"}: "ipv6", {"o", "data"}: "odata", {"o", "embed"}: "oembed",
}
