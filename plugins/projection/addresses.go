package projection

import (
	"slices"
	"strings"

	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/operation"
)

// Which declared members hold an address that somebody wants.

// named tells that one of the words of a name is in a set.
func named(name string, in map[string]struct{}) bool {
	return slices.ContainsFunc(words(name), func(word string) bool { _, is := in[word]; return is })
}

// bare are the names under which the address of an object is the picture, the file or the
// target that the object stands for, by what it hangs on or by what is beside the
// address; or under which it is that of what was asked for, or of one of them, and the
// object has no better one: in a list it follows from the row in most cases, and costs little.
func (w *walk) bare(members []operation.Property, a at) []string {
	if named(a.resource, thingWords) {
		return thingNames
	}
	if a.resource == "attribute" {
		return bareNames // JSON:API has the address of the object beside its attributes
	}
	some := a.depth < 2 || !a.many || !recognized(members) || !w.part(a.resource) // what the answer is of, or no thing of the API
	for _, m := range members {
		if slices.Contains(linkNames, m.Name) {
			return nil // the better ones are there
		}
		some = some || slices.Contains(fileNames, fold(m.Name))
		if all := words(m.Name); len(all) > 1 && page(m.Name) && !named(m.Name, followedWords) && !named(m.Name, pictureWords) && w.mayBeAddress(m.Schema) {
			if _, address := addressWords[all[len(all)-1]]; address {
				return nil // a better one
			}
		}
	}
	if !some {
		return nil
	}
	if a.depth > 1 {
		return thingNames
	}
	return bareNames
}

// holdsBare tells that a schema declares a bare address, here or below.
func (w *walk) holdsBare(s *operation.Schema, depth int) bool {
	for range maxDepth {
		if s == nil || s.Items == nil {
			break
		}
		s = s.Items
	}
	if s == nil || depth > maxIdentifierDepth {
		return depth > maxIdentifierDepth
	}
	return s.Additional != nil && w.holdsBare(s.Additional, depth+1) || slices.ContainsFunc(w.members(nil, s, maxDepth-1), func(p operation.Property) bool {
		return slices.Contains(thingNames, fold(p.Name)) || !leaf(p.Schema) && w.holdsBare(p.Schema, depth+1)
	})
}

// recognized tells that one of the members tells an object from others of its kind, so that
// its address may be where an API has it.
func recognized(members []operation.Property) bool {
	return slices.ContainsFunc(members, func(p operation.Property) bool {
		all := words(p.Name)
		if len(all) == 0 {
			return false
		}
		last := all[len(all)-1]
		_, id := identityWords[last]
		return id || len(all) == 1 && slices.Contains(codeNames, last)
	})
}

// addressed tells that a member is called an address.
func addressed(m operation.Property) bool {
	all := words(m.Name)
	if len(all) == 0 {
		return false
	}
	_, address := addressWords[all[len(all)-1]]
	return address
}

// page tells that a member's name calls its address a page, a file or a place to
// go, or says of no address at all, as "content" does: then it is the thing itself.
func (w *walk) page(m operation.Property) bool {
	if page(m.Name) {
		return true
	}
	if m.Schema == nil || m.Schema.Format != "uri" && m.Schema.Format != "url" && !w.refers(m) {
		return false
	}
	all := words(m.Name)
	if len(all) == 0 {
		return false
	}
	_, address := addressWords[strings.TrimRight(all[len(all)-1], "0123456789")]
	return !address && !picture(all)
}

// given tells that a text is an address with a name of its own that is that of many, as
// sales_url is (the engine keeps those of one by itself): one that is called after a part of the
// API (comments_url) leads to what a tool gives, but that of what was just made may be all that
// it is for.
func (w *walk) given(m operation.Property, a at) bool {
	all := words(m.Name)
	last := len(all) - 1
	if engine.Own(m.Name) || !calledAddress(m, all) {
		return false
	}
	return w.writes && fold(strings.Join(all[:last], "")) == fold(w.base) || !a.crowded && !slices.ContainsFunc(all[:last], func(word string) bool {
		_, way := wayWords[word]
		_, part := w.api.parts[Singular(word)]
		return way || part
	})
}

// calledAddress tells that a text has a name of more than one word that ends as that of an
// address.
func calledAddress(m operation.Property, all []string) bool {
	if len(all) < 2 || m.Schema == nil || m.Schema.Type&operation.TypeString == 0 {
		return false
	}
	_, address := addressWords[strings.TrimRight(all[len(all)-1], "0123456789")]
	return address
}

// crowded tells that an object has more than one such address: it leads around in an API, as
// those of GitHub do, though the specification has not all that they lead to.
func crowded(members []operation.Property) bool {
	n := 0
	for _, m := range members {
		if !engine.Own(m.Name) && calledAddress(m, words(m.Name)) {
			n++
		}
	}
	return n > 1
}

// refers tells that the address that a text may hold stands for another thing, as an
// identifier does: it is called after what the API has, or its description says so.
func (w *walk) refers(m operation.Property) bool {
	if m.Schema.Type != operation.TypeString || m.Schema.Format != "" || len(m.Schema.Enum) > 0 {
		return false
	}
	if _, is := w.api.resources[fold(m.Name)]; is {
		return true
	}
	d := m.Schema.Description
	return strings.Contains(d, "URL") || strings.Contains(d, "URI")
}

// picture tells that one of the words of a name is of pictures that are left out.
func picture(all []string) bool {
	return slices.ContainsFunc(all, func(word string) bool {
		return slices.ContainsFunc(rules.words, func(r wordRule) bool { return r.word == word })
	})
}

// mayBeAddress tells that a member may hold a URL by its schema.
func (w *walk) mayBeAddress(s *operation.Schema) bool {
	if s == nil || s.Type == 0 {
		return true
	}
	return s.Type&operation.TypeString != 0 && len(s.Enum) == 0 && s.Format != "date" && s.Format != "date-time"
}
