package operation

import (
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/nearest"
)

// open tells that a lifted body takes members that its specification does not name, since
// that says so in as many words (additionalProperties: true).
func (cb *compiledBody) open() bool {
	return cb != nil && cb.arg < 0 && cb.kind == bodyJSON && cb.body.Schema != nil && cb.body.Schema.Additional != nil
}

// extra tells that a member of the arguments that is none of them goes into the body as it
// is. What the plan sends under that name itself, fixed by an operator perhaps, is none.
func (c *Compiled) extra(cb *compiledBody, it *jsonscan.MemberIter) bool {
	if !cb.open() {
		return false
	}
	for i := range c.plan.Params {
		if it.KeyEqual(c.plan.Params[i].Name) {
			return false
		}
	}
	for i := range cb.body.Fields {
		if it.KeyEqual(cb.body.Fields[i].Name) {
			return false
		}
	}
	return true
}

// extra is that of the form that is checked; a name close to that of an argument is
// rather a slip.
func (k *checker) extra(it *jsonscan.MemberIter) bool {
	if !k.c.extra(k.body, it) || nearest.Name(string(it.KeyText(nil)), slices.Values(k.c.listed())) != "" {
		return false
	}
	k.extras = true
	return true
}

// extras tells that some of the arguments are none of the plan and go into the body.
func (b *builder) extras() bool {
	if !b.form.open() {
		return false
	}
	for it := b.args.Members(); it.Next(); {
		if b.c.find(&it) < 0 && b.c.extra(b.form, &it) {
			return true
		}
	}
	return false
}

// appendExtras writes them behind the members of an object.
func (b *builder) appendExtras(dst []byte, some bool) []byte {
	if !b.form.open() {
		return dst
	}
	for it := b.args.Members(); it.Next(); {
		if b.c.find(&it) >= 0 || !b.c.extra(b.form, &it) {
			continue
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		dst = append(append(append(dst, '"'), it.Key()...), '"', ':')
		dst = jsonscan.AppendMinified(dst, it.Value().Raw())
	}
	return dst
}
