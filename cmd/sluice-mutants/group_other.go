//go:build !unix

package main

import "os/exec"

func combinedOutput(cmd *exec.Cmd) ([]byte, error) { return cmd.CombinedOutput() }
