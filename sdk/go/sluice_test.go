//go:build !wasip1

package sluice

import (
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	if _, err := Run(Call{}); !errors.Is(err, errNone) {
		t.Errorf("without a transform: %v", err)
	}
	var lines []string
	Filter(func(c *Context, body []byte) ([]byte, error) {
		c.Log(Warn, "seen")
		if c.Status() != 200 {
			return nil, errors.New("status " + c.Setting("sluice.status"))
		}
		return []byte(c.Tool() + c.Operation() + c.ContentType() + string(c.Arguments()) + string(c.Config()) + strings.ToUpper(string(body))), nil
	})
	out, err := Run(Call{
		Body: "abc",
		Config: map[string]string{
			"sluice.status": "200", "sluice.tool": "t", "sluice.operation": "o", "sluice.content_type": "c", "sluice.arguments": "a", "sluice.config": "g",
		},
		Log: func(_ Level, l string) { lines = append(lines, l) },
	})
	if err != nil || string(out) != "tocagABC" || len(lines) != 1 {
		t.Errorf("%q %v %q", out, err, lines)
	}
	if out, err = Run(Call{Config: map[string]string{"sluice.status": "500"}}); err == nil || err.Error() != "status 500" || out != nil {
		t.Errorf("%q %v", out, err)
	}
}
