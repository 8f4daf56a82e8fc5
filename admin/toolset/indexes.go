package toolset

import (
	"sync"

	"github.com/sluicegate/sluice/internal/selection"
)

// openIndexes is how many indexes of drafts are kept: what one operator works on.
// The largest known toolset's has 10 MB.
const openIndexes = 4

// IndexCache keeps the indexes that were searched last.
type IndexCache struct {
	mu   sync.Mutex
	list []cachedIndex // guarded by mu; the newest is at the end
}

type cachedIndex struct {
	toolset string
	version uint64
	index   *selection.Index
}

// Get returns the index of a version of a toolset; nil when it is not kept.
func (c *IndexCache) Get(toolset string, version uint64) *selection.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.list {
		if e.toolset == toolset && e.version == version {
			return e.index
		}
	}
	return nil
}

// Put keeps an index; the oldest makes room.
func (c *IndexCache) Put(toolset string, version uint64, x *selection.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == openIndexes {
		c.list = c.list[1:]
	}
	c.list = append(c.list, cachedIndex{toolset, version, x})
}
