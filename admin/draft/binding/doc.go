// Package binding binds plugins to drafts: it pins versions, checks configurations, grants
// and the calls of workflows, and shows what is bound beside what serves.
//
// It runs no plugin and publishes none, which package plugin does. How a binding is kept
// and what a bundle has of it is said by package draft.
package binding
