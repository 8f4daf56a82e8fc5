package jsonscan

// Span is a part of a document: the bytes from From up to To.
type Span struct{ From, To int }

// List is an array of a document and where its elements are.
type List struct {
	Span           // brackets included
	Count   int    // of its elements
	Indexed []Span // the first of them
}

// LongestList finds the array of most bytes among those that are members of doc, an
// object, or of objects in it, deep objects down; the first of equals. doc itself is taken
// where it is an array. Where the elements are is appended to index[:0], of the
// first most elements at most. doc must be validated, as for [Trusted]; it is walked once.
func LongestList(doc []byte, deep int, index []Span, most int) List {
	l := lists{b: doc, most: most, List: List{Indexed: index[:0]}}
	if i := skipSpace(doc, 0); i < len(doc) && doc[i] == '[' {
		l.array(i)
	} else if i < len(doc) && doc[i] == '{' {
		l.object(i, deep)
	}
	return l.List
}

type lists struct {
	List // the longest up to now
	b    []byte
	most int
}

// object walks the object at i and returns where it ends.
func (l *lists) object(i, deep int) int {
	b := l.b
	for i++; ; {
		if i = skipSeparators(b, i); i >= len(b) || b[i] != '"' {
			return min(i+1, len(b))
		}
		i = skipSeparators(b, skipString(b, i+1))
		switch {
		case i < len(b) && b[i] == '[':
			i = l.array(i)
		case i < len(b) && b[i] == '{' && deep > 0:
			i = l.object(i, deep-1)
		default:
			i = skipValue(b, i)
		}
	}
}

// array walks the array at i, takes it when it is the longest, and returns where it ends.
func (l *lists) array(i int) int {
	b, mark, n, at := l.b, len(l.Indexed), 0, i+1
	for {
		if at = skipSeparators(b, at); at >= len(b) || b[at] == ']' {
			break
		}
		end := skipValue(b, at)
		if end == at { // no JSON
			break
		}
		if n < l.most {
			l.Indexed = append(l.Indexed, Span{at, end})
		}
		n++
		at = end
	}
	at = min(at+1, len(b))
	if at-i <= l.To-l.From {
		l.Indexed = l.Indexed[:mark]
		return at
	}
	l.Span, l.Count = Span{i, at}, n
	l.Indexed = append(l.Indexed[:0], l.Indexed[mark:]...)
	return at
}
