//go:build !race

package profile

// searchLimit bounds a search by its states; 0 is not at all.
const searchLimit = 0
