// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

// stuck looks for a state with every machine alive from which the end is not
// reachable even without further failures.
func (q *search) stuck() {
	n := len(q.queue)
	q.first = append(q.first, uint32(len(q.edges)))
	into := make([]uint32, n+1)
	for _, to := range q.edges {
		into[to+1]++
	}
	for i := range n {
		into[i+1] += into[i]
	}
	back := make([]uint32, len(q.edges))
	at := append([]uint32(nil), into[:n]...)
	for from := range n {
		for _, to := range q.edges[q.first[from]:q.first[from+1]] {
			back[at[to]] = uint32(from)
			at[to]++
		}
	}
	good := make([]bool, n)
	work := append([]uint32(nil), q.goals...)
	for _, g := range work {
		good[g] = true
	}
	for len(work) > 0 {
		to := work[len(work)-1]
		work = work[:len(work)-1]
		for _, from := range back[into[to]:into[to+1]] {
			if !good[from] {
				good[from] = true
				work = append(work, from)
			}
		}
	}
	for i := range n {
		if q.hopes[i] && !good[i] {
			q.fault = &failure{what: "from here on the end cannot be reached", state: uint32(i)}
			return
		}
	}
}

// table assigns numbers to hashes.
type table struct {
	keys []uint64
	vals []uint32
	used int
}

// number returns the number of a hash. A new hash gets next.
func (t *table) number(h uint64, next uint32) (id uint32, known bool) {
	if h == 0 {
		h = 1
	}
	if 2*t.used >= len(t.keys) {
		t.grow()
	}
	mask := uint64(len(t.keys) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch t.keys[i] {
		case h:
			return t.vals[i], true
		case 0:
			t.keys[i], t.vals[i] = h, next
			t.used++
			return next, false
		}
	}
}

func (t *table) grow() {
	old := *t
	size := max(1<<12, 2*len(old.keys))
	*t = table{keys: make([]uint64, size), vals: make([]uint32, size)}
	for i, k := range old.keys {
		if k != 0 {
			t.number(k, old.vals[i])
		}
	}
}
