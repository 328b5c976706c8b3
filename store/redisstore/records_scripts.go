package redisstore

import (
	"embed"
	"strings"
)

//go:embed record*.lua
var recordTexts embed.FS

// recordScripts are what records need. Each checks first and writes last.
type recordScripts struct {
	put, remove, check, get                        *script // records of their own
	putIn, putBeat, removeIn, checkIn, getIn, list *script // records of a family
	now                                            *script
}

// newRecordScripts puts the scripts together. A full server takes no journals and no notes,
// but beats: without them nodes that are well would stop playing, and they are few and small.
func newRecordScripts() *recordScripts {
	return &recordScripts{
		put:      recordScript(whenRoom, "record_put"),
		remove:   recordScript(always, "record_if", "record_remove"),
		check:    recordScript(always, "record_if", "record_check"),
		get:      recordScript(always, "record_get"),
		putIn:    recordScript(whenRoom, "record_in_if", "record_in_put"),
		putBeat:  recordScript(always, "record_in_if", "record_in_put"),
		removeIn: recordScript(always, "record_in_if", "record_in_remove"),
		checkIn:  recordScript(always, "record_in_if", "record_check"),
		getIn:    recordScript(always, "record_in_get"),
		list:     recordScript(always, "record_in_list"),
		now:      recordScript(always, "record_time"),
	}
}

// recordScript makes a script of the texts with these names.
func recordScript(when string, names ...string) *script {
	var all strings.Builder
	for _, name := range names {
		text, err := recordTexts.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is embedded
		}
		all.Write(text)
	}
	return newScript(when, all.String())
}
