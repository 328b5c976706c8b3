package doc

// MarshalJSON returns the canonical encoding. Note that encoding/json escapes
// <, > and & in what it embeds, which is the same value in other bytes.
func (v Value) MarshalJSON() ([]byte, error) { return v.Encode(), nil }

// UnmarshalJSON parses data as [Parse] does, with the default limits.
func (v *Value) UnmarshalJSON(data []byte) error {
	w, err := Parse(data, nil)
	if err != nil {
		return err
	}
	*v = w
	return nil
}

// String returns the wire form, or why there is none.
func (op Op) String() string { return wire(op.MarshalJSON()) }

// String returns the wire form, or why there is none.
func (e Edit) String() string { return wire(e.MarshalJSON()) }

// String returns the journal's form.
func (e Effects) String() string { return string(e.AppendJSON(nil)) }

func wire(text []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(text)
}
