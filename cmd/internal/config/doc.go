// Package config reads the environment variables and the configuration file of the
// program. Flags win over variables, variables over the file; package command joins them.
package config
