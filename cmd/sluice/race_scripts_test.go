package main

// raceScripts are the scripts that run under the race detector too: between them, they
// start every role of a node and let it serve, publish, follow, count and end while calls
// are made. The others run without it only, which takes a fifth of the time.
var raceScripts = []string{
	"testdata/script/access_closed.txtar",
	"testdata/script/edge_login.txtar",
	"testdata/script/logs_show.txtar",
	"testdata/script/mcp_changes.txtar",
	"testdata/script/plugin_workflow.txtar",
	"testdata/script/run_demo.txtar",
	"testdata/script/run_restart.txtar",
	"testdata/script/serve_registry.txtar",
	"testdata/script/toolset_connector.txtar",
	"testdata/script/toolset_schedule.txtar",
	"testdata/script/usage.txtar",
}
