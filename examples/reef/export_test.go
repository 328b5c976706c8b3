package main

// Run is main without the process.
var Run = run
