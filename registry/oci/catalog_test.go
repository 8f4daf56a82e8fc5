package oci_test

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/oci"
)

func TestCatalogSize(t *testing.T) {
	if _, err := oci.New(oci.KindCatalog, []byte(strings.Repeat("x", oci.MaxCatalogBytes)), nil); err != nil {
		t.Error(err)
	}
	if _, err := oci.New(oci.KindCatalog, []byte(strings.Repeat("x", oci.MaxCatalogBytes+1)), nil); !problem.Is(err, problem.TooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}
