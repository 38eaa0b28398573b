// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"encoding/binary"
	"slices"
	"testing"
)

// FuzzDecisions compares the decisions with the naive rules over clusters of up to twelve
// members: a byte for each member, and
// one for the leader and the list.
func FuzzDecisions(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1})
	f.Add([]byte{0, 0, 4, 9, 2})
	f.Add([]byte{0, 1, 2, 3, 6, 7, 8, 11, 0x83})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 13 {
			return
		}
		states, rest := data[:len(data)-1], data[len(data)-1]
		w := world{moved: rest&0x80 != 0, leader: int(rest&0x7f)%(len(states)+1) - 1}
		for _, b := range states {
			w.members = append(w.members, mind(b%byte(minds)))
		}
		slices.Sort(w.members)
		c := campaign{t: t}
		c.visit(w)
	})
}

// FuzzSnapshot passes snapshots to the decisions that no cluster returns: members
// that are listed twice, answers of unlisted members, learners that lead. In
// every case a change needs a list that was confirmed, by a quorum of voters that
// answer.
func FuzzSnapshot(f *testing.F) {
	well := func(id byte) []byte { return []byte{0, id, byte(Answered), 1, 1, 0, 9} }
	f.Add(slices.Concat([]byte{0, 2}, well(1), well(2), well(3)))                       // Go
	f.Add(slices.Concat([]byte{0, 2}, well(1), well(2), []byte{0, 3, 0, 0, 0, 0, 0}))   // a member does not answer
	f.Add(slices.Concat([]byte{1, 2}, well(1), well(2), well(3)))                       // not confirmed
	f.Add(slices.Concat([]byte{0, 3}, well(1), well(1), well(3), []byte{255, 3, 1, 1})) // a member is listed twice
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		s, subject := wildSnapshot(data)
		going := func(d Decision) bool { return d.Verdict == Go }
		changes := map[string]Decision{
			"add":     DecideAdd(s, AddRequest{Name: "new", PeerURLs: []string{"http://10.0.0.99:2380"}}),
			"promote": DecidePromote(s, PromoteRequest{ID: subject, Before: s.Answer(subject)}),
			"remove":  DecideRemove(s, RemoveRequest{ID: subject}),
			"replace": DecideRemove(s, RemoveRequest{ID: subject, Replacement: true}),
			"update":  DecideUpdate(s, UpdateRequest{ID: subject, PeerURLs: []string{"http://10.0.0.99:2380"}}),
		}
		voters, heard := 0, 0
		for _, m := range s.Members {
			if m.Learner {
				continue
			}
			voters++
			if a := s.Answer(m.ID); a.State == Answered && a.MemberID == m.ID && a.ClusterID == s.ClusterID {
				heard++
			}
		}
		for what, d := range changes {
			if going(d) && (!s.Linearizable || heard < voters/2+1) {
				t.Errorf("%s goes with %d of %d voters heard, list confirmed: %v\n%+v", what, heard, voters, s.Linearizable, s)
			}
		}
	})
}

// wildSnapshot makes a snapshot from any bytes, and picks a subject.
func wildSnapshot(data []byte) (Snapshot, MemberID) {
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	s := Snapshot{ClusterID: here, Linearizable: next()&1 == 0, Answers: map[MemberID]Answer{}}
	subject := MemberID(next() % 8)
	for len(data) > 0 && len(s.Members) < 12 {
		bits := next()
		id := MemberID(next() % 8)
		m := Member{ID: id, Learner: bits&1 != 0, PeerURLs: []string{"http://10.0.0.1:2380"}}
		if bits&2 == 0 {
			m.Name = string(rune('a' + id))
		}
		s.Members = append(s.Members, m)
		a := Answer{
			State: AnswerState(next() % 5), MemberID: id, ClusterID: here, Leader: MemberID(next() % 8), Term: uint64(next() % 3),
			Index: uint64(binary.BigEndian.Uint16([]byte{next(), next()})), Learner: bits&4 != 0, ReadOK: bits&8 == 0, Version: "3.6.1",
		}
		a.Applied = a.Index
		if bits&16 != 0 {
			a.Alarms = []Alarm{{Member: MemberID(next() % 8), Kind: [...]string{AlarmNoSpace, AlarmCorrupt}[next()%2]}}
		}
		if bits&32 != 0 {
			a.MemberID++
		}
		if bits&64 != 0 {
			a.ClusterID = elsewhere
		}
		if bits&128 == 0 {
			s.Answers[id] = a
		}
	}
	return s, subject
}
