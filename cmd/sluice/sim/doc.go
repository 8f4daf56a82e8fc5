// Package sim is a simulation of the distributed part of Sluice, as tests only: control
// planes, their registry, edges and the calls of agents in one process and in virtual
// time, over a network that delays, drops, repeats, reorders and cuts, on disks that fail
// and lose power, with a scheduler whose decisions come from a seed. It runs the code of
// the product and checks its promises after every event. docs/testing.md says what is
// simulated and how to replay a seed.
package sim
