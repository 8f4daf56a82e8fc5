package edge

import (
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// State is everything one release makes live: verified and opened. Immutable.
type State struct {
	Release  *registry.Release
	Digest   registry.Digest // of the release's envelope
	Toolsets []*Toolset      // in the order of Release.Toolsets
}

// Toolset is one live toolset, opened. A toolset that did not change between two
// releases is the same pointer in both states. Immutable.
type Toolset struct {
	registry.ReleaseToolset                                 // as the release lists it
	Bundle                  *registry.Toolset               // what the bundle says
	Programs                [][]byte                        // the toolset's own response programs
	Index                   []byte                          // of its tools; nil: it has none
	Connectors              map[string]*connector.Connector // by registry.ConnectorRef.Name
	Access                  *registry.AccessDocument        // nil: the bundle says who may enter
	Plugins                 []*guest.Package                // in the order of Bundle.Plugins
}
