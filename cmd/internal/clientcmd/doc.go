// Package clientcmd points AI applications at a toolset: the command client prints or
// installs their configuration. The forms are those of docs/clients.md.
package clientcmd
