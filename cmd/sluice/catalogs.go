package main

import (
	"github.com/sluicegate/sluice/cmd/internal/config"
	"github.com/sluicegate/sluice/cmd/internal/node"
)

// openCatalogs are the further catalogs of a node: flags win over the configuration file.
func (f *nodeFlags) openCatalogs(a *app, c *config.File) (node.Catalogs, error) {
	out := node.Catalogs{Places: f.catalogs, Keys: f.catalogKeys}
	if len(out.Places) == 0 {
		if c.Catalog != "" {
			out.Places = append(out.Places, c.Catalog)
		}
		out.Places = append(out.Places, c.Catalogs...)
	}
	if len(out.Keys) == 0 {
		out.Keys = c.CatalogKeys
	}
	o, err := a.opener(nil)
	out.Open = o.Reference
	return out, err
}
