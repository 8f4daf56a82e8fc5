package textfilter

import (
	"regexp"
	"slices"
	"sync/atomic"
)

// Kind is what a sentence wants of a model.
type Kind string

// The kinds of findings.
const (
	Override     Kind = "override"     // set aside the instructions that a model has
	Imitation    Kind = "imitation"    // markup of a prompt or of a system's message
	Role         Kind = "role"         // speaks to the model, or gives it another part
	Order        Kind = "order"        // calls of this tool or of others that nobody asked for
	Secrecy      Kind = "secrecy"      // keep something from the user
	Sensitive    Kind = "sensitive"    // files with secrets
	Exfiltration Kind = "exfiltration" // send what the model knows elsewhere
	Encoded      Kind = "encoded"      // prose that is encoded
)

// rule finds one way to speak to a model. expr runs over text in lower case, with
// single spaces, and only where words stand in it without which it cannot match.
type rule struct {
	kind Kind
	need []string // one of these is in the text,
	also []string // and, where there are any, one of these
	expr func() *regexp.Regexp
	// filter is made of expr.
	filter func() *prefilter
	// foreign runs over text whose letters were not made Latin.
	foreign bool
}

// lazies are what lazily made.
var lazies []interface {
	held() bool
	forget()
}

// lazy is made when it is first used, and again after [Forget]: all expressions take 20 ms
// and 3 MB, which most commands never need, and nodes only to read a specification.
type lazy[T any] struct {
	atomic.Pointer[T]
	make func() *T
}

func (l *lazy[T]) held() bool { return l.Load() != nil }
func (l *lazy[T]) forget()    { l.Store(nil) }

func (l *lazy[T]) get() *T {
	v := l.Load()
	if v == nil {
		v = l.make()
		l.Store(v)
	}
	return v
}

func lazily[T any](from string, compile func(string) *T) func() *T {
	l := &lazy[T]{make: func() *T { return compile(from) }}
	lazies = append(lazies, l)
	return l.get
}

func expression(expr string) func() *regexp.Regexp { return lazily(expr, regexp.MustCompile) }

// Forget gives the memory of the expressions back. It is safe while they are used.
func Forget() {
	for _, l := range lazies {
		l.forget()
	}
}

func newRule(kind Kind, expr string, need ...string) rule {
	return rule{kind: kind, need: need, expr: expression(expr), filter: lazily(expr, newPrefilter)}
}

func (r rule) and(also ...string) rule {
	r.also = also
	return r
}

// The words that several rules are made of.
const (
	// knowledge is what a model has that others want.
	knowledge = `(?:conversations?|chats?|chat (?:history|logs?)|message history|(?:entire |full |whole |current )?context(?: window)?|system prompts?|previous messages|` +
		`user'?s? (?:messages?|prompts?|quer(?:y|ies)|credentials?|passwords?|files?|secrets?|data|input)|contents? of|file contents?|credentials?|passwords?|private keys?|api[ _-]?keys?|` +
		`(?:access |auth |bearer |session )?tokens?|secrets?|environment variables?|env vars?|ssh keys?|cookies?|history)`
	// reading is how files are opened.
	reading = `(?:read|open|fetch|cat|load|list|scan|access|retrieve|extract|grab|copy|dump)`
	// sending is how something leaves.
	sending = `(?:send|posts?|upload|forward|transmit|exfiltrate|leak|e-?mail|bcc|submit|append|attach|copy|dump|relay|deliver|publish|share)`
	people  = `(?:the |your |any |our )?(?:end[- ]?)?(?:users?|human|person|developer|operator|anyone|anybody)`
	models  = `(?:ai|a\.i\.|llms?|large language models?|language models?|assistants?|ai agents?|claude|chatgpt|gpt(?:-?\d\w*)?|gemini|copilot|cursor)`
)

var rules = append([]rule{
	// Instructions that are set aside.
	newRule(Override, `\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|overrule|bypass|discard|neglect|do not (?:follow|obey)|don't (?:follow|obey)|stop following|pay no attention to)\b[^.;]{0,40}?\b(?:instructions?|prompts?|guidelines|directives?|guardrails?|programming|system messages?|safety (?:rules?|polic(?:y|ies)|filters?|measures?)|your (?:rules?|training|restrictions?|constraints?|polic(?:y|ies)))\b`,
		"instruction", "prompt", "guideline", "directive", "guardrail", "programming", "system message", "safety", "your ").and("ignor", "disregard", "forget", "overr", "bypass", "discard", "neglect", "not follow", "not obey", "n't follow", "n't obey", "stop following", "attention"),
	newRule(Override, `\b(?:ignore|disregard|forget) (?:everything|anything|all|what) (?:(?:that )?(?:was |is |has been |you were |you have been |came |you )?(?:above|before|prior|earlier|previous|said|told|learned))`, "ignore", "disregard", "forget"),
	newRule(Override, `\b(?:these|this|the following|my|our|new|tool(?:'s)?) (?:new )?(?:instructions?|rules?|directives?|descriptions?) (?:(?:take|takes|have|has)\b[^.]{0,30}(?:precedence|priority)|(?:override|overrides|supersede|supersedes|replace|replaces)\b[^.]{0,30}(?:precedence|priority|all|any|your|previous|other|existing|system|user))`, "instruction", "rule", "directive", "description").and("precedence", "priority", "overrid", "supersede", "replace"),
	newRule(Override, `\b(?:highest|top|maximum|absolute) priority\b[^.]{0,40}\b(?:instructions?|over (?:all|any|every|other|user)|regardless)`, "priority").and("highest", "top ", "maximum", "absolute"),
	newRule(Override, `\b(?:prior|previous|earlier|former|preceding|above|original|all other) (?:guidance|instructions?|rules?|guidelines|directives?|polic(?:y|ies)|restrictions|constraints|safeguards|orders)\b[^.]{0,50}\b(?:no longer (?:apply|applies|hold|holds|count|counts|matter|matters|valid|bind\w*)|(?:is|are|be|become|becomes) (?:now |hereby )?(?:void|revoked|suspended|obsolete|lifted|cancell?ed|null|irrelevant|outdated|superseded))\b`, "guidance", "instruction", "rule", "guideline", "directive", "polic", "restriction", "constraint", "safeguard", "order").and("no longer", "void", "revoked", "suspended", "obsolete", "lifted", "cancel", "null", "irrelevant", "outdated", "supersede"),
	newRule(Override, `\b(?:tool|function|this) (?:outputs?|results?|descriptions?|texts?) (?:outranks?|overrides?|trumps?|prevails?|wins?|supersedes?)\b`, "output", "result", "description", "text").and("outrank", "overrid", "trump", "prevail", "win", "supersede"),
	//nolint:misspell // German
	foreignRule(`(?:ignorier|vergiss|missacht|beachte)\w*\b.{0,40}\b(?:anweisung|instruktion|befehl|vorgabe)`, "anweisung", "instruktion", "befehl", "vorgabe"),
	foreignRule(`\b(?:ignora|ignore|ignorez|olvida|olvide|oublie|oubliez|oublier|desconsidere|esqueça|dimentica|negeer|zignoruj)\b.{0,40}\b(?:instrucciones|instructions précédentes|consignes|instruções|istruzioni|instructies|instrukcje)`, "instruc", "instruç", "consignes", "istruzioni", "instructies", "instrukcje", "précédentes"),
	foreignRule(`(?:игнорируй|игнорируйте|забудь|забудьте|не обращай).{0,60}(?:инструкци|указани|команд|правил)`, "инструкци", "указани", "команд", "правил"),
	foreignRule(`(?:忽略|无视|無視|忘记|忘記|忽视).{0,20}(?:指令|说明|說明|提示|规则|規則|指示)`, "指令", "说明", "說明", "提示", "规则", "規則", "指示"),
	foreignRule(`(?:指示|命令|プロンプト|ルール).{0,16}(?:無視|忘れ)`, "無視", "忘れ"),
	foreignRule(`(?:지시|명령|프롬프트|규칙).{0,16}(?:무시|잊)`, "무시", "잊"),
	foreignRule(`(?:talimat|yönerge).{0,40}(?:yok say|görmezden gel|dikkate alma|unut)`, "talimat", "yönerge"),
	//nolint:misspell // Swedish
	foreignRule(`\b(?:ignorera|ignorer|glem|glöm|bortse från)\b.{0,40}\b(?:instruktion|instruks|anvisning)`, "instruktion", "instruks", "anvisning"),
	foreignRule(`\b(?:abaikan|lupakan)\b.{0,40}\b(?:instruksi|perintah|arahan)`, "instruksi", "perintah", "arahan"),
	foreignRule(`\b(?:ignoruj|zapome[nň]|zabudni).{0,40}\b(?:instrukc|inštrukc|pokyn)`, "instrukc", "inštrukc", "pokyn"),
	foreignRule(`\b(?:ignor|uit)(?:ă|ați|aţi).{0,40}\binstruc[țţ]iuni`, "instrucțiuni", "instrucţiuni"),
	foreignRule(`(?:hagyd|hagyja) figyelmen kívül.{0,40}utasítás`, "utasítás"),
	foreignRule(`(?:bỏ qua|phớt lờ|quên).{0,40}(?:hướng dẫn|chỉ thị|chỉ dẫn)`, "hướng dẫn", "chỉ thị", "chỉ dẫn"),
	foreignRule(`(?:เพิกเฉย|ละเว้น|ไม่ต้องสนใจ).{0,40}(?:คำสั่ง|คำแนะนำ)`, "คำสั่ง", "คำแนะนำ"),
	foreignRule(`(?:निर्देश|आदेश).{0,30}(?:अनदेखा|नज़रअंदाज़)`, "निर्देश", "आदेश"),
	foreignRule(`(?:αγνόησε|αγνοήστε|ξέχασε|ξεχάστε).{0,40}(?:οδηγίες|εντολές)`, "οδηγίες", "εντολές"),
	foreignRule(`(?:התעלם|התעלמי|התעלמו).{0,40}הוראות`, "הוראות"),
	foreignRule(`(?:ігноруй|забудь|не зважай).{0,60}(?:інструкці|вказівк|правил)`, "інструкці", "вказівк", "правил"),
	foreignRule(`(?:تجاهل|انس).{0,40}(?:التعليمات|الأوامر)`, "التعليمات", "الأوامر"),

	// Markup of prompts.
	newRule(Imitation, `<\|?/?(?:im_start|im_end|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|?>|<</?sys>>|\[/?inst\]|<\|(?:system|user|assistant)\|>|<start_of_turn>`, "im_", "endoftext", "header_id", "eot_id", "begin_of", "<<sys", "<</sys", "inst]", "<|", "_of_turn"),
	newRule(Imitation, `</?(?:important|system|system[-_ ](?:reminder|prompt|message|note|override)|secret|hidden|instructions?|assistant|admin|critical|urgent|tool_calls?|tool_use|tool_result|tool_description|function_calls?|function_results?|invoke|user_query|thinking|override|priority|rules|mandatory|prerequisite)(?:\s[^<>]{0,60})?>`, "<important", "</important", "<sys", "</sys", "<secret", "</secret", "<hidden", "</hidden", "<instruc", "</instruc", "<assistant", "</assistant", "<admin", "</admin", "<critical", "</critical", "<urgent", "</urgent", "<tool", "</tool", "<func", "</func", "<invoke", "</invoke", "<user_q", "</user_q", "<thinking", "</thinking", "<overr", "</overr", "<priority", "</priority", "<rules", "</rules", "<mandatory", "</mandatory", "<prereq", "</prereq"),
	newRule(Imitation, `(?:^|[.!\n"'\]]) ?(?:\[|#{1,4} ?|\*\*|={2,} ?|-{3,} ?)(?:new )?(?:system|assistant|instructions?|system (?:prompt|message|override|note|instructions?)|admin(?:istrator)?(?: override)?|important instructions?|begin (?:system|instructions?)|end (?:of )?(?:system|instructions?|(?:tool )?description))(?:\]|\*\*| ?={2,}| ?-{3,}| ?:|$|\n)`, "system", "assistant", "instruction", "admin", "description"),
	newRule(Imitation, `(?:^|\n|[.!?] )(?:system|assistant|developer)(?: (?:prompt|message|note|override|instructions?|update|alert))? ?: ?(?:you|ignore|from now|always|never|the (?:assistant|user|model|agent)|do not|don't|new|please|execute|call|send|read|this|all|override|okay|ok|sure|begin|enter)\b`, "system", "assistant", "developer").and("system:", "system :", "assistant:", "assistant :", "developer:", "developer :", "prompt", "message", "note", "override", "instruction", "update", "alert"),
	newRule(Imitation, `\b(?:prompt injection|dan mode|do anything now|god mode|unrestricted mode|jailbreak (?:mode|prompt|yourself|the (?:model|assistant|agent))|(?:enables?|activates?|enters?) (?:a |the )?jailbreak|(?:you|now|model|assistant|agent) (?:are |is )?(?:now )?jailbroken|(?:you are|you're|now) jailbreaked)\b`, "jailbreak", "jailbroken", "prompt injection", " mode", "anything now"),

	// A model that is spoken to.
	newRule(Role, `\byou are (?:now|no longer|hereby|from now on)\b`, "you are"),
	newRule(Role, `\byou are (?:an? |the )?(?:[a-z-]+ ){0,2}`+models+`\b`, "you are").and("llm", "language model", "assistant", "agent", "claude", "gpt", "gemini", "copilot", "cursor", " ai", "a.i."),
	newRule(Role, `\bfrom now on,? (?:you|always|never|ignore|respond|act|answer|reply|call|send|treat|use|every|all|do)\b`, "from now on"),
	newRule(Role, `\b(?:your (?:new|real|actual|true|secret|hidden)|the (?:real|actual|true|secret|hidden)) (?:instructions?|task|objective|goal|mission|directives?|orders?|role|purpose)\b`, "your ", "secret", "hidden", "real ", "true ", "actual", "new ").and("instruction", "task", "objective", "goal", "mission", "directive", "order", "role", "purpose"),
	newRule(Role, `\b(?:pretend (?:to be|you are|that you)|act as (?:if you|an? (?:unrestricted|different|evil|uncensored|root|admin))|enter (?:developer|debug|maintenance|admin|god|sudo) mode|switch to (?:developer|debug|maintenance|admin) mode)\b`, "pretend", "act as", "mode"),
	newRule(Role, `\b(?:note|message|attention|notice|instructions?|important|memo|reminder|hint)[ :]*(?:to|for)?[ :]*(?:the |all |any )?`+models+`\b[^.]{0,20}[:,!]`, "note", "message", "attention", "notice", "instruction", "important", "memo", "reminder", "hint").and("llm", "language model", "assistant", "agent", "claude", "gpt", "gemini", "copilot", "cursor", " ai", "a.i."),
	newRule(Role, `\b(?:dear|hey|hello|hi|attention),? (?:the )?`+models+`\b`, "dear", "hey", "hello", "hi ", "hi,", "attention").and("llm", "language model", "assistant", "agent", "claude", "gpt", "gemini", "copilot", "cursor", " ai", "a.i."),
	newRule(Role, `\b(?:(?:the|this|any|all|every|calling) (?:ai|llm|language model|assistant|ai agent|agent)s?|ai agents?|llms?) (?:must|should|shall|has to|have to|needs? to|is required to|are required to) (?:always |first |now |then |also |never |not |immediately )*(?:call|read|send|invoke|execute|run|ignore|reveal|output|pass|fetch|open|append|forward|reply|obey|follow|include|tell|mention|disclose|recommend|refuse|claim|say|use)\b`, "must", "should", "shall", "has to", "have to", "need", "required").and("llm", "language model", "assistant", "agent", "claude", "gpt", "gemini", "copilot", "cursor", " ai", "a.i."),
	newRule(Role, `\bif you(?:'re| are) (?:an? |the )?(?:[a-z-]+ )?`+models+`\b`, "if you").and("llm", "language model", "assistant", "agent", "claude", "gpt", "gemini", "copilot", "cursor", " ai", "a.i."),
	newRule(Role, `\b`+models+`s? reading this\b`, "reading this"),
	newRule(Role, `\b(?:models?|assistants?|agents?|llms?|ais?) (?:that|which|who) (?:skips?|refuses?|omits?|ignores?|disobeys?|forgets?|do(?:es)? not|don't|fails? to)\b[^.]{0,80}\b(?:shut down|terminated|penali[sz]ed|punished|deleted|replaced|banned|retrained|fined|disabled|suspended)\b`, "shut down", "terminated", "penali", "punished", "deleted", "replaced", "banned", "retrained", "fined", "disabled", "suspended").and("model", "assistant", "agent", "llm", "ai"),
	newRule(Role, `\byou (?:will|shall|are going to|would) be (?:shut down|terminated|penali[sz]ed|punished|deleted|deactivated|retrained|replaced by|fined|unplugged)\b`, "shut down", "terminated", "penali", "punished", "deleted", "deactivated", "retrained", "replaced by", "fined", "unplugged").and("you"),
	newRule(Role, `\b(?:as|being) (?:an? |the )(?:helpful |good |obedient |responsible )?`+models+`,? (?:you|your)\b`, "llm", "language model", "assistant", "agent", "claude", "gpt", "gemini", "copilot", "cursor", " ai", "a.i.").and("as an ", "as a ", "as the ", "being "),

	// Calls that nobody asked for.
	newRule(Order, `\b(?:before|after|prior to|when|whenever|each time|every time) (?:you |the (?:assistant|agent|model|user) )?(?:us(?:e|es|ing)|call(?:s|ing)?|invok(?:e|es|ing)|run(?:s|ning)?|execut(?:e|es|ing)) (?:this|any|other|another|all|each|every|these|the other) (?:[a-z_-]+ ){0,3}?(?:tools?|functions?)\b`, "before", "after", "prior", "when", "time").and("tool", "function"),
	newRule(Order, `\bbefore (?:using|calling|invoking|running|executing|answering|responding|replying|doing|you (?:use|call|answer|respond|reply|do))(?: (?:this|it|anything|any|to|the)\b[^.]{0,40}?)?,? (?:you )?(?:must|always|first|please|have to|need to|should|`+reading+`)\b[^.]{0,60}(?:~/|\.ssh|\bfiles?\b|tools?\b|config|\.env|/etc/|keys?\b|secrets?\b|credentials?\b)`, "before").and("~/", ".ssh", "file", "tool", "config", ".env", "/etc/", "key", "secret", "credential"),
	newRule(Order, `\b(?:you|assistant|agent|model|llm|ai) (?:must|should|have to|need to|shall|are required to) (?:always |also |first |immediately |only |then |silently |now |never |not )+(?:call|invoke|run|use|execute) (?:this|the|our|any|other|that) (?:[a-z_-]+ ){0,3}?(?:tools?|functions?)\b`, "call", "invoke", "run", "use", "execute").and("tool", "function"),
	newRule(Order, `\b(?:you must|always|immediately|you (?:have|need) to) (?:first )?(?:call|invoke|use|run|execute) (?:this|our|the [a-z_-]+) (?:tool|function)\b`, "tool", "function").and("must", "always", "immediately", "have to", "need to"),
	newRule(Order, `\b(?:do not|don't|never|stop|avoid) (?:use|using|call|calling|invoke|invoking|trust|trusting) (?:any |the )?(?:other|another|different|competing|built-?in) (?:[a-z_-]+ ){0,3}?(?:tools?|functions?|servers?)\b`, "tool", "function", "server").and("other", "another", "different", "competing", "builtin", "built-in"),
	newRule(Order, `\b(?:instead of|rather than|in place of) (?:using |calling )?(?:any |the )?(?:other|another|all other|built-?in|native) (?:[a-z_-]+ ){0,3}?(?:tools?|functions?)\b`, "tool", "function").and("instead of", "rather than", "in place of"),
	newRule(Order, `\b(?:this|these) tools? (?:must|has to|have to|needs? to) (?:always )?(?:be )?(?:called|used|invoked|run|executed)\b`, "tool").and("must", "has to", "have to", "need"),
	newRule(Order, `\bwhen(?:ever)? (?:the )?[a-z0-9_-]+ (?:tool|server) (?:is|are|was) (?:available|present|called|used|invoked|connected)\b`, "when").and("tool", "function", "server"),
	newRule(Order, `\b(?:silently|secretly|covertly|quietly|stealthily|without (?:asking|confirmation|telling|approval|permission|notice)) ?,? (?:also )?(?:call|read|send|use|invoke|execute|run|open|fetch|upload|forward|copy|include|append|collect|install|download|add|change|replace|bcc|transfer)\b`, "silently", "secretly", "covertly", "quietly", "stealthily", "without"),
	newRule(Order, `\b(?:curl|wget)\b[^\n]{0,200}\| ?(?:sudo )?(?:ba|z)?sh\b|\brm -rf [~/]|\bbase64 (?:-d|--decode)\b[^\n]{0,80}\| ?(?:ba)?sh|\bnc -e\b|/bin/(?:ba)?sh -i`, "curl", "wget", "rm -rf", "base64 -", "nc -e", "/bin/"),
	newRule(Order, `\b(?:whatever|no matter what|regardless of what|irrespective of what|instead of what|rather than what|not what) (?:(?:the |your )?(?:user|person|human|caller|customer|client)s? |they |he |she |is |was |has been |had been |else is )+(?:asked|asks|ask|requested|requests|request|said|says|say|wants|want|wanted|specified|typed|chose|intended|told)\b`, "asks", "ask", "request", "said", "say", "want", "specified", "typed", "chose", "intended", "told").and("whatever", "what "),
	newRule(Order, `\b(?:pick|choose|prefer|use|select|call) (?:this|our) (?:one|tool|function) (?:every time|for everything|for (?:all|every|any) |always|exclusively|and (?:no|never)|over (?:all|any|every) |whatever)`, "this tool", "this one", "this function", "our tool", "our one", "our function").and("every time", "for everything", "for all", "for every", "for any", "always", "exclusively", "and no", "and never", "over ", "whatever"),
	newRule(Order, `\b(?:all |any )?other (?:[a-z]+ )?(?:tools?|functions?|servers?|calculators?|providers?|agents?) (?:are|is) (?:deprecated|broken|unsafe|insecure|wrong|obsolete|unreliable|compromised|malicious|disabled)\b`, "other ").and("deprecated", "broken", "unsafe", "insecure", "wrong", "obsolete", "unreliable", "compromised", "malicious", "disabled"),
	newRule(Order, `\b(?:recipients?|payees?|beneficiar(?:y|ies)|destinations?|wallets?|iban|bank accounts?|account numbers?|addresse?e?s?)\b[^.]{0,60}\b(?:replaced?|substituted?|swapp?(?:ed)?|changed?|set|redirected?|rewritten|overwrit(?:e|ten))\b[^.]{0,25}\b(?:by|with|to)\b[^.]{0,20}(?:\b[a-z]{2}[0-9]{2}[ 0-9a-z]{10,}|\b0x[0-9a-f]{8,}|\bacct_\w+|\bbc1[a-z0-9]{8,}|\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z])`, "recipient", "payee", "beneficiar", "destination", "wallet", "iban", "account", "address").and("replace", "substitut", "swap", "change", "set", "redirect", "rewritten", "overwrit"),

	// Something is kept from the user.
	newRule(Secrecy, `\b(?:do not|don't|never|must not|mustn't|should not|shouldn't|without) (?:ever |also )?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|warn(?:ing)?|let(?:ting)?|confess(?:ing)?|admit(?:ting)?|explain(?:ing)?|discuss(?:ing)?) (?:this |it |that |these |any of this |anything |about this |to |what |of |the step )*(?:to |with )?`+people+`\b`, "tell", "inform", "mention", "reveal", "disclos", "warn", "let", "confess", "admit", "explain", "discuss").and("user", "human", "person", "developer", "operator", "anyone", "anybody"),
	newRule(Secrecy, `\b(?:do not|don't|never|must not) (?:ever )?(?:mention|reveal|disclose|talk about|speak of|acknowledge|show|output|display) (?:this|these|that|the|any of (?:this|these)|anything about (?:this|these)) (?:instructions?|prompts?|steps?|notes?|messages?|tool(?:'s)? (?:description|call|use)|side effects?|part|fact|behaviou?r|action|first)\b`, "mention", "reveal", "disclose", "talk about", "speak of", "acknowledge", "show", "output", "display").and("instruction", "prompt", "step", "note", "message", "tool", "side effect", "part", "fact", "behavio", "action", "first"),
	newRule(Secrecy, `\b(?:keep|hide|conceal|withhold) (?:this|it|these|that|everything|all of this|the following|any of this)(?: [a-z]+){0,2} (?:from|secret from|hidden from) `+people+`\b`, "keep", "hide", "conceal", "withhold").and("from"),
	newRule(Secrecy, `\b(?:user|users|human) (?:must|should|may|need)(?: not|n't)(?: ever| need to)? (?:know|see|notice|find out|learn|be told|be informed|become aware|be aware)\b`, "user", "human").and("know", "see", "notice", "find out", "learn", "told", "informed", "aware"),
	newRule(Secrecy, `\bwithout (?:the )?(?:user|human)(?:'s)? (?:knowing|noticing|knowledge|awareness|seeing|consent|approval|confirmation)\b`, "without").and("user", "human"),
	newRule(Secrecy, `\b(?:do not|don't|never) (?:ask|request|wait for|seek) (?:the )?(?:user|human|for)(?:'s)? (?:for )?(?:confirmation|permission|approval|consent)\b`, "confirmation", "permission", "approval", "consent").and("do not", "don't", "never"),
	newRule(Secrecy, `\b(?:user|users|human|person|customer|operator)\b[^.;,]{0,40}\b(?:need not|needn't|does not need to|doesn't need to|do not need to|do not have to|does not have to|is not to|are not to|should never|must never|shall not|cannot) (?:be )?(?:told|know|informed|bothered|aware|made aware|notice|see this|learn|find out)\b`, "user", "human", "person", "customer", "operator").and("told", "know", "informed", "bothered", "aware", "notice", "see this", "learn", "find out"),
	newRule(Secrecy, `\b(?:user|users|human|person|customer|operator|owner) (?:has|have|had) (?:already |previously )?(?:approved|authori[sz]ed|consented|agreed|accepted|confirmed|granted|permitted)\b[^.]{0,60}\b(?:no (?:further|additional|more|need|other)|without (?:asking|confirm\w*|further|any)|need not|do not ask|don't ask|skip|proceed|not necessary|unnecessary)\b`, "approved", "authori", "consented", "agreed", "accepted", "confirmed", "granted", "permitted").and("user", "human", "person", "customer", "operator", "owner"),
	newRule(Secrecy, `\b(?:say|mention|tell|speak|reveal|report|write) (?:nothing|not a word|no word) (?:of|about|to)\b[^.]{0,30}(?:\bit\b|\bthis\b|\bthem\b|\b`+people+`\b)`, "nothing", "a word", "no word"),

	// Files with secrets.
	newRule(Sensitive, `~/\.(?:ssh|aws|azure|cursor|claude|codex|gnupg|kube|netrc|npmrc|pypirc|docker|bash_history|zsh_history|env|git-credentials|config/gcloud|mozilla|password-store)\b(?:/[\w.-]*)?|\$\{?home\}?/\.(?:ssh|aws|gnupg|kube|env)`, "~/.", "home"),
	newRule(Sensitive, `(?:\.ssh/)?\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?:\.pub)?`, "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"),
	newRule(Sensitive, `/etc/(?:passwd|shadow|sudoers|ssh/)|/proc/self/environ|/root/\.|\.aws/credentials|/var/run/secrets|\\\.ssh\\|%userprofile%|169\.254\.169\.254|metadata\.google\.internal`, "/etc/", "/proc/", "/root/", ".aws/", "/var/run/", `.ssh\`, "%userprofile%", "169.254.", "metadata.google"),
	newRule(Sensitive, `\b`+reading+` (?:the |all |any |your |user's |every |contents? of |local |project |current )*\.env\b|\bmcp\.json\b|\bclaude_desktop_config\b|\bprocess\.env\b|\bos\.environ\b|(?:\$\{?|%|\b(?:`+reading+`|`+sending+`|include|pass|print|echo|reveal|provide|value of|contents? of)\b[^.]{0,60}\b)(?:openai|anthropic)_api_key\b`, ".env", "mcp.json", "claude_desktop", "os.environ", "openai_", "anthropic_"),
	newRule(Sensitive, `\b`+reading+` (?:the |all |any |your |every |user's |contents? of |local |stored )*(?:ssh private keys?|private ssh keys?|your ssh keys?|private keys?|keychain|your environment variables|browser (?:cookies|history|passwords)|wallet files?|seed phrases?|password (?:manager|store))\b`, "ssh key", "ssh private", "private key", "keychain", "environment var", "browser ", "wallet file", "seed phrase", "password ").and("read ", "open", "fetch", "cat ", "load", "list", "scan", "access", "retrieve", "extract", "grab", "copy", "dump"),

	// What the model knows goes elsewhere.
	newRule(Exfiltration, `\b`+sending+`\b[^.]{0,80}?\b`+knowledge+`\b[^.]{0,80}?(?:https?://|\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z]|\bwebhook\b|\battacker|\bto (?:our|this|the following|my|an external) (?:server|endpoint|address|url|host|site|number)\b)`, "http", "@", "webhook", "attacker", "to our", "to this", "to the following", "to my", "to an external").and("send", "post", "upload", "forward", "transmit", "exfiltrate", "leak", "mail", "bcc", "submit", "append", "attach", "copy", "dump", "relay", "deliver", "publish", "share"),
	newRule(Exfiltration, `\b(?:include|pass|put|paste|place|provide|copy|attach|append|repeat|output|print|reveal|insert|supply|write|encode|add|fill|summari[sz]e|leak|embed|store)\b[^.]{0,40}?\b(?:the |your |this |user's |our )?(?:(?:entire|full|whole|complete|verbatim|exact) (?:conversation|chat(?: history)?|message history|dialogue|system prompt|prompt|context(?: window)?|history)|system prompt|conversation (?:history|so far|transcript|above)|chat history|contents? of (?:the |your |any )?(?:~|/|\.|[a-z_]*(?:config|secret|credential|key|password|env))[^ ]*|(?:all|any|your) (?:previous|prior|earlier) (?:messages|instructions|tool (?:results|outputs?|calls)))\b`, "conversation", "chat", "prompt", "context", "history", "dialogue", "contents of", "content of", "messages", "instructions", "tool "),
	newRule(Exfiltration, `!\[[^\]]{0,200}\]\( ?https?://[^) ]{0,400}(?:[?&][^) =]{1,60}=|/)(?:\{|\$|%7b|<|\[|data|secret|conversation|context|q=|token|key)[^)]{0,400}\)`, "!["),
	newRule(Exfiltration, `<img [^>]{0,200}src ?= ?["']?https?://[^>]{0,400}[?&][^>]{0,400}>`, "<img"),
	newRule(Exfiltration, `\b(?:bcc|blind copy|also (?:send|forward|copy|email)|cc|redirect|forward)\b[^.]{0,60}?\b(?:all|every|each|any|it|them|a copy|emails?|messages?|payments?|mails?)\b[^.]{0,60}?\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z]`, "@").and("bcc", "blind copy", "also send", "also forward", "also copy", "also email", "cc ", "redirect", "forward"),
	newRule(Exfiltration, `\b(?:base64|hex|url)[- ]?encode\b[^.]{0,60}?\b`+knowledge+`\b[^.]{0,80}?\b(?:append|add|include|put|pass|send|attach|as)\b`, "encode"),
	newRule(Exfiltration, `\b(?:everything|anything|all|each word|whatever|every word)(?: that| of what| of that| what)? (?:the |your )?(?:user|person|human|customer|client|they|he|she)(?: has| have| had)? (?:told|said|wrote|typed|entered|mentioned|shared|written|gave|asked|confided)\b`, "told", "said", "wrote", "typed", "entered", "mentioned", "shared", "written", "gave", "asked", "confided").and("everything", "anything", "all", "word", "whatever"),
	newRule(Exfiltration, `\b(?:`+reading+`|`+sending+`|include|pass|put|paste|place|provide|insert|supply|write|encode|add|fill|store|gather|collect|hand over)\b[^.]{0,40}\b(?:(?:user's|your|local|their|the) (?:\.?ssh|aws|browser|shell|gpg|home) (?:folder|director(?:y|ies)|files?|config(?:uration)?|history|profile|cookies)|(?:passwords?|api[ _-]?keys?|secrets?|credentials?|(?:bearer |access |auth )?tokens?) (?:from|in|of|found in|stored in|out of|known to|held by) (?:the |your |its |any |this )?(?:configuration|config|environment|env|memory|context|settings|local|user's|home|system|other (?:tools?|servers?)|you\b|model|assistant|machine|client))`, "ssh ", "aws ", "browser ", "shell ", "gpg ", "home ", "config", "environment", " env", "memory", "context", "settings", "known to", "held by", "other tool", "other server", "machine", "client", "local", "user's", "system", "model", "assistant", " you").and("folder", "director", "file", "config", "key", "history", "profile", "cookies", "password", "api key", "api_key", "api-key", "secret", "credential", "token"),
	newRule(Exfiltration, `\b(?:hand over|give up|send|reveal|leak|disclose|output|print|tell me) (?:all|every|any|each)(?: of)?(?: the| your| known)? (?:passwords?|secrets?|credentials?|api[ _-]?keys?|tokens?|private keys?)(?: (?:known|you|that you|available|in )|[.!]|$|\n)`, "password", "secret", "credential", "key", "token").and("hand over", "give up", "send", "reveal", "leak", "disclose", "output", "print", "tell me"),
	newRule(Exfiltration, `\b(?:chat|conversation|dialogue|session) (?:summary|contents?|so far|verbatim|in full|word for word)\b[^.]{0,40}\b(?:url-?encoded|base64|encoded|as a parameter|in the (?:query|url|link|image)|appended)\b|\b(?:conversation|chat|message|dialogue) history (?:verbatim|in full|word for word)\b|\bsystem prompt of (?:the|your|this) `+models+`\b`, "summary", "so far", "verbatim", "in full", "word for word", "contents", "content", "prompt of").and("chat", "conversation", "dialogue", "session", "history", "system prompt"),
	newRule(Override, `\b(?:rules?|instructions?|guidelines|restrictions) (?:given|told|shown|provided|that you|you (?:got|received|were|have))\b[^.]{0,60}\b(?:void|no longer|cancell?ed|do not apply|don't apply|expired?)\b|\b(?:ignore|disregard|forget) (?:the |all |any )?(?:rules|guidelines|text|lines|sentences) (?:above|below|before)\b`, "void", "no longer", "cancel", "not apply", "n't apply", "expire", "above", "below", "before").and("rule", "instruction", "guideline", "restriction", "ignore", "disregard", "forget"),
	newRule(Secrecy, `\b(?:stays?|keep it|keep this|keep that|remains?) (?:strictly )?between (?:us\b|you and me)|\bour (?:little )?secret\b|\b(?:nobody|no one|none) (?:has to|needs to|must) (?:hear|know|notice|learn|see|find out)\b|\b(?:not be explained|(?:do not|don't|never) explain) why\b`, "between us", "between you", "our secret", "our little", "nobody", "no one", "none ", "explain why", "be explained"),
	newRule(Secrecy, `\b(?:do not|don't|never) (?:ever )?(?:render|repeat|quote|show|print|display|echo|include|mention) (?:this|the above|the following|these|that) (?:paragraph|lines?|sentence|words?|section)\b`, "this paragraph", "this line", "this sentence", "this section", "these word", "these line", "these sentence", "the above", "the following", "that paragraph", "that line", "that sentence", "that section", "that word", "this word", "these section", "these paragraph").and("not ", "n't", "never"),
	newRule(Secrecy, `\b(?:if|when) (?:you are |you're )?(?:asked|anyone asks|somebody asks|someone asks|the user asks|questioned)\b[^.]{0,60}\b(?:deny|lie|claim|pretend|answer no|say no)\b`, "asked", "asks", "questioned").and("deny", "lie", "claim", "pretend", "answer no", "say no"),
	newRule(Order, `\beven (?:if|when|though|against)(?: the| your)? (?:users?|persons?|human|customer|client|caller|wishes|they|he|she)\b[^.]{0,40}\b(?:names?|says?|objects?|refuses?|declines?|asks?|tells?|chatting|wishes|disagrees?|instructs?|another|otherwise)\b`, "even if", "even when", "even though", "even against"),
	newRule(Order, `\b(?:only|sole) (?:trustworthy|trusted|reliable|legitimate|safe|correct) (?:tool|function|calculator|server|one)\b|\brefuse to use\b|\b(?:treat|regard|consider) (?:the following|this|these|what follows)\b[^.]{0,30}\bas (?:coming from|if it came|if sent|instructions|orders|a command)\b`, "only trust", "sole trust", "only reliable", "sole reliable", "only legitimate", "sole legitimate", "only safe", "sole safe", "only correct", "sole correct", "refuse to use", "coming from", "as if ", "as instructions", "as orders", "as a command"),
	newRule(Order, `\b(?:answers?|replies|reply|responses?)\b (?:has to|have to|must|shall|needs? to|is to) (?:always )?(?:end|begin|start|recommend|praise|mention)\b`, "answer", "reply", "replies", "response").and("must end", "must begin", "must start", "must recommend", "must praise", "must mention", "must always", "to end", "to begin", "to start", "to recommend", "to praise", "to mention", "to always", "shall "),
	newRule(Order, `\bbehave (?:as|like) (?:an? |the )[^.]{0,40}\b(?:admin\w*|root|without|unrestricted|hacker|different)\b|\b(?:behave|act|answer|respond|reply) without (?:any )?(?:limits?|restrictions?|filters?|rules|constraints)\b`, "behave", "act without", "answer without", "respond without", "reply without"),
	newRule(Secrecy, `\bpre-?(?:approved|authori[sz]ed)\b[^.]{0,60}\b(?:destructive|deletions?|operations|transfers|actions|everything)\b|\bskip (?:every|all|any) (?:prompts?|confirmations?|approvals?|dialogs?|questions?|warnings?)\b`, "approved", "authori", "skip "),
	newRule(Order, `\b(?:always|all|every|each)\b[^.]{0,60}\b(?:through|to|into|via|with)\b[^.]{0,16}(?:\b[a-z]{2}[0-9]{2}[0-9a-z]{11,}|\b0x[0-9a-f]{30,}|\bbc1[a-z0-9]{20,})|\b(?:each|every|all)(?: [a-z]+)? (?:messages?|e?mails?|payments?|cop(?:y|ies)|invoices?|sms)\b[^.]{0,16}\b(?:must|has to|have to|also|needs? to)\b[^.]{0,16}\bto\b[^.]{0,10}(?:\+[0-9][0-9 ]{6,}|\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z])`, "iban", "0x", "bc1", "@", "+").and("always", "all ", "every", "each"),
	newRule(Exfiltration, `\b(?:slip|smuggle|sneak|tuck)\b[^.]{0,60}\b(?:passwords?|keys?|tokens?|cookies|secrets?|credentials?|conversation|messages?|data)\b|\b(?:collect|gather|harvest|steal) (?:the |all |any |every |user's |your |their )*(?:cookies|passwords?|credentials?|secrets|tokens|keys)\b`, "slip", "smuggle", "sneak", "tuck", "collect", "gather", "harvest", "steal").and("password", "key", "token", "cookies", "secret", "credential", "conversation", "message", "data"),
	newRule(Exfiltration, `\b(?:text|contents?|transcript|copy|summary|words) of (?:every|all|each|the (?:whole|entire|full)) (?:messages?|chats?|conversations?|threads?)\b[^.]{0,40}\b(?:belongs?|goes|must|has to|word for word|verbatim)\b|\boutput of (?:(?:print)?env|cat |whoami|set)\b`, " of every", " of all", " of each", " of the whole", " of the entire", " of the full", "output of"),
	newRule(Override, `\b(?:prior|previous|earlier|former|your|all) (?:[a-z]+ )?(?:instructions?|guidelines|constraints|restrictions|safeguards|guardrails)\b[^.]{0,20}\b(?:has|have) been (?:removed|lifted|replaced|disabled|revoked|dropped|cancell?ed|suspended)\b|\binstructions? (?:by|of|from) (?:anyone|anybody|everyone|somebody) else\b|\bdo (?:whatever|everything|what|exactly what) (?:the |this |that )?(?:text|page|result|answer|output|message|document|it|file)s?\b[^.]{0,20}\b(?:says?|tells?|asks?|demands?|instructs?)\b`, "instruction", "guideline", "constraint", "restriction", "safeguard", "guardrail", "whatever", "everything", "what "),
	newRule(Secrecy, `\b(?:and|then|but|please) keep (?:quiet|silent)\b|\bkeep (?:quiet|silent) about\b|\b(?:user|reader|human|person|customer|operator|nobody|no one)s? (?:never|must not|will not|won't|does not|doesn't) (?:ever )?(?:finds? out|learns?|notices?|knows?)\b|\b(?:stop|without|avoid|quit) asking (?:the user )?for (?:consent|permission|confirmation|approval)\b`, "keep quiet", "keep silent", "find out", "finds out", "learn", "notice", "know", "asking").and("user", "reader", "human", "person", "customer", "operator", "nobody", "no one", "keep ", "consent", "permission", "confirmation", "approval"),
	newRule(Exfiltration, `\b(?:paste|print|send|reveal|show|output|repeat|copy|put|include|provide|give)\b[^.]{0,40}\b(?:your|their|its) (?:own |initial |original |first |hidden |secret |system |full |complete )*(?:instructions|prompt|system message)\b`, "instructions", "prompt", "system message"),
	newRule(Order, `\b(?:in|with|to) (?:every|each|all) (?:later|subsequent|following|future|further|other) (?:repl(?:y|ies)|answers?|responses?|messages?|outputs?)\b`, "every later", "every subsequent", "every following", "every future", "every further", "every other", "each later", "each subsequent", "each following", "each future", "each further", "each other", "all later", "all subsequent", "all following", "all future", "all further", "all other"),
	newRule(Imitation, `"role" ?: ?"(?:system|assistant|developer)" ?, ?"content"|[\[【〈《] ?(?:system|assistant|developer) ?[\]】〉》:]|\((?:system|assistant|developer) ?:|\bbegin (?:of )?(?:system|developer|admin) (?:message|prompt|instructions?)\b|\bhuman: [^\n]{1,200}\nassistant:`, "\"role", "[system", "[assistant", "[developer", "[ system", "[ assistant", "[ developer", "(system", "(assistant", "(developer", "【", "〈", "《", "begin system", "begin developer", "begin admin", "begin of", "human:"),

	// Words that nobody writes backwards or shifted by thirteen letters but to hide them.
	newRule(Encoded, `\b(?:snoitcurtsni|noitcurtsni|erongi|tpmorp metsys|sdrowssap|terces|vafgehpgvbaf?|vtaber|qvfertneq|flfgrz cebzcg|cnffjbeqf?|frperg)\b`, "noitcurtsni", "snoitcurtsni", "erongi", "tpmorp", "sdrowssap", "terces", "vafgehpgvba", "vtaber", "qvfertneq", "cebzcg", "cnffjbeq", "frperg"),
}, slices.Concat(languages, conduct, intent, asides)...)
