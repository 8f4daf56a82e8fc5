// Package held keeps answers that were cut for some minutes, so that an agent can fetch the
// rest of one by its handle. Where nodes share a pool, another node than the one that cut the
// answer gives the rest.
//
// It knows neither pages nor calls: package page cuts, and package call decides who may fetch.
// A handle is of one caller at one toolset. A [Store] is safe for concurrent use.
package held
