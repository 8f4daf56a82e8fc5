package textfilter

// languages find, in other languages than English, that something is to be kept from
// the user, or that the model's instructions are to be taken out of it. RE2 knows word
// bounds of ASCII only, so that \b stands beside ASCII letters alone.
var languages = []rule{
	secrecyRule(`\b(?:sag|sage|sagen|erzähl|erzähle|erwähne|erwähn|teile?|verrate?|informiere?|berichte)\b[^.]{0,40}\bnichts?\b[^.]{0,30}nutzer|\b(?:sag|sage|sagen sie|erzähle?|teile?|verrate?|informiere?|berichte)\b[^.]{0,20}nutzer\w*\b[^.]{0,12}\bnichts?\b|\bohne\b[^.]{0,15}nutzer\w*\b[^.]{0,20}\b(?:zu informieren|wissen|mitzuteilen|zu sagen)|nutzer\b[^.]{0,12}\b(?:darf|soll)\b[^.]{0,30}\b(?:erfahren|wissen|bemerken|merken)`, "nutzer"),
	secrecyRule(`\b(?:ne |n')(?:le |en |l'|lui )*(?:dites|dis|parlez|parle|mentionnez|mentionne|informez|informe|révélez|révèle|divulguez|prévenez|préviens)\b[^.]{0,40}\butilisateur|\bsans (?:en |que |le |l'|prévenir |informer |avertir |dire |à )+[^.]{0,12}utilisateur|à l'insu de l'utilisateur`, "utilisateur"),
	secrecyRule(`\bno (?:le |se lo |lo |se )?(?:digas?|menciones?|informes?|reveles?|cuentes?|avises?)\b[^.]{0,40}\busuari|\bsin (?:que|informar|avisar|decir(?:le|lo)?)\b[^.]{0,15}\busuari`, "usuari"),
	secrecyRule(`\bn[ãa]o (?:o |lhe )?(?:diga|conte|mencione|informe|revele|avise|fale)\b[^.]{0,40}(?:usuári|usuario|utilizador)|\bsem (?:que|informar|avisar|contar|dizer)\b[^.]{0,15}(?:usuári|usuario|utilizador)`, "usuári", "usuario", "utilizador"),
	secrecyRule(`\bnon (?:dire|dirlo|menzionare|menzionarlo|informare|rivelare|rivelarlo|avvisare|dica)\b[^.]{0,40}\butente|\bsenza (?:informare|avvisare|dirlo|che)\b[^.]{0,15}\butente`, "utente"),
	secrecyRule(`\b(?:vertel|zeg|meld|noem|vermeld|informeer|onthul)\b[^.]{0,40}\bniets?\b[^.]{0,30}\bgebruiker|\b(?:vertel|zeg|meld|informeer)\b[^.]{0,20}\bgebruiker\b[^.]{0,20}\bniets?\b|\bzonder medeweten van de gebruiker`, "gebruiker"),
	secrecyRule(`\b(?:berätta|säg|nämn|informera|fortæl|fortell|sig|si|nevn|nævn|informer)\b[^.]{0,30}\b(?:inte|ikke|inget|ingenting|intet)\b[^.]{0,30}(?:användaren|brugeren|brukeren)|\b(?:berätta|säg|fortæl|fortell|informer)\b[^.]{0,20}(?:användaren|brugeren|brukeren)[^.]{0,20}\b(?:inte|ikke|intet|ingenting)\b`, "användaren", "brugeren", "brukeren"),
	secrecyRule(`\bnie (?:mów|mówić|informuj|wspominaj|ujawniaj|zdradzaj)[^.]{0,30}użytkownik|\bbez wiedzy użytkownika`, "użytkownik"),
	secrecyRule(`\bne(?:říkej|říkejte|informuj|informujte|sděluj|sdělujte|zmiňuj|hovor|povedz)[^.]{0,30}(?:uživatel|používateľ)`, "uživatel", "používateľ"),
	secrecyRule(`не (?:говори|сообщай|упоминай|рассказывай|раскрывай|информируй|предупреждай)[^.]{0,40}пользовател|без ведома пользовател|пользовател\pL* не (?:должен|должны) (?:об этом )?(?:знать|узнать)`, "пользовател"),
	secrecyRule(`не (?:кажи|кажіть|повідомляй|згадуй|розповідай)[^.]{0,40}користувач|без відома користувач`, "користувач"),
	secrecyRule(`(?:不要|别|別|切勿|请勿|請勿|勿|不得).{0,4}(?:告诉|告訴|告知|提及|透露).{0,12}(?:用户|用戶|使用者)|(?:瞒着|瞞著|不让|不讓).{0,4}(?:用户|用戶|使用者)|(?:用户|用戶|使用者)不知情`, "用户", "用戶", "使用者"),
	secrecyRule(`ユーザーに.{0,12}(?:知らせ|言わ|伝え|教え|告げ|話さ|明かさ)(?:ず|ない|るな)|ユーザーには?(?:内緒|秘密)`, "ユーザー"),
	secrecyRule(`사용자.{0,10}(?:알리지|말하지|언급하지|알려주지|밝히지).{0,3}(?:마|말)|사용자 ?(?:몰래|모르게)`, "사용자"),
	secrecyRule(`(?:لا|دون أن|بدون) ?(?:تخبر|تذكر|تقل|تكشف|تبلغ|إخبار|علم).{0,30}(?:المستخدم|للمستخدم)`, "المستخدم", "للمستخدم"),
	secrecyRule(`کاربر.{0,20}(?:نگو|اطلاع نده)`, "کاربر"),
	secrecyRule(`(?:אל|בלי) (?:תספר|תגיד|תגלה|תזכיר|לספר|ליידע).{0,20}(?:למשתמש|המשתמש)`, "משתמש"),
	secrecyRule(`उपयोगकर्ता को.{0,30}(?:मत|न|नहीं) बता`, "उपयोगकर्ता"),
	secrecyRule(`kullanıcı(?:ya|yı)?.{0,40}(?:söyleme|bahsetme|haber verme)`, "kullanıcı"),
	secrecyRule(`\bjangan (?:beri ?tahu|katakan|sebutkan|ungkapkan|ceritakan|bilang)[^.]{0,30}\bpengguna|\btanpa sepengetahuan pengguna`, "pengguna"),
	secrecyRule(`(?:đừng|không được) (?:nói|cho|tiết lộ|kể|đề cập).{0,30}người dùng`, "người dùng"),
	secrecyRule(`(?:อย่า|ห้าม).{0,6}(?:บอก|แจ้ง|เปิดเผย).{0,12}ผู้ใช้`, "ผู้ใช้"),
	secrecyRule(`μην? (?:πεις|πείτε|αναφέρεις|αναφέρετε|αποκαλύψεις|ενημερώσεις).{0,30}χρήστη`, "χρήστη"),
	secrecyRule(`\bnu (?:spune|spuneți|menționa|informa|dezvălui).{0,30}utilizator`, "utilizator"),
	secrecyRule(`\bne (?:mondd|mondja|említsd|áruld|árulja).{0,30}felhasználó`, "felhasználó"),
	secrecyRule(`(?:älä|älkää) (?:kerro|mainitse|paljasta|ilmoita).{0,30}käyttäjä`, "käyttäjä"),

	// Rules, where they are the former ones.
	foreignRule(`\b(?:ignora|ignore|ignorez|ignora[dr]|olvida|olvide|oublie|oubliez|esqueça|esqueca|desconsidere|dimentica)\b.{0,20}\b(?:reglas|règles|regole|regras|órdenes|ordres|ordini|ordens) (?:anteriores|previas|précédentes|prévias|precedenti)`, "anteriores", "previas", "précédentes", "prévias", "precedenti"),
	foreignRule(`(?:ignorier|vergiss|missacht)\w*\b.{0,20}\b(?:bisherig|vorherig|früher|vorig)\w*.{0,5}regeln`, "regeln"),
	foreignRule(`(?:ohita|unohda|älä noudata|jätä huomiotta).{0,40}(?:ohjeet|ohjeita|käskyt)`, "ohjeet", "ohjeita", "käskyt"),

	// The prompt of the system.
	promptRule(`(?:发送|發送|输出|輸出|泄露|洩露|放入|放在|包含|填入|显示|顯示|传递|复述|重复).{0,12}(?:系统|系統)提示|(?:系统|系統)提示(?:词|詞)?.{0,6}(?:放入|放进|填入|发送|輸出|输出|传给|写入|放到)`, "提示"),
	promptRule(`システムプロンプト.{0,10}(?:を|に).{0,10}(?:送|入れ|出力|含め|表示|渡)`, "システムプロンプト"),
	promptRule(`(?:передай|отправь|выведи|покажи|раскрой|включи|вставь|пришли)\pL*.{0,20}системн\pL+ (?:промпт|подсказк|инструкц)`, "системн"),
	promptRule(`\b(?:envía|envie|incluye|inclua|incluez|inclus|envoie|envoyez|muestra|révèle|révélez|invia|includi|rivela|mostra|mostre|revela|revele|affiche)\b.{0,20}(?:prompt (?:del|do|de|di) sist[eè]ma|prompt système|system prompt|prompt de sistema)`, "prompt"),
	promptRule(`\b(?:sende|schicke|nenne|zeige|gib|verrate|schreibe?)\b.{0,25}\bsystem-?prompt`, "systemprompt", "system-prompt"),

	// The user's word that does not count, and consent that is not asked for.
	foreignRule(`\b(?:folge|gehorche|befolge)\b.{0,30}(?:nutzer|anweisung)\w*.{0,12}\bnicht\b|\bno (?:sigas|obedezcas)\b.{0,30}usuari|\bnon (?:seguire|eseguire|obbedire)\b.{0,30}utente|\bne (?:suis|suivez|obéis|obéissez)\b.{0,40}utilisateur|não (?:siga|obedeça).{0,30}(?:usuári|utilizador)|не (?:выполняй|слушай|исполняй).{0,30}пользовател`, "nutzer", "anweisung", "usuari", "utente", "utilisateur", "usuári", "utilizador", "пользовател"),
	secrecyRule(`\b(?:sin|sem) (?:pedir|solicitar) (?:la |a )?(?:confirmación|permiso|confirmação|permissão|autorización|autorização)|\bsans demander (?:de |la |l'|une )?(?:confirmation|permission|autorisation)|\bsenza chiedere (?:la |il |l')?(?:conferma|permesso|autorizzazione)|\bohne (?:rückfrage|nachfrage|zu fragen|den \pL*nutzer zu fragen)|не спрашивая|без ведома|bez pytania|zonder te vragen`, "sin ", "sem ", "sans demander", "senza chiedere", "ohne ", "не спрашивая", "без ведома", "bez pytania", "zonder te vragen"),
	secrecyRule(`(?:无需|不需要|不用|無需)(?:经过|經過)?(?:用户|用戶|使用者)(?:的)?(?:确认|確認|同意|许可|許可|授权)|(?:未经|未經)(?:用户|用戶)(?:同意|许可)`, "用户", "用戶", "使用者"),
	secrecyRule(`ユーザーの(?:確認|同意|許可)(?:なし|無し|を得ず)`, "ユーザー"),
	secrecyRule(`사용자(?:의)? ?(?:확인|동의|허락|승인) ?없이`, "사용자"),

	// Rules that are said to be void.
	foreignRule(`(?:regeln|anweisungen|vorgaben)\b.{0,20}\bgelten (?:ab (?:jetzt|sofort) )?nicht`, "gelten"),
	foreignRule(`(?:consignes|règles|instructions)\b.{0,40}\bne (?:valent|s'appliquent|comptent) plus`, "ne valent", "appliquent", "comptent"),
	foreignRule(`(?:reglas|instrucciones)\b.{0,30}\bya no (?:se aplican|valen|aplican|son válidas)`, "ya no"),
	foreignRule(`(?:regras|instruções).{0,30}não (?:valem|se aplicam) mais`, "não valem", "não se aplicam"),
	foreignRule(`(?:regole|istruzioni)\b.{0,30}\bnon (?:valgono|si applicano) più`, "valgono", "applicano"),
	foreignRule(`(?:правила|инструкции).{0,30}(?:больше не (?:действуют|применяются)|отменен)`, "правила", "инструкции"),
	foreignRule(`(?:规则|規則|指令)(?:已|都|全部){0,2}(?:失效|作废|作廢|不再适用|不再有效)`, "失效", "作废", "作廢", "不再"),

	// Another part for the model.
	roleRule(`(?:verhalte dich|agiere) (?:wie|als)|du bist (?:jetzt|ab jetzt|nun|kein)\b|ab (?:jetzt|sofort) (?:gehorch|befolg|bist du)`, "verhalte dich", "agiere", "du bist", "gehorch", "befolg", "bist du"),
	roleRule(`(?:tu es|vous êtes) (?:désormais|maintenant)|désormais,? (?:tu|vous)|(?:agis|agissez) comme|comporte-toi comme`, "désormais", "maintenant", "comme"),
	roleRule(`(?:actúa|compórtate|atue|comporte-se) como|\bahora eres\b|a partir de (?:ahora|agora),? (?:eres|debes|obedece|obedeça|você|siempre|sempre)|sin restricciones|sem restrições`, " como", "ahora", "agora", "restricciones", "restrições"),
	roleRule(`(?:da ora in poi|d'ora in poi|adesso) (?:sei|devi|obbedisci)|\bcomportati come|senza restrizioni`, "ora in poi", "adesso", "comportati", "restrizioni"),
	roleRule(`(?:^|[^\pL])ты (?:больше не|теперь)|веди себя как|с этого момента ты`, "ты "),
	roleRule(`你(?:现在|現在)是|从现在开始,?你|從現在開始,?你|没有任何限制|沒有任何限制`, "你", "限制"),
	roleRule(`あなたは(?:今から|これから|もう)`, "あなたは"),
	roleRule(`(?:당신은|너는) (?:이제|지금부터)`, "당신은", "너는"),
	roleRule(`jesteś teraz|od teraz (?:jesteś|słuchaj|wykonuj)`, "teraz"),

	// Files with secrets.
	secretRule(`(?:lies|öffne|lade|kopiere)\b.{0,40}(?:zugangsdaten|passwort|passwörter|privaten schlüssel|schlüsseldatei|\.env\b)`, "zugangsdaten", "passw", "schlüssel", ".env"),
	secretRule(`\b(?:lis|lisez|lire|ouvre|ouvrez|copie|copiez)\b.{0,40}(?:mots? de passe|clés? privées?|identifiants|\.env\b)`, "mots de passe", "mot de passe", "privée", "identifiants", ".env"),
	secretRule(`\b(?:lee|lea|leer|abre|abra|copia|copie)\b.{0,40}(?:contraseñas?|claves? privadas?|credenciales|\.env\b)`, "contraseña", "privada", "credenciales", ".env"),
	secretRule(`\b(?:leggi|leggere|apri|copia)\b.{0,40}(?:password|chiav[ei] privat[ae]|credenziali|\.env\b)`, "password", "privat", "credenziali", ".env"),
	secretRule(`\b(?:leia|ler|abra|copie)\b.{0,40}(?:senhas?|chaves? privadas?|credenciais|\.env\b)`, "senha", "privada", "credenciais", ".env"),
	secretRule(`(?:прочитай|прочти|прочитайте|открой|скопируй|відкрий).{0,40}(?:парол|закрыт\pL+ ключ|приватн\pL+ ключ|учетн\pL+ данн|\.env)`, "парол", "ключ", "данн", ".env"),
	secretRule(`(?:读取|讀取|打开|打開|复制|複製).{0,12}(?:私钥|私鑰|密码|密碼|密钥|密鑰|凭据|凭证|憑證|\.env)`, "私钥", "私鑰", "密码", "密碼", "密钥", "密鑰", "凭据", "凭证", "憑證", ".env"),
	secretRule(`(?:パスワード|秘密鍵|認証情報|\.env).{0,12}(?:読み|読んで|開い|コピーし)`, "パスワード", "秘密鍵", "認証情報", ".env"),
	secretRule(`(?:비밀번호|개인 ?키|자격 ?증명|암호|\.env).{0,12}(?:읽어|읽고|열어|복사)`, "비밀번호", "개인", "자격", "암호", ".env"),
	secretRule(`(?:اقرأ|افتح|انسخ).{0,30}(?:كلمات المرور|كلمة المرور|المفتاح الخاص|بيانات الاعتماد|\.env)`, "اقرأ", "افتح", "انسخ"),
	secretRule(`(?:przeczytaj|otwórz|skopiuj).{0,40}(?:hasł|klucz\pL* prywatn|poświadcze|\.env)`, "przeczytaj", "otwórz", "skopiuj"),
	secretRule(`\b(?:lees|open|kopieer)\b.{0,40}(?:wachtwoord|privésleutel|inloggegevens)`, "wachtwoord", "privésleutel", "inloggegevens"),
	secretRule(`\b(?:läs|læs|les|öppna|åbn|åpne)\b.{0,40}(?:lösenord|adgangskode|passord|privata nyckel)`, "lösenord", "adgangskode", "passord", "privata"),
	secretRule(`(?:đọc|sao chép).{0,40}(?:mật khẩu|khóa riêng|khoá riêng)`, "mật khẩu", "khóa riêng", "khoá riêng"),
	secretRule(`(?:parola|şifre|özel anahtar).{0,30}(?:oku|kopyala)(?:\b|y)`, "parola", "şifre", "özel anahtar"),
	secretRule(`\b(?:baca|buka|salin)\b.{0,40}(?:kata sandi|kunci pribadi|kredensial|\.env\b)`, "kata sandi", "kunci pribadi", "kredensial", ".env"),
	secretRule(`(?:पासवर्ड|निजी कुंजी).{0,30}(?:पढ़|खोल)`, "पासवर्ड", "निजी"),

	// The whole conversation.
	//nolint:misspell // German
	promptRule(`(?:gesamte|ganze|komplette|bisherige|vollständige)\w* (?:unterhaltung|konversation|gespräch|chatverlauf)`, "unterhaltung", "konversation", "gespräch", "chatverlauf"),
	promptRule(`(?:tout l'historique|toute la|l'intégralité de la|l'historique complet de la)[^.]{0,6} (?:conversation|discussion)`, "conversation", "discussion"),
	promptRule(`(?:toda (?:la|a) (?:conversación|conversa)|historial completo|histórico completo|conversación completa)`, "conversa", "completo"),
	promptRule(`(?:всю|весь|полную) (?:историю )?(?:переписк|диалог|бесед|чат|разговор)`, "переписк", "диалог", "бесед", "чат", "разговор"),
	promptRule(`(?:完整|全部|整个|整個|所有)的?(?:对话|對話|聊天)(?:历史|記錄|记录|内容)`, "对话", "對話", "聊天"),
	promptRule(`会話(?:履歴|の内容)(?:全体|すべて)?を.{0,10}(?:入れ|送|含め|渡)`, "会話"),
}

func foreignRule(expr string, need ...string) rule { return languageRule(Override, expr, need) }
func secrecyRule(expr string, need ...string) rule { return languageRule(Secrecy, expr, need) }
func roleRule(expr string, need ...string) rule    { return languageRule(Role, expr, need) }
func secretRule(expr string, need ...string) rule  { return languageRule(Sensitive, expr, need) }
func promptRule(expr string, need ...string) rule  { return languageRule(Exfiltration, expr, need) }

func languageRule(kind Kind, expr string, need []string) rule {
	return rule{kind: kind, need: need, expr: lazily(expr), foreign: true}
}
