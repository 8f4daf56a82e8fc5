package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestMaxIdempotencyKey: a key as long is taken, a character more is refused.
func TestMaxIdempotencyKey(t *testing.T) {
	for n, ok := range map[int]bool{MaxIdempotencyKey: true, MaxIdempotencyKey + 1: false} {
		if got := validKey(strings.Repeat("k", n)); got != ok {
			t.Errorf("a key of %d characters: taken %v", n, got)
		}
	}
}

// TestMaxTaken: as many properties are listed where none is close, one more are not.
func TestMaxTaken(t *testing.T) {
	for n, listed := range map[int]bool{maxTaken: true, maxTaken + 1: false} {
		s := &huma.Schema{Properties: map[string]*huma.Schema{}}
		for i := range n {
			s.Properties[fmt.Sprintf("property%d", i)] = &huma.Schema{}
		}
		if got := propertyRemedy(nil, s, "body.zzz"); (got != "") != listed {
			t.Errorf("of %d properties: %q", n, got)
		}
	}
}

// TestPropertyRemedyOfOddPlaces: a place that the schema does not have has no remedy.
func TestPropertyRemedyOfOddPlaces(t *testing.T) {
	s := &huma.Schema{Properties: map[string]*huma.Schema{"list": {Items: &huma.Schema{Properties: map[string]*huma.Schema{"name": {}}}}}}
	for location, want := range map[string]string{
		"body.list[0].nam": "did you mean name?", "body.list[0][1].nam": "", "body.lost.nam": "", "body.list.nam": "",
		"body": "", "": "", "body.": "there are: list", "body.list[": "did you mean list?", "body..nam": "",
	} {
		if got := propertyRemedy(nil, s, location); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
	}
}
