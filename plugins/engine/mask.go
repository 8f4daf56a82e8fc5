package engine

import "slices"

// Mask is a field mask as it was written: a tree of names. It is not changed after
// [ReadMask].
type Mask struct {
	whole bool // named as kept: all of it, but for drops below
	drop  bool
	any   *Mask    // of *
	names []string // in order of appearance
	kids  map[string]*Mask
}

// Names are the names at this level, in the order of the text, without "*". The
// caller does not change them.
func (m *Mask) Names() []string { return m.names }

// Sub is the mask below name; nil when name is not in the mask.
func (m *Mask) Sub(name string) *Mask { return m.kids[name] }

// Star is the mask below "*", which stands for every name that is not written
// beside it; nil when there is no "*".
func (m *Mask) Star() *Mask { return m.any }

// Drops reports whether what the mask stands for is left out.
func (m *Mask) Drops() bool { return m.drop }

func (m *Mask) kid(name string) *Mask {
	k := m.kids[name]
	if k == nil {
		k = &Mask{}
		if m.kids == nil {
			m.kids = map[string]*Mask{}
		}
		m.kids[name] = k
		m.names = append(m.names, name)
	}
	return k
}

// keeps tells whether anything is named as kept in m or below.
func (m *Mask) keeps() bool {
	if m.whole || m.any != nil && m.any.keeps() {
		return true
	}
	return slices.ContainsFunc(m.names, func(s string) bool { return m.kids[s].keeps() })
}

// leaf tells whether m ends the mask.
func (m *Mask) leaf() bool { return len(m.names) == 0 && m.any == nil }

// Node turns the mask into a node; nil keeps all.
func (m *Mask) Node() *Node {
	if m.leaf() {
		return nil
	}
	n := &Node{}
	n.DropRest = m.keeps() && !m.whole
	if m.any != nil {
		if n.DropRest = m.any.drop; !m.any.drop {
			n.Rest = m.any.Node()
		}
	}
	for _, s := range m.names {
		k := m.kids[s]
		switch {
		case k.drop:
			n.Fields = append(n.Fields, Field{Name: s, Drop: true})
		case n.DropRest && !k.keeps(): // only drops inside what nobody keeps
		default:
			n.Fields = append(n.Fields, Field{Name: s, Node: k.Node()})
		}
	}
	return n
}

// Over lays the mask over a default projection (nil: none) and returns what to
// keep. What the mask names is kept even where the default leaves it out, and
// inside it the default goes on to apply; "*" keeps all as it came. A mask of
// drops only leaves them out of what the default keeps. Row rules of the default
// are its own arrays' and stay where the default stays. def is not changed, and
// is part of the result.
func (m *Mask) Over(def *Node) *Node {
	switch {
	case def == nil:
		return m.Node()
	case m.leaf():
		return def
	}
	star := m.any != nil && !m.any.drop
	only := star || m.any != nil || m.keeps() && !m.whole // what is not named is not the default's
	n := &Node{}
	if !only {
		*n = *def
		n.Fields = nil
		for _, f := range def.Fields {
			if m.kids[f.Name] == nil {
				n.Fields = append(n.Fields, f)
			}
		}
	} else if n.DropRest = !star; star {
		n.Rest = m.any.Node()
	}
	for _, s := range m.names {
		k := m.kids[s]
		child, kept, spared := def.member(s)
		switch {
		case k.drop:
			n.Fields = append(n.Fields, Field{Name: s, Drop: true})
		case only && n.DropRest && !k.keeps():
		case !k.keeps(): // drops inside: the member itself is the default's affair
			if !kept {
				n.Fields = append(n.Fields, Field{Name: s, Drop: true})
			} else {
				n.Fields = append(n.Fields, Field{Name: s, Node: k.Over(child), Exempt: spared == ruleBits, KeepURL: spared == DropURL, NoPages: def.noPages(s)})
			}
		default:
			if !kept {
				child = nil
			}
			n.Fields = append(n.Fields, Field{Name: s, Node: k.Over(child), Exempt: true})
		}
	}
	return n
}

// member tells what n does with the member called name: its node, whether it is
// kept, which rules spare it.
func (n *Node) member(name string) (child *Node, kept bool, spared Rules) {
	for i := range n.Fields {
		if f := &n.Fields[i]; f.Name == name {
			switch {
			case f.Exempt:
				spared = ruleBits
			case f.KeepURL:
				spared = DropURL
			}
			return f.Node, !f.Drop, spared
		}
	}
	if n.DropRest || n.suffixed(name) {
		return nil, false, 0
	}
	if n.keepsAsked() && Own(name) {
		spared = DropURL
	}
	return n.Rest, true, spared
}

// Member tells whether n keeps a member called name, as far as the name decides,
// and what it keeps of it; nil keeps all.
func (n *Node) Member(name string) (child *Node, kept bool) {
	if n == nil {
		return nil, true
	}
	child, kept, _ = n.member(name)
	return child, kept
}
