package engine

// numbers cuts the array whose first element is at r.p when it holds numbers
// only, more than most of them, and becomes shorter by it. ok is false when there
// is no fuel for it.
func (r *run) numbers(most int) (cut, ok bool) {
	in, p := r.in, r.p
	n, until, left := 0, 0, 0 // numbers, where the last that stays ends, bytes after it but white space
	for {
		if p >= len(in) || in[p] != '-' && (in[p] < '0' || in[p] > '9') {
			return false, true
		}
		end := numberEnd(in, p)
		if end < 0 {
			return false, true
		}
		if n++; n == most {
			until = end
		} else if n > most {
			left += 1 + end - p
		}
		p = end
		for p < len(in) && isSpace(in[p]) {
			p++
		}
		if p >= len(in) || in[p] != ',' {
			break
		}
		for p++; p < len(in) && isSpace(in[p]); p++ {
		}
	}
	if p >= len(in) || in[p] != ']' || n <= most {
		return false, true
	}
	var mark [32]byte
	m := appendMark(mark[:0], n-most)
	if left <= len(m)+3 {
		return false, true
	}
	bytes := p - r.p
	for from := r.p; from < until; {
		to := from
		for to < until && !isSpace(in[to]) {
			to++
		}
		r.out = append(r.out, in[from:to]...)
		for from = to; from < until && isSpace(in[from]); from++ {
		}
	}
	r.out = append(append(append(r.out, ",\""...), m...), "\"]"...)
	r.st.Rows += uint64(n)
	r.st.RowsCut += uint64(n - most)
	r.p = p + 1
	r.depth--
	return true, r.charge(most + bytes>>6)
}

// text keeps the string at r.p under the node's cap.
func (r *run) text(node int) bool {
	start := r.p + 1
	end, _ := strictString(r.in, start)
	if end < 0 {
		return r.fail(ErrNotJSON)
	}
	r.p = end
	n := end - 1 - start
	if x := r.t.node(node).ext; x != 0 {
		if limit := int(r.t.ext(x).maxString); limit > 0 && n > limit {
			cut := cutString(r.in[start:end-1], limit)
			var mark [32]byte
			m := appendMark(mark[:0], n-cut)
			if cut+len(m) < n {
				r.st.StringsCut++
				r.st.BytesCut += uint64(n - cut)
				r.out = append(append(append(append(r.out, '"'), r.in[start:start+cut]...), m...), '"')
				return r.charge(n >> 6)
			}
		}
	}
	r.out = append(r.out, r.in[start-1:end]...)
	return r.charge(n >> 6)
}

// cutString is the longest prefix of at most limit bytes that ends between
// characters: not inside an escape, a surrogate pair or a UTF-8 sequence.
func cutString(s []byte, limit int) int {
	p := 0
	for p < limit {
		n := 1
		switch c := s[p]; {
		case c == '\\':
			n = escapeBytes(s, p)
			if n == 6 {
				hi, _ := hex4(s, p+2)
				if hi >= 0xD800 && hi < 0xDC00 && p+12 <= len(s) && s[p+6] == '\\' && s[p+7] == 'u' {
					if lo, ok := hex4(s, p+8); ok && lo >= 0xDC00 && lo < 0xE000 {
						n = 12
					}
				}
			}
		case c >= 0xC0: // with what continues it, at most three bytes
			for n < 4 && p+n < len(s) && s[p+n]&0xC0 == 0x80 {
				n++
			}
		}
		if p+n > limit {
			break
		}
		p += n
	}
	return p
}

// appendMark appends "…[+n]".
func appendMark(dst []byte, n int) []byte {
	dst = append(dst, "…[+"...)
	var d [20]byte
	i := len(d)
	for ; n > 0; n /= 10 {
		i--
		d[i] = byte('0' + n%10)
	}
	return append(append(dst, d[i:]...), ']')
}
