package node

import (
	"log/slog"

	"github.com/sluicegate/sluice/admin/catalog"
	entries "github.com/sluicegate/sluice/plugins/catalog"
)

// openCatalog reads the built-in entries and those of a folder, which is read once. A
// file at fault is left out and logged: it must not keep a node from starting that
// serves toolsets which have nothing to do with it.
func (c *control) openCatalog(dir string) (*catalog.Room, error) {
	if dir == "" {
		return catalog.New(nil)
	}
	own, faults, err := entries.Open(dir)
	if err != nil {
		return nil, err
	}
	for _, fault := range faults {
		c.o.Logger.Warn("an entry of the catalog cannot be used", slog.String("folder", dir), slog.Any("error", fault))
	}
	return catalog.New(own)
}
