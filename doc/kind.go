package doc

// Kind says what a [Value] is. The kinds are those of JSON, with numbers parted
// into integers and floats.
type Kind uint8

// The kinds of values. KindNull is the zero value of Kind, as null is of Value.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindList
	KindObject
)

// String returns the name of the kind in lower case, such as "int" or "object".
func (k Kind) String() string {
	switch k {
	case KindNull:
		return "null"
	case KindBool:
		return "bool"
	case KindInt:
		return "int"
	case KindFloat:
		return "float"
	case KindString:
		return "string"
	case KindList:
		return "list"
	case KindObject:
		return "object"
	default:
		return "unknown"
	}
}
