package arazzo

import "go.yaml.in/yaml/v4"

func (r *reader) criteria(n node, name string) []*Criterion {
	var out []*Criterion
	for _, x := range r.list(n, name, maxMembers) {
		if r.object(x, "a criterion") {
			out = append(out, r.criterion(x))
		}
	}
	return out
}

// selectorType is the type of a criterion or selector; "" when it has none, or one that
// is not supported, which is a fault.
func (r *reader) selectorType(v node) string {
	if v.missing() {
		return ""
	}
	var kind string
	at := v
	if v.Kind == yaml.MappingNode {
		at = v.get("type")
		kind = r.text(v, "type", true)
		switch version := r.text(v, "version", false); {
		case kind == kindJSONPath && version != "" && version != "rfc9535" && version != "draft-goessner-dispatch-jsonpath-00":
			r.fault(v.get("version"), "version %.60q of JSONPath is not supported, rfc9535 is", version)
		}
	} else {
		kind = v.Value
	}
	switch kind {
	case "xpath":
		r.faultAt(at.place(), "use type jsonpath, or simple with a JSON pointer", "XPath is not supported")
		return ""
	case kindSimple, kindRegex, kindJSONPath, kindJSONPointer:
		return kind
	}
	r.fault(at, "type %.40q is not known", kind)
	return ""
}

func (r *reader) criterion(n node) *Criterion {
	r.known(n, "a criterion", "context", "condition", "type")
	c := &Criterion{Condition: r.text(n, "condition", true), kind: kindSimple}
	if t := n.get("type"); !t.missing() {
		if c.kind = r.selectorType(t); c.kind == "" {
			return c
		}
	}
	if v := n.get("context"); !v.missing() {
		e, err := parseExpression(v.Value)
		if err != nil {
			r.fault(v, "%s", err)
		}
		c.context = e
	} else if c.kind != kindSimple {
		r.fault(n, "a criterion of type %s needs a context", c.kind)
	}
	if c.Condition == "" {
		if at := n.get("condition"); at.isText() {
			r.fault(at, "the condition is empty")
		}
		return c
	}
	if c.kind == kindRegex || c.kind == kindJSONPath {
		switch v, err := parseEmbedded(c.Condition); {
		case err != nil:
			r.fault(n.get("condition"), "%s", err)
			return c
		case v.kind == valueText:
			c.template = &v // what it becomes is read when the step has ended
			return c
		}
	}
	var err error
	switch at := n.get("condition"); c.kind {
	case kindSimple:
		c.simple, err = parseCondition(c.Condition)
	case kindRegex:
		c.regex, err = compileRegex(c.Condition)
	case kindJSONPath:
		c.path, err = parsePath(c.Condition)
	default:
		r.fault(at, "a criterion is simple, regex or jsonpath")
	}
	if err != nil {
		r.fault(n.get("condition"), "%s", err)
	}
	return c
}
