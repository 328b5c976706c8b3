// Package laws holds the laws of the domain as tests over every composition of engines: what
// players own and where they stand comes out the same, whichever engines keep it, while nodes
// crash, calls fail in every way and engines lose their memory.
//
// The tests run in real time against real engines, so nothing in them is judged by time: a node
// that the machine held up may be taken for dead, and then its sessions end early, which is
// allowed. What was acknowledged is not lost, and nothing happens twice.
package laws
