package main

// Run is main without the process around it.
var Run = run
