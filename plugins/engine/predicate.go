package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// opRecord is one term of a predicate before its strings have a place.
type opRecord struct {
	op, cmp, kind uint8
	next          int    // index after the term and what belongs to it
	path          string // pieces, each with its length in two bytes before it
	value         string // decoded string, or the number's literal
}

// predicateSignature checks p and describes it: equal predicates, equal text.
func predicateSignature(p *Predicate) (string, error) {
	if err := checkPredicate(p, 1); err != nil {
		return "", err
	}
	var b []byte
	text := func(s string) {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	for _, o := range appendOps(nil, p) {
		for _, n := range [...]int{int(o.op), int(o.cmp), int(o.kind), o.next} {
			b = binary.AppendVarint(b, int64(n))
		}
		text(o.path)
		text(o.value)
	}
	return string(b), nil
}

func checkPredicate(p *Predicate, depth int) error {
	if p == nil {
		return errors.New("nil predicate")
	}
	if depth > MaxOpDepth {
		return fmt.Errorf("predicate nested deeper than %d", MaxOpDepth)
	}
	used := 0
	for _, u := range []bool{len(p.And) > 0, len(p.Or) > 0, p.Not != nil, p.Cmp != CmpNone} {
		if u {
			used++
		}
	}
	if used != 1 {
		return errors.New("a predicate uses exactly one of And, Or, Not and Cmp")
	}
	for _, list := range [][]*Predicate{p.And, p.Or} {
		if len(list) > MaxOps {
			return fmt.Errorf("more than %d predicate terms", MaxOps)
		}
		for _, q := range list {
			if err := checkPredicate(q, depth+1); err != nil {
				return err
			}
		}
	}
	if p.Not != nil {
		return checkPredicate(p.Not, depth+1)
	}
	if p.Cmp == CmpNone {
		return nil
	}
	if p.Cmp > CmpGlob {
		return fmt.Errorf("unknown comparison %d", p.Cmp)
	}
	if len(p.Path) > MaxPath {
		return fmt.Errorf("predicate path of %d names, at most %d", len(p.Path), MaxPath)
	}
	for _, s := range p.Path {
		if len(s) > MaxName {
			return fmt.Errorf("predicate name of %d bytes, at most %d", len(s), MaxName)
		}
	}
	if len(p.Value) > MaxValue {
		return fmt.Errorf("predicate value of %d bytes, at most %d", len(p.Value), MaxValue)
	}
	kind, _, err := literal(p.Value)
	if err != nil {
		return err
	}
	switch p.Cmp {
	case CmpExists:
		if kind != kindNone {
			return errors.New("an existence test has no value")
		}
	case CmpEq:
		if kind == kindNone {
			return errors.New("a comparison needs a value")
		}
	case CmpLt, CmpLe, CmpGt, CmpGe:
		if kind != kindNumber && kind != kindString {
			return fmt.Errorf("an ordering needs a number or a string, not %s", p.Value)
		}
	default:
		if kind != kindString {
			return fmt.Errorf("a text comparison needs a string, not %s", p.Value)
		}
	}
	return nil
}

// literal takes a JSON scalar apart: kind and stored value.
func literal(s string) (kind uint8, value string, err error) {
	switch s {
	case "":
		return kindNone, "", nil
	case "null":
		return kindNull, "", nil
	case "false":
		return kindFalse, "", nil
	case "true":
		return kindTrue, "", nil
	}
	if s[0] == '"' {
		if n := len(s) - 1; n > 0 && s[n] == '"' && plain(s[1:n]) {
			return kindString, s[1:n], nil
		}
		var v string
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return 0, "", fmt.Errorf("predicate value %s: not a JSON string", s)
		}
		return kindString, v, nil
	}
	if numberEnd([]byte(s), 0) == len(s) {
		return kindNumber, s, nil
	}
	return 0, "", fmt.Errorf("predicate value %s: not a JSON scalar", s)
}

// plain tells that JSON writes s as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendOps(ops []opRecord, p *Predicate) []opRecord {
	i := len(ops)
	ops = append(ops, opRecord{})
	var o opRecord
	switch {
	case len(p.And) > 0, len(p.Or) > 0:
		o.op = opAnd
		if len(p.Or) > 0 {
			o.op = opOr
		}
		for _, q := range slices.Concat(p.And, p.Or) {
			ops = appendOps(ops, q)
		}
	case p.Not != nil:
		o.op = opNot
		ops = appendOps(ops, p.Not)
	default:
		o.cmp = uint8(p.Cmp)
		o.kind, o.value, _ = literal(p.Value)
		var b []byte
		for _, s := range p.Path {
			b = append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
		}
		o.path = string(b)
	}
	o.next = len(ops)
	ops[i] = o
	return ops
}
