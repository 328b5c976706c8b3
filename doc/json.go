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
