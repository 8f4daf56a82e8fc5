package mcp

import (
	"slices"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Capabilities are what a client declares of [manifest.ClientCapabilities], one bit each.
type Capabilities uint8

// CallsTasks is beside them: the client may make a call a task.
const CallsTasks Capabilities = 1 << 7

// runsTasks are those of 2025-11-25 alone: in 2026-07-28 clients run no tasks.
var runsTasks = CapabilitiesNamed([]string{"tasks.elicitation", "tasks.sampling"})

// CapabilitiesNamed are those of these names.
func CapabilitiesNamed(names []string) Capabilities {
	var c Capabilities
	for i, name := range manifest.ClientCapabilities {
		if slices.Contains(names, name) {
			c |= 1 << i
		}
	}
	return c
}

// capabilitiesOf reads what a client declared. Elicitation that names no way is by form
// (MCP 2025-11-25 "Elicitation").
func capabilitiesOf(declared jsonscan.Value) Capabilities {
	var names []string
	requests := declared.Get("tasks").Get("requests")
	for _, name := range [...]string{"elicitation", "sampling", "roots"} {
		v := declared.Get(name)
		if v.Kind() != jsonscan.Object {
			continue
		}
		if name == "elicitation" && v.Get("url").Exists() {
			names = append(names, "elicitation.url")
			if !v.Get("form").Exists() {
				continue
			}
		}
		names = append(names, name)
		if requests.Get(name).Kind() == jsonscan.Object {
			names = append(names, "tasks."+name)
		}
	}
	return CapabilitiesNamed(names)
}

// capabilities are those of the client: of its session, or of the request.
func (x *exchange) capabilities(modern bool) (c Capabilities) {
	switch {
	case modern:
		return capabilitiesOf(x.msg.meta.Get(metaCapabilities)) &^ runsTasks
	case x.session == nil:
		return 0
	case len(x.session.Client().Capabilities) > 0:
		c = capabilitiesOf(jsonscan.Trusted(x.session.Client().Capabilities))
	}
	if x.callsTasks() {
		c |= CallsTasks
	}
	return c
}
