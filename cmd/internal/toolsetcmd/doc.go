// Package toolsetcmd has the commands below "sluice toolset" that change and show one
// toolset over the admin API: its tools, answers, access, authentication, drafts and
// revisions. Toolsets are made by "sluice add", which is not here.
package toolsetcmd
