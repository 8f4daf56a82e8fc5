// Package test renders and lints the Helm chart of deploy/helm/sluice with Helm's own
// packages. It is a module of its own, so that the program depends on neither Helm nor
// Kubernetes, and is not what installs the chart.
package test
