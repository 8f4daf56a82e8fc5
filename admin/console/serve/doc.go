// Package serve answers requests for the files of the console. It knows nothing of what is
// in them: every page asks the admin API, in the browser.
package serve
