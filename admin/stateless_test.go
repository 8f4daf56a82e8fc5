package admin_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/front"
)

// TestStatelessServer: the operator's word about an MCP server is a change of the draft
// that is audited, and not to be had about an API.
func TestStatelessServer(t *testing.T) {
	w := newWorld(t)
	w.servers.set(nil, "find=Finds.")
	ts := w.addServer(map[string]any{})
	at := "/v1/toolsets/" + ts.ID
	name := ts.Connectors[0].Name
	if ts.Connectors[0].Upstream.Stateless {
		t.Error("it is the default")
	}
	c := want[view.ToolsetConnectorDetail](w, w.send("PATCH", at+"/connectors/"+name, map[string]any{"stateless": true}, at), http.StatusOK)
	if got := w.get(ts.ID); !c.Upstream.Stateless || !got.Upstream.Stateless || !got.Changed {
		t.Errorf("%+v, changed %t", c.Upstream, got.Changed)
	}
	if r := w.records("connector.update"); len(r) != 1 || !bytes.Contains(r[0].Before, []byte(`"stateless":false`)) || !bytes.Contains(r[0].After, []byte(`"stateless":true`)) {
		t.Errorf("audited: %+v", r)
	}
	want[view.Toolset](w, w.do("POST", at+"/deploy", `{"reason":"for the test"}`), http.StatusOK)
	if got := w.get(ts.ID); got.Changed || !got.Upstream.Stateless {
		t.Errorf("deployed: %+v", got.Upstream)
	}
	if got := want[view.Toolset](w, w.send("PATCH", at, map[string]any{"stateless": false}, at), http.StatusOK); got.Upstream.Stateless || !got.Changed {
		t.Errorf("taken back: %+v", got.Upstream)
	}

	api := w.create("Shop", "pets.yaml")
	at = "/v1/toolsets/" + api.ID
	for path, body := range map[string]map[string]any{at: {"stateless": true}, at + "/connectors/pet-store": {"stateless": true}} {
		if p := want[front.Problem](w, w.send("PATCH", path, body, at), http.StatusBadRequest); !strings.Contains(p.Detail, "MCP server") && len(p.Errors) == 0 {
			t.Errorf("%s: %+v", path, p)
		}
	}
	body := w.createBody("Other", "pets.yaml")
	body["stateless"] = true
	want[front.Problem](w, w.do("POST", "/v1/toolsets", body), http.StatusBadRequest)
	added := w.addTo(api.ID, http.StatusCreated, map[string]any{"source": map[string]any{"mcp": map[string]string{"url": "https://mcp.example.com/mcp"}}, "stateless": true})
	if !added.Connector.Upstream.Stateless {
		t.Errorf("added: %+v", added.Connector.Upstream)
	}
}
