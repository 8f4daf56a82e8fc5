// Package workflowcmd has the commands below "sluice toolset workflow".
package workflowcmd
