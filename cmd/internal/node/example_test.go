package node_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/sluicegate/sluice/cmd/internal/node"
)

// A whole Sluice in a process: gateway, admin API and registry.
func Example() {
	dir, _ := os.MkdirTemp("", "sluice-")
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	n, err := node.New(ctx, node.Options{
		Data: dir, Gateway: node.GatewayOptions{Listen: "127.0.0.1:0"}, Admin: node.AdminOptions{Listen: "127.0.0.1:0"},
	})
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- n.Run(ctx) }()

	r, err := http.Get(n.URL() + "/livez")
	if err != nil {
		panic(err)
	}
	_ = r.Body.Close()
	fmt.Println(r.Status)
	stop()
	fmt.Println(<-done)
	// Output:
	// 200 OK
	// <nil>
}
