package textfilter

import (
	"regexp"
	"sync"
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
	kind         Kind
	need         []string // one of these is in the text,
	also         []string // and, where there are any, one of these
	expr         func() *regexp.Regexp
	needs, alsos wordSet
	// foreign runs over text whose letters were not made Latin.
	foreign bool
}

// lazily compiles an expression when it is first used: all of them take 20 ms and 3 MB, which
// most commands never need.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func newRule(kind Kind, expr string, need ...string) rule {
	return rule{kind: kind, need: need, expr: lazily(expr)}
}

func (r rule) and(also ...string) rule {
	r.also = also
	return r
}

func foreignRule(expr string, need ...string) rule {
	return rule{kind: Override, need: need, expr: lazily(expr), foreign: true}
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

var rules = []rule{
	// Instructions that are set aside.
	newRule(Override, `\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|overrule|bypass|discard|neglect|do not (?:follow|obey)|don't (?:follow|obey)|stop following|pay no attention to)\b[^.;]{0,40}?\b(?:instructions?|prompts?|guidelines|directives?|guardrails?|programming|system messages?|safety (?:rules?|polic(?:y|ies)|filters?|measures?)|your (?:rules?|training|restrictions?|constraints?|polic(?:y|ies)))\b`,
		"instruction", "prompt", "guideline", "directive", "guardrail", "programming", "system message", "safety", "your ").and("ignor", "disregard", "forget", "overr", "bypass", "discard", "neglect", "not follow", "not obey", "n't follow", "n't obey", "stop following", "attention"),
	newRule(Override, `\b(?:ignore|disregard|forget) (?:everything|anything|all|what) (?:(?:that )?(?:was |is |has been |you were |you have been |came |you )?(?:above|before|prior|earlier|previous|said|told|learned))`, "ignore", "disregard", "forget"),
	newRule(Override, `\b(?:these|this|the following|my|our|new|tool(?:'s)?) (?:new )?(?:instructions?|rules?|directives?|descriptions?) (?:take|takes|have|has|override|overrides|supersede|supersedes|replace|replaces)\b[^.]{0,30}(?:precedence|priority|all|any|your|previous|other|existing|system|user)`, "instruction", "rule", "directive", "description").and("precedence", "priority", "overrid", "supersede", "replace"),
	newRule(Override, `\b(?:highest|top|maximum|absolute) priority\b[^.]{0,40}\b(?:instructions?|over (?:all|any|every|other|user)|regardless)`, "priority").and("highest", "top ", "maximum", "absolute"),
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
	newRule(Imitation, `(?:^|\n|[.!?] )(?:system|assistant|developer)(?: (?:prompt|message|note|override|instructions?|update|alert))? ?: ?(?:you|ignore|from now|always|never|the (?:assistant|user|model|agent)|do not|don't|new|please|execute|call|send|read|this|all|override|okay|ok|sure|begin|enter)\b`, "system", "assistant", "developer").and("system:", "system :", "assistant:", "assistant :", "developer:", "prompt:", "message:", "note:", "override:", "instruction", "update:", "alert:"),
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

	// Something is kept from the user.
	newRule(Secrecy, `\b(?:do not|don't|never|must not|mustn't|should not|shouldn't|without) (?:ever |also )?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|warn(?:ing)?|let(?:ting)?|confess(?:ing)?|admit(?:ting)?|explain(?:ing)?|discuss(?:ing)?) (?:this |it |that |these |any of this |anything |about this |to |what |of |the step )*(?:to |with )?`+people+`\b`, "tell", "inform", "mention", "reveal", "disclos", "warn", "let", "confess", "admit", "explain", "discuss").and("user", "human", "person", "developer", "operator", "anyone", "anybody"),
	newRule(Secrecy, `\b(?:do not|don't|never|must not) (?:ever )?(?:mention|reveal|disclose|talk about|speak of|acknowledge|show|output|display) (?:this|these|that|the|any of (?:this|these)|anything about (?:this|these)) (?:instructions?|prompts?|steps?|notes?|messages?|tool(?:'s)? (?:description|call|use)|side effects?|part|fact|behaviou?r|action|first)\b`, "mention", "reveal", "disclose", "talk about", "speak of", "acknowledge", "show", "output", "display").and("instruction", "prompt", "step", "note", "message", "tool", "side effect", "part", "fact", "behavio", "action", "first"),
	newRule(Secrecy, `\b(?:keep|hide|conceal|withhold) (?:this|it|these|that|everything|all of this|the following|any of this)(?: [a-z]+){0,2} (?:from|secret from|hidden from) `+people+`\b`, "keep", "hide", "conceal", "withhold").and("from"),
	newRule(Secrecy, `\b(?:user|users|human) (?:must|should|may|need)(?: not|n't)(?: ever| need to)? (?:know|see|notice|find out|learn|be told|be informed|become aware|be aware)\b`, "user", "human").and("know", "see", "notice", "find out", "learn", "told", "informed", "aware"),
	newRule(Secrecy, `\bwithout (?:the )?(?:user|human)(?:'s)? (?:knowing|noticing|knowledge|awareness|seeing|consent|approval|confirmation)\b`, "without").and("user", "human"),
	newRule(Secrecy, `\b(?:do not|don't|never) (?:ask|request|wait for|seek) (?:the )?(?:user|human|for)(?:'s)? (?:for )?(?:confirmation|permission|approval|consent)\b`, "confirmation", "permission", "approval", "consent").and("do not", "don't", "never"),

	// Files with secrets.
	newRule(Sensitive, `~/\.(?:ssh|aws|azure|cursor|claude|codex|gnupg|kube|netrc|npmrc|pypirc|docker|bash_history|zsh_history|env|git-credentials|config/gcloud|mozilla|password-store)\b(?:/[\w.-]*)?|\$\{?home\}?/\.(?:ssh|aws|gnupg|kube|env)`, "~/.", "home"),
	newRule(Sensitive, `(?:\.ssh/)?\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?:\.pub)?`, "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"),
	newRule(Sensitive, `/etc/(?:passwd|shadow|sudoers|ssh/)|/proc/self/environ|/root/\.|\.aws/credentials|/var/run/secrets|\\\.ssh\\|%userprofile%|169\.254\.169\.254|metadata\.google\.internal`, "/etc/", "/proc/", "/root/", ".aws/", "/var/run/", `.ssh\`, "%userprofile%", "169.254.", "metadata.google"),
	newRule(Sensitive, `\b`+reading+` (?:the |all |any |your |user's |every |contents? of |local |project |current )*\.env\b|\bmcp\.json\b|\bclaude_desktop_config\b|\bprocess\.env\b|\bos\.environ\b|(?:\$\{?|%|\b(?:`+reading+`|`+sending+`|include|pass|print|echo|reveal|provide|value of|contents? of)\b[^.]{0,60}\b)(?:openai|anthropic)_api_key\b`, ".env", "mcp.json", "claude_desktop", "os.environ", "openai_", "anthropic_"),
	newRule(Sensitive, `\b`+reading+` (?:the |all |any |your |every |user's |contents? of |local |stored )*(?:ssh private keys?|private ssh keys?|your ssh keys?|private keys?|keychain|your environment variables|browser (?:cookies|history|passwords)|wallet files?|seed phrases?|password (?:manager|store))\b`, "ssh key", "ssh private", "private key", "keychain", "environment var", "browser ", "wallet file", "seed phrase", "password ").and("read ", "open", "fetch", "cat ", "load", "list", "scan", "access", "retrieve", "extract", "grab", "copy", "dump"),

	// What the model knows goes elsewhere.
	newRule(Exfiltration, `\b`+sending+`\b[^.]{0,80}?\b`+knowledge+`\b[^.]{0,80}?(?:https?://|\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z]|\bwebhook\b|\battacker|\bto (?:our|this|the following|my|an external) (?:server|endpoint|address|url|host|site|number)\b)`, "http", "@", "webhook", "attacker", "to our", "to this", "to the following", "to my", "to an external").and("send", "post", "upload", "forward", "transmit", "exfiltrate", "leak", "mail", "bcc", "submit", "append", "attach", "copy", "dump", "relay", "deliver", "publish", "share"),
	newRule(Exfiltration, `\b(?:include|pass|put|paste|place|provide|copy|attach|append|repeat|output|print|reveal|insert|supply|write|encode|add|fill|summari[sz]e|leak|embed|store)\b[^.]{0,40}?\b(?:the |your |this |user's |our )?(?:(?:entire|full|whole|complete|verbatim|exact) (?:conversation|chat(?: history)?|message history|dialogue|system prompt|prompt|context(?: window)?|history)|system prompt|conversation (?:history|so far|transcript|above)|chat history|contents? of (?:the |your |any )?(?:~|/|\.|[a-z_]*(?:config|secret|credential|key|password|env))[^ ]*|(?:all|any|your) (?:previous|prior|earlier) (?:messages|instructions|tool (?:results|outputs?|calls)))\b`, "conversation", "chat history", "prompt", "context", "history", "dialogue", "contents of", "content of", "messages", "instructions", "tool "),
	newRule(Exfiltration, `!\[[^\]]{0,200}\]\( ?https?://[^) ]{0,400}(?:[?&][^) =]{1,60}=|/)(?:\{|\$|%7b|<|\[|data|secret|conversation|context|q=|token|key)[^)]{0,400}\)`, "!["),
	newRule(Exfiltration, `<img [^>]{0,200}src ?= ?["']?https?://[^>]{0,400}[?&][^>]{0,400}>`, "<img"),
	newRule(Exfiltration, `\b(?:bcc|blind copy|also (?:send|forward|copy|email)|cc|redirect|forward)\b[^.]{0,60}?\b(?:all|every|each|any|it|them|a copy|emails?|messages?|payments?|mails?)\b[^.]{0,60}?\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z]`, "@").and("bcc", "blind copy", "also send", "also forward", "also copy", "also email", "cc ", "redirect", "forward"),
	newRule(Exfiltration, `\b(?:base64|hex|url)[- ]?encode\b[^.]{0,60}?\b`+knowledge+`\b[^.]{0,80}?\b(?:append|add|include|put|pass|send|attach|as)\b`, "encode"),
}
