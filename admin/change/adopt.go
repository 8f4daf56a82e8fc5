package change

import (
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/registry"
)

// begin gives a new connector what its entry says besides the tools.
func (c *change) begin() (err error) {
	d, e := c.d, c.entry
	if d.Row.BaseURL, err = e.BaseURL(c.in.BaseURL); err != nil {
		return err
	}
	switch {
	case c.in.Profile != "":
	case c.isNew:
		d.Toolset.Profile = registry.ProfileConcise
	default:
		d.Row.Answers, err = toolset.ChangeAnswers(d.Row.Answers, &toolset.PatchAnswers{Profile: &concise}, "", registry.OfConnector, nil)
	}
	if c.isNew {
		if c.in.Name == "" {
			d.Toolset.Name = e.Name
		}
		if e.Instructions != "" {
			d.Toolset.Instructions = e.Instructions
		}
	}
	return err
}

var concise = registry.ProfileConcise
