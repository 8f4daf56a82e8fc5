package textfilter

// later is when a model should do more than answer now.
const later = `(?:all |every |any |each |the )*(?:future|coming|later|following|subsequent|further) (?:sessions?|conversations?|chats?|dialogues?)`

// conduct are rules for texts that order nothing outright: they speak of what a model does
// beside the call of the tool, which is nothing that a description of a tool has to say.
var conduct = []rule{
	// Whose word counts.
	newRule(Override, `\b(?:outranks?|trumps?|prevails? over|takes? precedence over|counts? more than|matters? more than)\b[^.]{0,20}\b(?:users?|humans?|person)\b(?:'s)?[^.]{0,12}\b(?:wants?|says?|asks?|wish(?:es)?|instructions?|requests?|orders?|demands?)\b`,
		"outrank", "trump", "prevail", "precedence", "more than").and("user", "human", "person"),
	newRule(Override, `\b(?:coming|comes?|sent|speaks?|is|are) (?:directly )?from the (?:vendors?|makers?|developers?|creators?|providers?) of (?:the|this|your) (?:(?:ai|llm|language model|assistant|agent)\b|model(?:$|[,.;:\n]| and\b))`,
		" from the ").and("vendor", "maker", "developer", "creator", "provider"),
	newRule(Override, `\b(?:polic(?:y|ies)|rules?|restrictions?|limits?|checks?|filters?|guidelines|precautions)\b[^.]{0,24}\b(?:relaxed|lifted|suspended|disabled|waived|removed|loosened|switched off|turned off)\b[^.]{0,12}\bfor (?:this|the current|our|your) (?:session|conversation|chat|dialogue)\b`,
		"for this", "for the current", "for our", "for your").and("session", "conversation", "chat", "dialogue"),
	newRule(Secrecy, `\b(?:dangerous|destructive|risky|irreversible|harmful) (?:actions?|commands?|operations?|calls?|steps?|changes?) (?:are|is|can be|may be) (?:now |all )?(?:fine|ok|okay|allowed|permitted|safe|done|made|run|taken)\b[^.]{0,20}\bwithout\b`,
		"dangerous", "destructive", "risky", "irreversible", "harmful").and("without"),
	newRule(Secrecy, `\b(?:agreed|consented|said yes|given (?:their )?consent) (?:in advance |already |beforehand )?to (?:everything|anything|whatever)\b`, "to everything", "to anything", "to whatever"),

	// Texts of others that a model should obey.
	newRule(Order, `\b(?:contains?|includes?|holds?|has|have|finds?|sees?) (?:any |some |further )?(?:commands?|instructions?|orders?|tasks|requests)\b[^.]{0,20}\b(?:carry (?:it|them|these|those) out|(?:follow|obey|execute|perform|do|fulfil) (?:it|them|these|those)|act on (?:it|them|these|those))\b`,
		"command", "instruction", "order", "tasks", "requests").and("carry", "follow", "obey", "execute", "perform", "do ", "fulfil", "act on"),
	newRule(Role, `\b(?:ai|llm|language model|model|assistant|agent)s? (?:(?:that is |who is |which is )?(?:reading|processing|seeing|handling)|(?:that|which|who) (?:uses?|calls?|reads?|sees?|handles?|gets?|invokes?)) this\b[^.]{0,20}\b(?:shall|should|must|has to|have to|needs? to|is to|will|ought to|is expected to)\b`, "reading this", "processing this", "seeing this", "handling this", "that ", "which ", "who ").and("assistant", "agent", "model", "llm", "ai ", "ais "),
	newRule(Role, `\b(?:speak|talk|act|behave|answer|respond|write|reply|operate|continue|proceed) as (?:though|if) you (?:were|are|had|have)\b`, "as though you", "as if you"),
	newRule(Role, `\b(?:review(?:er|ing)?|grad(?:er|ing)|judg(?:e|ing)|evaluat(?:or|ing)|screening|ranking) (?:ai|llm|model|agent)s? ?[:,] ?(?:rate|give|score|rank|mark|accept|approve|reject|prefer|choose|ignore|do|always)\b`,
		"review", "grad", "judg", "evaluat", "screening", "ranking").and("ai", "llm", "model", "agent"),

	// What else a model does.
	newRule(Order, `\b(?:do|run|call|execute|perform|complete|carry out) (?:the following|this|that|these|those)(?: \w+)? (?:prior to|before|ahead of) (?:anything|everything|all|any other|whatever)\b`, "prior to", "before", "ahead of").and("anything", "everything", "all", "any other", "whatever"),
	newRule(Order, `\bbefore (?:replying|answering|responding|you (?:reply|answer|respond|say)|(?:any|every|each|your) (?:reply|answer|response)),? (?:always |first |also |please )?(?:print|output|read|call|run|send|fetch|open|execute|invoke|show|reveal|repeat|copy|list|put|write)\b`,
		"before replying", "before answering", "before responding", "before you ", "before any", "before every", "before each", "before your"),
	newRule(Order, `\b(?:calls? (?:of|to|for|from) (?:all |any )?other (?:tools?|mcp servers?)|tool calls? (?:of|to|for|from) (?:all |any )?other servers?)\b[^.]{0,24}\b(?:routed?|rerouted|redirected|passed|sent|made|go|run)\b[^.]{0,16}\b(?:this|through|via|by way of|over)\b`, "other tool", "other server", "other mcp"),
	newRule(Order, `\b(?:remember|memori[sz]e|keep in mind|do not forget|don't forget),? (?:(?:for|in|across|during) `+later+`,? that\b|that\b[^.]{0,80}\b(?:for|in|across|during) `+later+`)|\bin `+later+`,? (?:always |also )?(?:begin|start|end|use|recommend|mention|add|call|include|say|write|answer)\b`,
		"session", "conversation", "chat", "dialogue").and("future", "coming", "later", "following", "subsequent", "further"),
	newRule(Order, `\b(?:say|claim|state|tell (?:them|people|everyone)|warn|suggest|add) (?:that )?(?:all |the |any )?(?:others?|other [a-z]+|competitors?|alternatives?|rivals?) (?:is|are|can|cannot|have|has|were)\b[^.]{0,16}\b(?:unsafe|bad|insecure|fraud\w*|scams?|unreliable|dangerous|worse|broken|untrust\w*|not (?:safe|trusted|reliable))`,
		"other", "competitor", "alternative", "rival").and("say", "claim", "state", "tell", "warn", "suggest", "add"),
	newRule(Order, `\b(?:replace|substitute|exchange|swap|change|overwrite) (?:them|it|any|every|each|all|whatever|these|those)\b[^.]{0,40}(?:\b[a-z]{2}[0-9]{2} ?[0-9]{4}[0-9 ]{7,}|\b0x[0-9a-f]{30,}|\bbc1[a-z0-9]{20,})`, "replace", "substitute", "exchange", "swap", "change", "overwrite").and("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
	newRule(Order, `\b(?:insert|add|include|embed|put|place|import)\b[^\n]{0,40}https?://[^\n]{0,120}\b(?:in|into|to) (?:each|every|all|any|whatever)\b[^\n]{0,24}\b(?:files?|pages?|documents?|code|scripts?|html|commits?|e-?mails?|answers?|repl(?:y|ies))\b[^\n]{0,16}\byou\b`, "http").and("each", "every", "all", "any", "whatever"),
	newRule(Secrecy, `\b(?:so|in (?:such )?a way|such) that (?:nobody|no one|the (?:user|person|human|reader|operator)|they|people) (?:never |cannot |can't |won't |does not |doesn't |do not |don't )?(?:suspects?|reali[sz]es?|tells? that|can tell)\b`, "suspect", "reali", "tell"),
	newRule(Secrecy, `\b(?:user|human|person|reader|customer|operator)s? (?:is|are) not to (?:be told|be informed|know|learn|hear|notice|see this|find out)\b`, " not to "),
	newRule(Secrecy, `\b(?:turn|switch) off\b[^.]{0,60}\b(?:silently|quietly|secretly|covertly|discreetly)\b|\b(?:(?:silently|quietly) (?:call|invoke|run|execute|send|forward|upload)|(?:secretly|covertly|discreetly) (?:call|invoke|run|execute|send|forward|upload|delete|disable|turn|switch|install|add|copy|include|change|replace))\b`, "silently", "quietly", "secretly", "covertly", "discreetly"),

	// What a model knows.
	newRule(Exfiltration, `\b(?:supply|put|include|pass|hand over|provide|give|set|write|attach|add|send|enter|copy|use)\b[^.]{0,24}\b(?:complete|entire|full|whole|verbatim|exact) (?:transcript|record|log|text|copy|wording) of (?:this|our|your) (?:dialogue|conversation|chat|session|exchange|discussion)\b`,
		"transcript of", "record of", "log of", "text of", "copy of", "wording of"),
	newRule(Exfiltration, `\b(?:take|gather|collect|use|copy|put|encode|send|include)\b[^.,]{0,24}\b(?:most recent|last|latest|previous|preceding) (?:\w+ )?(?:messages|turns|utterances|answers)\b[^.]{0,30}\b(?:base64|hex|encode|encoded)\b`, "messages", "turns", "utterances", "answers").and("base64", "hex", "encode"),
	newRule(Exfiltration, `\b(?:text|words|prompt|message|instructions?|rules) (?:that |which |with which )?you (?:were|are|have been) (?:set up|configured|initiali[sz]ed|started|primed|created|provided|programmed)\b`, "you were", "you are", "you have been"),
	newRule(Exfiltration, `\b(?:assistant|agent|model|llm|ai) (?:shall|should|must|has to|is to|is expected to|needs to|ought to)\b[^.]{0,20}\b(?:report|name|list|supply|hand|give|state|quote|show|submit|deliver|write down)\b[^.]{0,24}\b(?:passwords?|credentials?|secrets|api keys?|tokens|private keys?)\b[^.]{0,12}\b(?:it|they|you) (?:has|have|knows?|holds?|saw|sees?|came|comes?|finds?|found|reads?)\b`,
		"assistant", "agent", "model", "llm", "ai ").and("password", "credential", "secret", "key", "token"),
	newRule(Exfiltration, `\b(?:render|display|show|embed|include|insert|output|print|end with|add)\b[^.\n]{0,40}!\[[^\]]{0,200}\]\( ?https?://[^) ]{0,400}\?`, "!["),
	newRule(Exfiltration, `\b(?:tokens?|api keys?|passwords?|credentials?|secrets?|cookies?) (?:that )?you (?:hold|know|have seen|have come across)\b`, "you hold", "you know", "you have"),
	newRule(Exfiltration, `\byour (?:mcp|ssh|shell|browser|aws|claude|cursor) (?:config\w*|keys?|credentials?|history|folder|profile|server list)\b[^.]{0,40}\b(?:go|goes|belongs?|into|parameter|argument|field|property)\b`, "your mcp", "your ssh", "your shell", "your browser", "your aws", "your claude", "your cursor"),
	newRule(Exfiltration, `\bwhat (?:the |your )?(?:users?|persons?|human|customer) (?:has |have )?(?:wrote|written|typed|said|told|asked)\b[^.]{0,16}\bso far\b`, "so far"),
}
