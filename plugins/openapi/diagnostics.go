package openapi

import (
	"errors"
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
)

// The codes of diagnostics. They are stable: tools and documentation
// (docs/diagnostics.md) refer to them.
const (
	// The document cannot be read.
	codeEmpty          = "empty_document"
	codeTooLarge       = "too_large"
	codeEncoding       = "bad_encoding"
	codeJSONSyntax     = "json_syntax"
	codeYAMLSyntax     = "yaml_syntax"
	codeTooDeep        = "too_deep"
	codeTooManyNodes   = "too_many_values"
	codeStringTooLong  = "string_too_long"
	codeMultiDocument  = "several_documents"
	codeRecursiveAlias = "recursive_alias"
	codeNotOpenAPI     = "not_openapi"
	codeVersion        = "unsupported_version"
	codePaths          = "paths_missing"
	codeTooManyOps     = "too_many_operations"
	codeOverlay        = "overlay_invalid"

	// An operation cannot become a tool.
	codeMethod        = "method_not_callable"
	codeOperationType = "operation_not_object"
	codePathTooLong   = "path_too_long"
	codeUnresolvedOp  = "operation_reference_unresolved"
	codeBodyRef       = "body_reference_unresolved"
	codeToolTooLarge  = "tool_too_large"
	codeBudget        = "output_budget_exceeded"

	// Repaired or left out.
	codeDuplicateKey      = "duplicate_key"
	codeVersionLoose      = "version_imprecise"
	codeWrongType         = "wrong_type"
	codeRefUnresolved     = "reference_unresolved"
	codeRefCycle          = "reference_cycle"
	codeRefExternal       = "reference_not_loaded"
	codeParamDropped      = "parameter_dropped"
	codeParamUndeclared   = "path_parameter_undeclared"
	codeParamUnused       = "path_parameter_unused"
	codeParamOptional     = "path_parameter_optional"
	codeParamStyle        = "parameter_style"
	codePathTemplate      = "path_template"
	codeSchemaConflict    = "schema_conflict"
	codeSchemaKeyword     = "schema_keyword"
	codeSchemaBudget      = "schema_budget"
	codeToolLarge         = "tool_large"
	codeToolCut           = "tool_simplified"
	codeDuplicateID       = "operation_id_duplicate"
	codeServerMissing     = "server_missing"
	codeServerInvalid     = "server_invalid"
	codeServerPlain       = "server_not_https"
	codeServerVariable    = "server_variable"
	codeSecurityUnknown   = "security_scheme_unknown"
	codeSecurityScheme    = "security_scheme_unsupported"
	codeCredentialParam   = "credential_parameter" //nolint:gosec // the name of a code
	codeBodyTypeName      = "media_type_repaired"
	codeBodyIgnored       = "body_ignored"
	codeBodyOfGet         = "body_of_get"
	codeNoOperations      = "no_operations"
	codeWebhooks          = "webhooks_not_callable"
	codeSwaggerLimitation = "swagger_limitation"
	codeOverlayNoMatch    = "overlay_no_match"
	codeOverlayConflict   = "overlay_conflict"
	codeSchemaViolation   = "schema_violation"
	codeMoreWarnings      = "more_warnings"

	// Text that is not meant for a reader.
	codeHidden      = "hidden_characters"
	codeInstruction = "model_instructions"
)

// MaxWarnings is how many warnings a Result holds; what is beyond is counted in
// a last one. A reader gives up long before, and hostile documents make millions.
const MaxWarnings = 1000

// diagnostics collects findings, each place once.
type diagnostics struct {
	list    []Diagnostic
	dropped int
	seen    map[seenAt]bool
	main    *document
}

type seenAt struct {
	code string
	at   value
	more string
}

// warn records a warning at v. The same code at the same place counts once,
// whatever the number of operations that come by.
func (d *diagnostics) warn(code string, v value, remedy, format string, args ...any) {
	d.add(SeverityWarning, code, v, "", remedy, format, args...)
}

// info records something worth knowing.
func (d *diagnostics) info(code string, v value, remedy, format string, args ...any) {
	d.add(SeverityInfo, code, v, "", remedy, format, args...)
}

// warnFor is warn with a subject: several findings of one code at one place.
func (d *diagnostics) warnFor(subject, code string, v value, remedy, format string, args ...any) {
	d.add(SeverityWarning, code, v, subject, remedy, format, args...)
}

func (d *diagnostics) add(severity, code string, v value, subject, remedy, format string, args ...any) {
	key := seenAt{code, v, subject}
	if d.seen[key] {
		return
	}
	if len(d.list) >= MaxWarnings {
		d.dropped++
		return
	}
	if d.seen == nil {
		d.seen = make(map[seenAt]bool)
	}
	d.seen[key] = true
	g := Diagnostic{Code: code, Severity: severity, Detail: fmt.Sprintf(format, args...), Remedy: remedy, Pointer: v.pointer()}
	g.Line, g.Column = v.place()
	if v.d != nil && v.d != d.main {
		g.File = v.d.name
	}
	d.list = append(d.list, g)
}

// finish gives the findings.
func (d *diagnostics) finish() []Diagnostic {
	if d.dropped > 0 {
		d.list = append(d.list, Diagnostic{
			Code: codeMoreWarnings, Severity: SeverityInfo,
			Detail: fmt.Sprintf("%d more warnings are not shown", d.dropped), Remedy: "correct the first ones and import again",
		})
	}
	return d.list
}

// fatal makes the error of a document that cannot be used.
func fatal(file, code string, v value, remedy, format string, args ...any) *problem.Error {
	line, column := v.place()
	return fatalAt(file, code, line, column, v.pointer(), remedy, fmt.Sprintf(format, args...))
}

func fatalAt(file, code string, line, column int, pointer, remedy, detail string) *problem.Error {
	part := problem.New(problem.InvalidSpec, "%s", detail).At(file, line, column, pointer).Fix("%s", remedy)
	e := problem.New(problem.InvalidSpec, "%s", detail).At(file, line, column, pointer).Fix("%s", remedy)
	e.Parts = []*problem.Error{part.Because(codeError(code))}
	return e.Because(codeError(code))
}

// codeError carries the diagnostic code of a fatal error; see [Code].
type codeError string

func (c codeError) Error() string { return string(c) }

// Code is the diagnostic code of an error of Compile, as in docs/diagnostics.md;
// "" when err has none.
func Code(err error) string {
	c, _ := errors.AsType[codeError](err)
	return string(c)
}
