package arazzo

import (
	"errors"
	"fmt"
)

// errCondition is wrapped when what the expressions in a condition became is none.
var errCondition = errors.New("the condition cannot be read")

// unmet is the first criterion that is not met; nil: all are.
func (sc *stepScope) unmet(list []*Criterion) (*Criterion, error) {
	for _, c := range list {
		ok, err := c.met(sc)
		if err != nil {
			return nil, fmt.Errorf("the criterion %.200s: %w", c.Condition, err)
		}
		if !ok {
			return c, nil
		}
	}
	return nil, nil
}

// written is the criterion with the values of the expressions in its condition.
func (c *Criterion) written(s scope) (*Criterion, error) {
	if c.template == nil {
		return c, nil
	}
	v, err := c.template.read(s)
	if err != nil {
		return nil, err
	}
	out := &Criterion{Condition: textOf(v), kind: c.kind, context: c.context}
	if c.kind == kindRegex {
		out.regex, err = compileRegex(out.Condition)
	} else {
		out.path, err = parsePath(out.Condition)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it became %.200q: %w", errCondition, out.Condition, err)
	}
	return out, nil
}

func (c *Criterion) met(s scope) (bool, error) {
	if c.kind == kindSimple {
		return truth(c.simple.eval(s)), nil
	}
	at := c.context.eval(s)
	if at == nil { // as the specification says
		return false, nil
	}
	c, err := c.written(s)
	if err != nil {
		return false, err
	}
	if c.kind == kindJSONPath {
		return c.path.asks(at)
	}
	text := textOf(at)
	if len(text) > maxRegexText {
		return false, fmt.Errorf("the text has %d bytes, a regular expression looks at %d", len(text), maxRegexText)
	}
	return c.regex.MatchString(text), nil
}
