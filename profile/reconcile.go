package profile

import "github.com/shoalworks/shoal/doc"

// reconciled is data with what the template has and it lacks. Present values, members that
// the template does not know, and lists stay as they are. It is pure.
func reconciled(template, data doc.Value) doc.Value {
	ops := missing(nil, doc.Path{}, template, data)
	out, err := doc.Apply(data, ops...)
	if err != nil {
		// The template would nest deeper than documents may: the data is fine without it.
		return data
	}
	return out
}

func missing(ops []doc.Op, at doc.Path, template, data doc.Value) []doc.Op {
	for name, want := range template.Members() {
		have, ok := data.Member(name)
		switch {
		case !ok:
			ops = append(ops, doc.Set(at.Append(name), want))
		case want.Kind() == doc.KindObject && have.Kind() == doc.KindObject:
			ops = missing(ops, at.Append(name), want, have)
		}
	}
	return ops
}
