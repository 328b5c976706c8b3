package season

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// A player's display name travels as the metadata of their entries, so that a page of a board
// is the best together with their names, of one state, without another read; and the sealed
// board has the names that the result keeps, the same for every closer.
//
// A board replaces metadata only together with a score. So a name that was changed shows on
// each board when the player's score there changes next, and the others, and a season's
// result, may have the one before. A board that is rebuilt has the names that the profiles
// have then.

// longestName is how much of a text in a profile is looked at for a name.
const longestName = 4 * store.MaxMeta

// nameIn is the display name in a profile as metadata, nil when there is none.
func (r *rules) nameIn(data doc.Value) []byte {
	if r.nameAt.IsRoot() {
		return nil
	}
	v, _ := data.Get(r.nameAt)
	text, _ := v.AsString()
	if name := cleanName(text); name != "" {
		return []byte(name)
	}
	return nil
}

// NameOf is the display name that an entry of a season's board has, empty when it has none.
func NameOf(e store.Entry) string { return nameOf(e.Meta) }

// nameOf is the display name in an entry's metadata, whoever wrote it.
func nameOf(meta []byte) string { return cleanName(string(meta[:min(len(meta), longestName)])) }

// cleanName is a text as a board may show it: in one line, without characters that control
// what is around them, no space at its ends, cut at a whole character to what metadata takes.
// A text of which nothing can be seen is no name.
func cleanName(text string) string {
	var b strings.Builder
	visible := false
	for i, r := range text {
		if i >= longestName {
			break
		}
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			continue
		}
		unseen := isUnseen(r)
		if unseen && !joins(r) || b.Len() == 0 && (unseen || unicode.IsSpace(r)) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > store.MaxMeta {
			break
		}
		b.WriteRune(r)
		visible = visible || !unseen && !unicode.IsSpace(r)
	}
	if !visible {
		return ""
	}
	return strings.TrimRightFunc(b.String(), func(r rune) bool { return unicode.IsSpace(r) || r == joiner })
}

// joiner holds the parts of one character together: what is cut behind it ends before it.
const joiner = '\u200d'

// isUnseen tells that a character by itself shows nothing: formats such as the space of no
// width, fillers, variations.
func isUnseen(r rune) bool {
	const blankBraille = '\u2800'
	return r == blankBraille || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// joins tells that a character that shows nothing makes others what they are: joiners of
// scripts and of emoji, variations, and the tags of flags.
func joins(r rune) bool {
	const nonJoiner, firstTag, lastTag = '\u200c', '\U000e0020', '\U000e007f'
	return r == joiner || r == nonJoiner || r >= firstTag && r <= lastTag || unicode.Is(unicode.Variation_Selector, r)
}
