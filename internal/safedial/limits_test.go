package safedial

import (
	"context"
	"net/netip"
	"testing"
)

type everywhere int

func (n everywhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	out := make([]netip.Addr, n)
	for i := range out {
		out[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	}
	return out, nil
}

// TestAddressesOfNameAreBounded: a name of thousands of addresses is not tried at all of them.
func TestAddressesOfNameAreBounded(t *testing.T) {
	for over := range 2 {
		d := dialer(t, Options{Resolver: everywhere(maxAddresses + over)})
		got, err := d.lookup(t.Context(), "tcp", "many.example:443")
		if err != nil || len(got) != maxAddresses {
			t.Errorf("%d of %d addresses: %v", len(got), maxAddresses+over, err)
		}
	}
}
