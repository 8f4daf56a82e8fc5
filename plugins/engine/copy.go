package engine

// keep copies the value at r.p whole, checked and minified. Its first value was
// paid for.
func (r *run) keep() bool {
	in := r.in
	base := r.depth
	var object [HardMaxDepth/64 + 1]uint64 // by depth: is it an object
	from := r.p                            // start of what is not copied yet
	for {
		// a value starts at r.p
		if r.p >= len(in) {
			return r.fail(ErrNotJSON)
		}
		switch c := in[r.p]; {
		case c == '"':
			if !r.keepString() {
				return false
			}
		case c|0x20 == '{':
			if !r.enter() {
				return false
			}
			b := uint64(1) << (r.depth & 63)
			if c == '{' {
				object[r.depth>>6] |= b
			} else {
				object[r.depth>>6] &^= b
			}
			from = r.trim(from)
			if r.p < len(in) && in[r.p] == c+2 { // '}' is '{'+2, ']' is '['+2
				r.p++
				r.depth--
				break
			}
			if c == '{' && !r.keepName(&from) {
				return false
			}
			if !r.charge(1) {
				return false
			}
			continue
		case c == '-', '0' <= c && c <= '9':
			end := numberEnd(in, r.p)
			if end < 0 {
				return r.fail(ErrNotJSON)
			}
			r.p = end
		default:
			end := literalEnd(in, r.p)
			if end < 0 {
				return r.fail(ErrNotJSON)
			}
			r.p = end
		}
		// a value ended at r.p
		for {
			if r.depth == base {
				r.out = append(r.out, in[from:r.p]...)
				return true
			}
			from = r.trim(from)
			if r.p >= len(in) {
				return r.fail(ErrNotJSON)
			}
			obj := object[r.depth>>6]>>(r.depth&63)&1 != 0
			c := in[r.p]
			r.p++
			if c == ',' {
				from = r.trim(from)
				if obj && !r.keepName(&from) {
					return false
				}
				if !r.charge(1) {
					return false
				}
				break
			}
			if obj && c != '}' || !obj && c != ']' {
				return r.fail(ErrNotJSON)
			}
			r.depth--
		}
	}
}

// trim skips white space at r.p; when there is some, what is before it is copied
// and the copy starts anew behind it.
func (r *run) trim(from int) int {
	if r.p >= len(r.in) || r.in[r.p] > ' ' {
		return from
	}
	p := r.p
	r.space()
	if r.p == p {
		return from
	}
	r.out = append(r.out, r.in[from:p]...)
	return r.p
}

func (r *run) keepName(from *int) bool {
	if r.p >= len(r.in) || r.in[r.p] != '"' {
		return r.fail(ErrNotJSON)
	}
	end, _ := strictString(r.in, r.p+1)
	if end < 0 {
		return r.fail(ErrNotJSON)
	}
	r.p = end
	*from = r.trim(*from)
	if r.p >= len(r.in) || r.in[r.p] != ':' {
		return r.fail(ErrNotJSON)
	}
	r.p++
	*from = r.trim(*from)
	return true
}

func (r *run) keepString() bool {
	end, _ := strictString(r.in, r.p+1)
	if end < 0 {
		return r.fail(ErrNotJSON)
	}
	n := end - 2 - r.p
	r.p = end
	return r.charge(n >> 6)
}
