package schema

// circles refuses rules that come back to themselves for the same value: checking would not
// end.
func (b *builder) circles() {
	state := make(map[*rule]mark, len(b.made))
	for _, r := range b.order {
		b.visit(r, state)
	}
}

type mark uint8

const (
	underway mark = iota + 1
	finished
)

func (b *builder) visit(r *rule, state map[*rule]mark) {
	if r == nil || state[r] == finished {
		return
	}
	if state[r] == underway {
		b.fault(r.source, "", "it refers to itself without looking deeper into the value")
		return
	}
	state[r] = underway
	for _, next := range r.inPlace() {
		b.visit(next, state)
	}
	state[r] = finished
}

// inPlace are the rules for the same value.
func (r *rule) inPlace() []*rule {
	all := append([]*rule(nil), r.all...)
	if o := r.choices; o != nil {
		all = append(all, o.not, o.test, o.yes, o.no)
		all = append(all, o.any...)
		all = append(all, o.one...)
	}
	if r.object != nil {
		for _, d := range r.object.then {
			all = append(all, d.rule)
		}
	}
	return all
}
