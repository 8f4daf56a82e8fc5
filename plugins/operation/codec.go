package operation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/internal/strictjson"
)

// Append appends the plan in its format, version [PlanVersion]: minified JSON
// (docs/request-plans.md). Equal plans have equal bytes.
func (p *Plan) Append(dst []byte) []byte {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		panic("BUG: encode request plan: " + err.Error()) // plain data: strings, numbers, lists
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// DecodePlan reads what [Plan.Append] wrote. b comes from a plugin and is not
// trusted: size, nesting, unknown members and the version are checked here, the
// rest by [Plan.Compile]. b is not kept.
func DecodePlan(b []byte) (*Plan, error) {
	p := &Plan{}
	// Three levels of JSON for each level of schema (member, list, property).
	if err := strictjson.Decode(b, p, MaxPlanBytes, 3*MaxSchemaDepth+8); err != nil {
		return nil, fmt.Errorf("decode request plan: %w", err)
	}
	if p.Version != PlanVersion {
		return nil, fmt.Errorf("decode request plan: version %d is not known, this version reads %d", p.Version, PlanVersion)
	}
	return p, nil
}
