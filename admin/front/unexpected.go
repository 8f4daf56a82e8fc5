package front

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/internal/nearest"
)

// messageUnexpected is what huma says of a property that the schema of a body lacks.
const messageUnexpected = "unexpected property"

// maxTaken is how many properties a remedy lists where none is close to what was sent:
// longer lists hide the one that is looked for.
const maxTaken = 24

// ExplainBody returns a transformer that tells what a refused body should have been: the
// property that was meant where an unknown one was sent, or which ones there are; and the
// types of content that the operation takes.
func ExplainBody(schemas huma.Registry) huma.Transformer {
	return func(ctx huma.Context, _ string, v any) (any, error) {
		p, ok := v.(*Problem)
		if !ok || ctx == nil || ctx.Operation() == nil || ctx.Operation().RequestBody == nil {
			return v, nil
		}
		types := slices.Sorted(maps.Keys(ctx.Operation().RequestBody.Content))
		if p.Status == http.StatusUnsupportedMediaType && p.Remedy == "" {
			p.Remedy = "send Content-Type: " + strings.Join(types, " or ")
		}
		for i := range p.Errors {
			f := &p.Errors[i]
			if f.Detail != messageUnexpected || f.Remedy != "" {
				continue
			}
			for _, name := range types {
				media := ctx.Operation().RequestBody.Content[name]
				if f.Remedy = propertyRemedy(schemas, media.Schema, f.Location); f.Remedy != "" {
					break
				}
			}
		}
		return p, nil
	}
}

// propertyRemedy is the remedy for a property at a location such as
// body.source.files[0].nam, or "" where its schema is not known.
func propertyRemedy(schemas huma.Registry, s *huma.Schema, location string) string {
	steps := strings.Split(location, ".")
	if len(steps) < 2 {
		return ""
	}
	for _, step := range steps[1 : len(steps)-1] {
		name, index, _ := strings.Cut(step, "[")
		if s = resolved(schemas, s); s == nil {
			return ""
		}
		if s = s.Properties[name]; index != "" {
			for range strings.Count(index, "]") {
				if s = resolved(schemas, s); s != nil {
					s = s.Items
				}
			}
		}
	}
	if s = resolved(schemas, s); s == nil || len(s.Properties) == 0 {
		return ""
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	if near := nearest.Name(steps[len(steps)-1], slices.Values(known)); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) > maxTaken {
		return ""
	}
	return "there are: " + strings.Join(known, ", ")
}

// resolved follows the reference of a schema.
func resolved(schemas huma.Registry, s *huma.Schema) *huma.Schema {
	if s != nil && s.Ref != "" {
		return schemas.SchemaFromRef(s.Ref)
	}
	return s
}
