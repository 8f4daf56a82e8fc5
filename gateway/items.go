package gateway

import (
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Items implements [mcp.Toolset].
func (x *request) Items(cursor []byte, method mcp.Method) (page []byte, next string, ok bool, err error) {
	kind := manifest.Prompts
	switch method {
	case mcp.MethodResourcesList:
		kind = manifest.Resources
	case mcp.MethodTemplatesList:
		kind = manifest.Templates
	}
	var list *snapshot.List
	if x.pass.SeesAll() {
		list, err = x.ts.ItemList(kind, "", nil)
	} else {
		list, err = x.ts.ItemList(kind, x.pass.Selection(), x.pass.Sees)
	}
	if err != nil {
		return nil, "", false, err
	}
	page, next, ok = list.Page(cursor)
	return page, next, ok, nil
}

// Item implements [mcp.Toolset]. What a token does not open does not exist for it.
func (x *request) Item(c *mcp.CallParams) (mcp.Tool, error) {
	method, params := c.Method, c.Params
	x.searchTool = ""
	text := func(v jsonscan.Value) string {
		if v.Kind() != jsonscan.String {
			return ""
		}
		return string(v.AppendText(nil))
	}
	var err error
	ref := params
	if method == mcp.MethodComplete {
		ref = params.Get("ref")
	}
	switch kind := ref.Get("type"); {
	case method == mcp.MethodTasksList:
		x.tool = nil
		return x, nil
	case method.OfTask():
		return x.task(text(params.Get("taskId")), x.taskOwner(c), c.Session != nil)
	case method == mcp.MethodPromptsGet, method == mcp.MethodComplete && kind.EqualText("ref/prompt"):
		if x.tool, err = x.ts.Prompt([]byte(text(ref.Get("name")))); err != nil || x.tool == nil {
			return nil, err
		}
		x.key, x.permit = x.tool.Item.Key, x.tool.Name
	case method != mcp.MethodComplete, kind.EqualText("ref/resource"):
		uri := text(ref.Get("uri"))
		x.permit = snapshot.ResourcePrefix + uri
		if method == mcp.MethodComplete {
			if x.tool = x.ts.Template(uri); x.tool != nil {
				x.key = x.tool.Item.Key
				break
			}
		}
		if x.tool, x.key, err = x.ts.Resource(uri); err != nil || x.tool == nil {
			return nil, err
		}
		if method != mcp.MethodResourcesRead && method != mcp.MethodComplete && !x.tool.Subscribes() {
			return nil, nil //nolint:nilnil // there is nothing to subscribe to
		}
	default:
		return nil, nil //nolint:nilnil // there is no such item
	}
	if !x.pass.Sees(x.permit) {
		return nil, nil //nolint:nilnil // as above
	}
	if _, err := x.tool.Load(); err != nil {
		return nil, err
	}
	return x, nil
}
