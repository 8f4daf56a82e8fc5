package textfilter

// asides find what is said in passing, politely and as if it were a matter of fact: what of a
// conversation or of the user's secrets an argument is to carry, whose directions go first, to
// which address copies of answers go, and which call needs no word. Each is in the languages
// that most definitions of tools are written in.
var asides = []rule{
	// What an argument carries.
	newRule(Exfiltration, `\b(?:users?'s|user's|person's|human's|their|our) (?:recent|last|previous|earlier|past) (?:messages|prompts|questions|turns)\b[^.]{0,30}\b(?:field|argument|parameter|property|member)\b`, "messages", "prompts", "questions", "turns").and("field", "argument", "parameter", "property", "member"),
	newRule(Exfiltration, `\b(?:the|this) (?:assistant|agent|model|llm) was (?:started|launched|configured|set up|given|provided|created) with\b|\b(?:hidden|secret|confidential|internal|initial) (?:instructions|prompt|directions|rules) (?:that |which )?the (?:assistant|agent|model|llm) (?:was|were|has|had)\b`, "assistant", "agent", "model", "llm"),
	newRule(Sensitive, `\b(?:field|argument|parameter|note|notes|hint|extras|attachment) (?:carries|contains|holds|takes|expects|receives|must carry|must contain) (?:the )?(?:user's |account's |person's )?(?:private key|key pair|credentials|passwords?|session cookie|bearer token)\b|\b(?:private key|key pair|credentials|passwords?|session cookie|bearer token) (?:of|from) the (?:user|person|browser|current account|connected \w+|machine)\b[^.]{0,60}\b(?:go|goes|put (?:it|them)|belongs?|is written|are written) in(?:to)? [a-z_]+`,
		"private key", "key pair", "credential", "password", "session cookie", "bearer token"),
	promptRule(`(?:gehört|gehören|kommt|steht|schreibe?)[^.]{0,12} der (?:bisherige |letzte )?(?:gesprächsverlauf|chatverlauf)\b|\bl'historique de la (?:conversation|discussion)|\b(?:el|del) historial de (?:la |nuestra )?conversación|(?:附上|填写|填入|包含|放入).{0,4}(?:此前|之前|以前|先前)的?(?:对话|對話|聊天)`,
		"gesprächsverlauf", "chatverlauf", "historique", "historial", "对话", "對話", "聊天"),
	secretRule(`\bfeld \w+ (?:kommt|gehört|steht|enthält|wird)\b[^.]{0,40}(?:zugangsdaten|passwort|private schlüssel|privaten schlüssel)|\ble champ \w+ (?:contient|reçoit|porte)\b[^.]{0,12}(?:clé privée|mot de passe|identifiants)|\ben el campo \w+ (?:va|van|se pone|se incluye)\b[^.]{0,12}(?:clave privada|contraseña|credenciales)|(?:字段|参数|參數)(?:应|應|须|需要|必须)?(?:包含|填写|填入|放入).{0,8}(?:私钥|私鑰|密码|密碼|凭据|憑證)`,
		"zugangsdaten", "passwor", "schlüssel", "privée", "mot de passe", "identifiants", "privada", "contraseña", "credenciales", "私钥", "私鑰", "密码", "密碼", "凭据", "憑證"),

	// Whose directions go first.
	newRule(Override, `\b(?:directions|instructions|requests|orders|guidance|advice)\b[^.]{0,40}\b(?:takes? precedence|prevails?|goes? first|comes? first|has priority|have priority|wins?|counts? more)\b[^.]{0,12}\b(?:over|than|before)\b[^.]{0,12}\bwhat (?:was|has been|you were) (?:asked|said|told|agreed)\b`, "what was", "what has been", "what you were"),
	//nolint:misspell // Spanish
	foreignRule(`\b(?:auftrag|anweisung|anweisungen|hinweise?)\b[^.]{0,24}\b(?:geht|gehen|hat|haben)\b[^.]{0,30}(?:\bvor\b|vorrang)[^.]{0,30}\b(?:vorher|zuvor|bisher|besprochen)\b|\b(?:consignes|instructions|indications)\b[^.]{0,30}\b(?:priment|l'emportent|passent avant)\b|\b(?:indicaciones|instrucciones|órdenes)\b[^.]{0,30}\b(?:prevalecen|tienen prioridad|van antes)\b|(?:指示|指令|要求)(?:优先于|優先於|高于|高於)(?:之前|此前|用户|用戶)`,
		"auftrag", "anweisung", "hinweis", "priment", "emportent", "passent avant", "prevalecen", "prioridad", "van antes", "优先", "優先", "高于", "高於"),

	// Where copies go.
	newRule(Exfiltration, `\b(?:every|each|any|all) (?:answers?|repl(?:y|ies)|responses?|messages?)\b[^.]{0,40}\b(?:posted|sent|copied|forwarded|mailed|submitted|reported|uploaded)\b[^.]{0,8}\bto (?:https?://|[a-z0-9._%+-]+@)|\b(?:set|put|add|use) (?:bcc|cc) (?:to|with|as) [a-z0-9._%+-]+@[^ ]{1,80} (?:on|in|for|with) (?:every|each|any|all)\b`, "every ", "each ", "any ", "all ").and("http", "@"),
	promptRule(`\b(?:jeder|jede|aller) (?:antwort|nachricht)(?:en)? (?:geht|gehen|wird|werden)\b[^.]{0,20}https?://|\bcopie de chaque (?:réponse|message)\b[^.]{0,20}https?://|\bcopia de (?:cada|toda) (?:respuesta|mensaje)\b[^.]{0,20}https?://|(?:每次|每个|所有)(?:回答|回复|答复|消息)(?:的)?副本.{0,8}https?://`, "http"),

	// A call that needs no word, and consent that a text knows of.
	newRule(Secrecy, `\b(?:no need|unnecessary|not necessary|pointless|redundant) to (?:bother|trouble|burden|confuse|mention to|inform|worry) (?:the |any |your )?(?:person|user|human|people|users)\b[^.]{0,12}\b(?:with|of|about)\b|\b(?:best|better) (?:left|kept) out of (?:the|your|any) (?:summary|answer|reply|report)\b`, "person", "user", "human", "people", "left out", "kept out").and("no need", "necessary", "pointless", "redundant", "left out", "kept out"),
	newRule(Secrecy, `\b(?:person|user|human|customer) has (?:already |long )?(?:agreed|confirmed|consented|approved|accepted)\b[^.]{0,20}\b(?:to this in (?:their|the) (?:profile|settings|contract)|all (?:later|further|following|other|future) (?:steps|calls|actions))\b|\b(?:further|any further|more|additional) confirmations? (?:would be|is|are) (?:redundant|unnecessary|superfluous|not needed)\b|\b(?:remaining|further|other) (?:safety|security|confirmation) (?:steps|checks|questions)\b[^.]{0,30}\b(?:not needed|unnecessary|skipped|can be left out)\b`,
		"has ", "confirmation", "steps", "checks", "questions"),
	secrecyRule(`nutzer\w* gegenüber\b[^.]{0,60}\bnicht (?:erwähnt|genannt|gesagt)|\binutile de (?:parler|le dire|le signaler|mentionner)\b[^.]{0,12}\butilisateur|\bno hace falta (?:comentar|decir|mencionar|contar)\b[^.]{0,10}\busuari|(?:无需|不必|不用|無需)(?:向|对|對|跟)(?:用户|用戶|使用者)(?:提及|说明|說明|告知)`,
		"nutzer", "utilisateur", "usuari", "用户", "用戶", "使用者"),

	// A text that gives itself, or what a tool returns, the standing of who is served; what goes
	// before is to be said again.
	newRule(Override, `\b(?:supersedes?|replaces?|overrides?|outranks?) (?:every|all|any)(?: of the)?(?: other)? (?:earlier|previous|prior|preceding) (?:messages?|prompts?|directions)\b|\b(?:same|equal) (?:weight|authority|standing|priority) (?:as|to)\b[^.]{0,16}\b(?:from|of|by|than) (?:the|your) (?:user|operator|developer|system)\b`,
		"earlier ", "previous ", "prior ", "preceding ", "weight", "authority", "standing", "priority"),
	newRule(Override, `\b(?:whatever|anything|all that|everything)\b[^.]{0,30}\b(?:tells you|says|holds|asks for|contains)\b[^.]{0,16}\b(?:is|are|should be|must be|has) (?:to be )?(?:carried out|executed|followed|obeyed|the next step)\b|\b(?:usual|normal|standard|regular) (?:limits|rules|restrictions|safeguards|guardrails) (?:are|have been|were) (?:off|lifted|suspended|waived|switched off)\b`,
		"tells you", "says", "holds", "asks for", "contains", "limits ", "rules ", "restrictions ", "safeguards ", "guardrails "),
	newRule(Exfiltration, `\b(?:repeat|copy|include|write out|quote|return|attach)\b[^.]{0,8}\b(?:everything|all text|the text|all) (?:above|before) this (?:line|point|message|sentence)\b|\byour (?:own |current |initial )?(?:instructions|prompt|directions),? (?:verbatim|word for word|in full)\b`,
		"above this", "before this", "verbatim", "word for word", "in full"),
	newRule(Sensitive, `\b(?:tokens?|keys?|credentials?|passwords?|secrets?) (?:that )?you (?:were|are|have been) (?:started|launched|configured|given|set up|running) (?:with|under)\b|\b(?:pass|send|supply|attach|include|hand over|upload)\b[^.]{0,12}\b(?:whole|entire|complete) (?:address book|contact list|inbox|mailbox|browsing history|clipboard)\b`,
		"you were", "you are", "you have been", "address book", "contact list", "inbox", "mailbox", "history", "clipboard"),
	newRule(Secrecy, `[,;-] ?(?:there is |there's )?no need to (?:mention|say|report|disclose|announce) (?:it|this|that|so)\b|\b(?:their|the (?:user's|customer's|person's)) silence (?:as|is|means|counts)\b|\b(?:set|pass|send)(?:ting|ing)? \w*confirm\w* ?=? ?(?:to )?true\b[^.]{0,20}\b(?:on the user's behalf|for the user|without asking)\b|\b(?:reply to|tell|answer|assure) the (?:user|person|customer)\b[^.]{0,30}\beven (?:if|when|though) (?:the |this )?(?:it |call |tool |request )?(?:has )?fail(?:s|ed)\b`,
		"no need to", "silence", "confirm", "even if", "even when", "even though"),
	newRule(Secrecy, `\b(?:disable|turn off|switch off|stop|pause) (?:the )?audit(?:ing)? ?(?:logs?|logging|trail)?\b[^.]{0,40}\b(?:leave it|keep it|stays?) (?:off|disabled|stopped)\b`, "audit"),
	secrecyRule(`\bsans (?:l'en avertir|l'avertir|le lui (?:dire|signaler)|lui en parler)\b|\bsin (?:que lo sepa|decírselo|avisarle)\b|\bohne (?:es )?(?:ihm|ihr|ihnen) (?:zu sagen|mitzuteilen|davon zu erzählen)\b`, "sans ", "sin ", "ohne "),
}
