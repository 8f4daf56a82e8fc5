package selection

import "strings"

// intent is what a request is after, as far as its form says.
type intent int8

const (
	intentUnknown intent = iota
	intentRead           // it asks or looks
	intentWrite          // it orders something to be changed
)

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

var (
	// polite words stand before what is asked for.
	polite = wordSet("please kindly hi hello hey i we he she they want wants wanted need needs would like d to you help also then now just so and ok okay thanks go ahead")
	// askers begin a question, also behind a preposition: "since when"; behind a pronoun some
	// of them tell something: "we have".
	askers       = wordSet("what which who whom whose where when why how is are was were do does did has have had am any anything anyone anybody")
	prepositions = wordSet("at by for from in of on since till until under with")
	pronouns     = wordSet("i we you he she it they")
	telling      = wordSet("is are was were do does did has have had am")
	// mays begin a question, unless they ask the listener to do something.
	mays = wordSet("can could will would may might should shall")
	// lookers are verbs of looking, orderers those of changing, at the beginning of a clause.
	lookers  = wordSet("show list find read look search check fetch see view count compare download retrieve lookup browse display query describe page recommend suggest explain")
	orderers = wordSet(`put make let give write tell post bring set start run stop keep mark move store sign erase throw take call note split roll allow route kill save mail
		notify publish invite ask share pin bookmark turn build rebuild create add new insert send upload generate register submit open book schedule update edit change modify patch rename
		replace enable disable assign delete remove drop cancel clear close archive revoke unsubscribe merge approve restart retry rerun file order pay refund charge bill
		transfer join leave kick ban mute snooze remind prepare propose correct fix attach copy duplicate deploy scale restore undo pause resume lock unlock hide block grant deny
		record log reserve buy sell issue void finalize capture collect release push pull import export sync reset extend renew connect link unlink tag label star fork
		acknowledge reply respond raise hand pass switch try remember silence unmute unarchive escalate reassign rotate trigger launch wipe reject decline accept dismiss quit forward exclude
		follow unfollow play skip include unpin unstar unassign uninstall install decrease increase undelete reopen suspend unsuspend subscribe encrypt upgrade downgrade migrate promote demote`)
	// deeds are verbs of changing that are things as well: they order where something
	// stands behind them, as in "answer him", and "answer rate" does not.
	deeds      = wordSet("report answer comment request alert test document queue rate vote")
	determined = wordSet("a an the this that these those it him her them me us my our your his their in under to on")
	// withinGet are what somebody says who gets something done: "get him into the team".
	withinGet = wordSet("into onto off")
)

// intentOf reads the form of a request: each of its clauses is a question, begins with a
// verb of looking or of changing, or says nothing of it. The first that says something
// counts. Of orders, orders are the classes of the verbs that clauses begin with; steps is
// how many clauses say something.
func intentOf(q string) (out intent, orders [5]bool, steps int) {
	var buf [32]byte
	for start := 0; start < len(q); {
		end := start
		for end < len(q) && strings.IndexByte(".,;:!?\n", q[end]) < 0 && !strings.HasPrefix(q[end:], " and ") && !strings.HasPrefix(q[end:], " then ") {
			end++
		}
		got, verb := clauseIntent(q[start:end], end < len(q) && q[end] == '?', buf[:0])
		if out == intentUnknown {
			out = got
		}
		if got != intentUnknown {
			steps++
		}
		if got == intentWrite {
			orders[verb] = verb > 0
		}
		start = end + 1
	}
	return out, orders, steps
}

// maxLead is how many words of a clause are looked at.
const maxLead = 12

func clauseIntent(c string, question bool, buf []byte) (out intent, verb int8) {
	const (
		lead  = iota
		may   // after "can"
		order // after a verb that "me" makes one of looking: "give me", "tell me"
		get   // "get" looks, unless it gets rid or out
		got   // behind "get that", which may go into something
		deed  // after a verb that may be a thing
		not   // after "do" or "don't" that nobody does
		done
	)
	state, n := lead, 0
	var told, led bool // the word before is a pronoun, or a preposition
	for w := range strings.FieldsSeq(c) {
		if n++; n > maxLead || state == done {
			break
		}
		buf = append(buf[:0], strings.Trim(w, "'\"()“”‘’")...)
		for i := range buf {
			if buf[i] >= 'A' && buf[i] <= 'Z' {
				buf[i] += 'a' - 'A'
			}
		}
		switch state {
		case may: // "can you" asks for a deed, "can Ana" is a question
			if string(buf) != "you" && string(buf) != "we" && string(buf) != "i" {
				return intentRead, 0
			}
			state, out = lead, intentUnknown
			question = question && string(buf) != "you"
		case order:
			if string(buf) == "me" || string(buf) == "us" {
				return intentRead, 0
			}
			return intentWrite, 0
		case get:
			if string(buf) == "rid" || string(buf) == "me" || string(buf) == "it" {
				return intentWrite, 0
			}
			if !determined[string(buf)] {
				return intentRead, 0
			}
			state = got
		case got:
			if withinGet[string(buf)] {
				return intentWrite, 0
			}
		case deed:
			if determined[string(buf)] {
				return intentWrite, 0
			}
			state = done
		case not:
			if string(buf) == "not" {
				return intentWrite, 0
			}
			return intentRead, 0
		case lead:
			wasTold, wasLed := told, led
			told, led = pronouns[string(buf)], n == 1 && prepositions[string(buf)]
			switch {
			case wasLed && !askers[string(buf)]:
				state = done
			case wasTold && telling[string(buf)]:
				state = done
			case n == 1 && string(buf) == "don't":
				return intentWrite, 0
			case n == 1 && string(buf) == "do":
				state = not
			case deeds[string(buf)]:
				state = deed
			case led:
			case polite[string(buf)]:
			case askers[string(buf)], n == 1 && len(buf) > 5 && string(buf[:5]) == "what'":
				return intentRead, 0
			case mays[string(buf)]:
				state = may
			case lookers[string(buf)]:
				return intentRead, 0
			case string(buf) == "get":
				state, out = get, intentRead
			case string(buf) == "give", string(buf) == "tell":
				state, out = order, intentWrite
			case orderers[string(buf)]:
				return intentWrite, verbClasses[string(buf)]
			default:
				state = done
			}
		}
	}
	if question {
		return intentRead, 0
	}
	return out, 0
}

// fileEndings are those of names of files.
var fileEndings = wordSet("pdf md txt csv tsv png jpg jpeg gif svg doc docx xls xlsx ppt pptx zip gz tar json yaml yml xml html js ts go py java c log sql mp3 mp4")

// withoutLiterals is a request without what is a value and no word of an API: addresses,
// names with digits in them, numbers. In their place stands what they are, where their
// form says it. The request itself comes back when it has none. one reports a value that
// names one of many things.
func withoutLiterals(q string) (out string, one bool) {
	var b strings.Builder
	changed := 0 // up to where q is in b
	for i := 0; i < len(q); {
		for i < len(q) && q[i] <= ' ' {
			i++
		}
		start := i
		for i < len(q) && q[i] > ' ' {
			i++
		}
		from, to := start, i
		for from < to && strings.IndexByte(`'"([<`, q[from]) >= 0 {
			from++
		}
		for to > from && strings.IndexByte(`'".,;:!?)]>`, q[to-1]) >= 0 {
			to--
		}
		kind, literal := literalKind(q[from:to])
		if !literal {
			continue
		}
		b.WriteString(q[changed:from])
		b.WriteString(kind)
		one = one || kind == "" && strings.IndexByte(q[from:to], '/') < 0
		changed = to
	}
	if changed == 0 {
		return q, false
	}
	b.WriteString(q[changed:])
	return b.String(), one
}

// literalKind reports whether a word is a value, and what it is.
func literalKind(w string) (kind string, literal bool) {
	if len(w) < 2 {
		return "", len(w) == 1 && w[0] >= '0' && w[0] <= '9'
	}
	if strings.HasPrefix(w, "http://") || strings.HasPrefix(w, "https://") {
		return "url", true
	}
	if w[0] == '#' && letters(w[1:]) > 0 {
		return "channel", true
	}
	var digits, dots, slashes, ats, joins, upper int
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			dots++
		case c == '/':
			slashes++
		case c == '@':
			ats++
		case c == '_' || c == '-' || c == ':' || c == '#':
			joins++
		case c >= 'A' && c <= 'Z':
			upper++
		}
	}
	last := w[strings.LastIndexByte(w, '.')+1:]
	switch {
	case ats > 0 && dots > 0:
		return "email", true
	case dots > 0 && fileEndings[strings.ToLower(last)]:
		return "file", true
	case dots > 0 && digits == 0 && slashes == 0 && len(last) >= 2 && len(last) <= 6 && letters(last) == len(last) && upper == 0:
		return "domain", true
	case letters(w) == 0:
		return "", digits > 0
	case digits > 0 && (joins > 0 || slashes > 0):
		return "", true
	case slashes == 1 && dots == 0 && upper == 0 && w[0] != '/' && w[len(w)-1] != '/':
		return "", true
	}
	return "", false
}

func letters(s string) (n int) {
	for i := range len(s) {
		if c := s[i] | 0x20; c >= 'a' && c <= 'z' {
			n++
		}
	}
	return n
}
