// Package sluice is for plugins of Sluice written in Go. A filter is one function:
//
//	func init() {
//		sluice.Filter(func(c *sluice.Context, body []byte) ([]byte, error) {
//			return bytes.ToUpper(body), nil
//		})
//	}
//
//	func main() {}
//
// Build it with "sluice plugin build", which runs
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared
//
// An auth plugin signs requests with [Auth], a workflow calls tools with [Workflow]. On other systems the same code runs in
// ordinary tests, with [Run], [RunRequest] and [RunWorkflow] in the place of the gateway. The contract between plugins and
// gateways is docs/plugins/contract.md.
//
// A plugin handles one call at a time. What it keeps in variables may be gone at the
// next call.
package sluice

import (
	"errors"
	"strconv"
)

// Context is what a plugin may ask about the call that it serves.
type Context struct{}

// Tool is the name of the tool that was called.
func (*Context) Tool() string { return configText("sluice.tool") }

// Operation is the upstream operation, such as "GET /pets/{id}".
func (*Context) Operation() string { return configText("sluice.operation") }

// Status is the HTTP status of the upstream's answer.
func (*Context) Status() int {
	n, _ := strconv.Atoi(configText("sluice.status"))
	return n
}

// ContentType is that of the upstream's answer.
func (*Context) ContentType() string { return configText("sluice.content_type") }

// Arguments are the caller's, a JSON object.
func (*Context) Arguments() []byte { return config("sluice.arguments") }

// Config is the plugin's configuration, a JSON object.
func (*Context) Config() []byte { return config("sluice.config") }

// Setting is a member of the configuration: a string as it is, another value as
// JSON; "" when there is none.
func (*Context) Setting(name string) string { return configText(name) }

func configText(name string) string { return string(config(name)) }

// Level of a log line.
type Level int

// The levels, from the least important.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Log writes a line to the gateway's log. A call may write 100.
func (*Context) Log(l Level, line string) { logLine(l, line) }

// A Transform makes a new body of an upstream's body. What it returns is copied. An
// error's text reaches the operator; whether the call fails with it, the binding says.
type Transform func(c *Context, body []byte) ([]byte, error)

var transform Transform

// Filter makes t the plugin: kinds filter and projection. Call it from init.
func Filter(t Transform) { transform = t }

var errNone = errors.New("the plugin did not call sluice.Filter in init")

// run answers one call.
func run() error {
	if transform == nil {
		return errNone
	}
	out, err := transform(&Context{}, input())
	if err != nil {
		return err
	}
	output(out)
	return nil
}
