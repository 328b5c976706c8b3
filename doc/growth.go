package doc

// Growth names the place to blame when a document became too large, and by how
// many bytes that place grew. From the whole document it descends into members
// of objects as long as one of them accounts for more than half of the growth.
// If after is not larger than before, the place is the whole document and the
// number is not positive.
func Growth(before, after Value) (Path, int) {
	var at Path
	grown := after.Size() - before.Size()
	for grown > 0 {
		g := mostGrown(before, after)
		if 2*g.bytes <= grown {
			break
		}
		at, grown = at.Append(g.name), g.bytes
		before, after = g.before, g.after
	}
	return at, grown
}

type growth struct {
	name          string
	bytes         int
	before, after Value
}

// mostGrown is the member that grew most; a new one grew from nothing.
func mostGrown(before, after Value) growth {
	var most growth
	if before.kind != KindObject || after.kind != KindObject {
		return most
	}
	walkMembers(before, after, func(name string, x, y Value, in side) {
		bytes := y.Size()
		switch in {
		case inBoth:
			bytes -= x.Size()
		case onlyLeft:
			bytes = 0
		case onlyRight:
		}
		if bytes > most.bytes {
			most = growth{name, bytes, x, y}
		}
	})
	return most
}
