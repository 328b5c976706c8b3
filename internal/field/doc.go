// Package field knows which members the fields of a Go struct are, by the rules of
// encoding/json/v2: names from json tags, embedded structs, and the field that wins where
// several want one name. What a codec of values cannot do is refused here, by the name of the
// field. It has no state.
package field
