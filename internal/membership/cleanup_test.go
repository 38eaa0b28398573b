// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	mathbits "math/bits"
	"slices"
	"testing"
)

// contents is what a record and a configuration may contain about one member.
type contents struct {
	// nameOther, urlOther: the record is wrong about this. intent: the record has no ID.
	nameOther, urlOther, intent bool
	// configName, configURL: the configuration differs; noURL: it has no peer
	// URL.
	configName, configURL, noURL bool
	replacement                  bool
	// sight is what the leader reports about the member.
	sight sight
}

type sight uint8

const (
	untold sight = iota
	connected
	disconnected
	sights
)

func contentsOf(bits int) contents {
	on := func(n int) bool { return bits>>n&1 == 1 }
	return contents{on(0), on(1), on(2), on(3), on(4), on(5), on(6), sight(bits >> 7)}
}

// cleanUp returns the request for member i; index len(w.members) is not listed.
func (w world) cleanUp(i int, c contents) CleanUpRequest {
	id := MemberID(i + 1)
	url := []string{"http://10.0.0." + id.String() + ":2380"}
	r := CleanUpRequest{
		Name: nameOf(i), PeerURLs: url, RecordName: nameOf(i),
		Ownership: Ownership{Recorded: true, ID: id, PeerURLs: url}, Replacement: c.replacement,
	}
	set := func(on bool, f func()) {
		if on {
			f()
		}
	}
	set(c.nameOther, func() { r.RecordName = "recorded" })
	set(c.urlOther, func() { r.Ownership.PeerURLs = []string{"http://10.9.9.1:2380"} })
	set(c.intent, func() { r.Ownership.ID = 0 })
	set(c.configName, func() { r.Name = "configured" })
	set(c.configURL, func() { r.PeerURLs = []string{"http://10.9.9.2:2380"} })
	set(c.noURL, func() { r.PeerURLs = nil })
	set(c.sight != untold, func() { r.Seen = map[MemberID]bool{id: c.sight == connected} })
	return r
}

// naiveCleanUp: a member is not removed if any source contradicts, and a voter
// is removed only if both sides show that it is dead.
func (w world) naiveCleanUp(i int, c contents) verdict {
	if v, ok := w.naiveGate(); !ok {
		return v
	}
	if i == len(w.members) || c.intent && c.urlOther {
		return says(Done, "")
	}
	published := !w.fresh(i)
	contradicted := c.urlOther || c.configURL && !c.noURL || c.intent && w.voter(i)
	if published {
		contradicted = contradicted || c.configName
	} else if c.noURL {
		contradicted = contradicted || c.configName || c.nameOther || w.voter(i)
	}
	if contradicted {
		v := says(Done, "")
		v.warnings = []Code{RecordDisagrees}
		return v
	}
	if !w.voter(i) {
		return w.naiveRemove(i, false, nil)
	}
	mute := w.members[i] == vSilent || w.members[i] == vUnstarted || w.members[i] == vWrong
	leader, _, _ := w.agreed()
	if mute && leader != i && c.sight == disconnected {
		return w.naiveRemove(i, c.replacement, nil)
	}
	if c.replacement || mute && leader == i {
		return says(Wait, VoterLives)
	}
	v := says(Done, "")
	v.warnings = []Code{Unmanaged}
	return v
}

// TestCleanUpFromEveryCluster compares the decision with the naive rules over
// every cluster of up to three members, every possible report about each of them,
// and every way in which a record or a configuration may be wrong (with three
// members: only one at a time).
func TestCleanUpFromEveryCluster(t *testing.T) {
	goes := map[string]int{}
	for n := range 4 {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			c := campaign{t: t}
			worlds(n, func(w world) {
				s := w.snapshot()
				_, open := w.naiveGate()
				for _, i := range w.subjects() {
					for bits := range int(sights) << 7 {
						if !open && bits > 0 {
							break // every request meets the same closed gate
						}
						if n > 2 && mathbits.OnesCount(uint(bits&0x3f)) > 1 {
							continue // two faults at once are tried in smaller clusters
						}
						what := contentsOf(bits)
						d := DecideCleanUp(s, w.cleanUp(i, what))
						c.compare(w, fmt.Sprintf("clean up %+v", what), i, d, w.naiveCleanUp(i, what))
						if d.Verdict != Go {
							continue
						}
						if d.Facts.Subject != MemberID(i+1) || w.voter(i) && w.heard(i) {
							t.Fatalf("%s: clean up %+v removes %s instead of %d, or one that lives", w, what, d.Facts.Subject, i+1)
						}
						goes[map[bool]string{true: "voter", false: "learner"}[w.voter(i)]]++
					}
				}
			})
			t.Logf("%d decisions compared: %v", c.decisions, c.verdicts)
		})
	}
	if goes["voter"] == 0 || goes["learner"] == 0 {
		t.Errorf("some were never removed: %v", goes)
	}
}

// TestCleanUpClaimsNobody checks that the record of a removed member matches no
// member: neither a member that has its peer URLs now, nor the member with its ID.
func TestCleanUpClaimsNobody(t *testing.T) {
	w := world{members: []mind{vAlive, vAlive, vSilent}, leader: 0}
	r := w.cleanUp(2, contentsOf(int(disconnected)<<7))
	for name, claim := range map[string]Ownership{
		"no record":                     {ID: 3, PeerURLs: r.PeerURLs},
		"removed":                       {Recorded: true, Removed: true, ID: 3, PeerURLs: r.PeerURLs},
		"its URLs belong to another ID": {Recorded: true, ID: 9, PeerURLs: r.PeerURLs},
	} {
		r.Ownership = claim
		if d := DecideCleanUp(w.snapshot(), r); d.Verdict != Done || len(d.Warnings) > 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestPlace compares the rule with a naive statement, over each member of a cluster, what
// lives, what leaves, the versions, and which learners the servers were asked beside.
func TestPlace(t *testing.T) {
	t.Parallel()
	const voter, learner, other = MemberID(2), MemberID(0x91), MemberID(0x92)
	asks := 0
	for c := range 1 << 9 {
		is := func(bit int) bool { return c>>bit&1 == 1 }
		s := *plannedCluster(3)
		if is(0) {
			s.Members = s.Members[:3]
		}
		if is(1) {
			s.Members = append(s.Members, Member{ID: other, Name: "other", Learner: true, PeerURLs: []string{urlOf(other)}})
		}
		for _, m := range s.Members {
			a := s.Answers[m.ID]
			a.Version = "3.6.16"
			if is(2) && m.ID == 1 {
				a.Version = "3.4.13"
			}
			if is(3) && m.Learner || is(4) && m.ID == voter {
				a = Answer{State: Silent}
			}
			s.Answers[m.ID] = a
		}
		r := RemoveRequest{ID: voter, Replacement: is(5)}
		if is(6) {
			r.ID = learner
		}
		var accepted []MemberID
		if is(7) {
			r.Leaving = []MemberID{learner}
		}
		if is(8) {
			accepted = IDs(s.Learners())
		}

		// naive
		holds := !is(0) && !is(7) || is(1)
		living := r.ID == voter && !is(4)
		want := Go
		switch {
		case !is(5) || !living || !holds:
		case is(2):
			want = Refuse
		case !is(8) || is(7) && !is(0):
			want = Wait
		}
		d := DecidePlace(s, r, accepted)
		if d.Verdict != want || (want == Go) != (d.Code == "") || slices.Contains(d.Facts.Others, voter) {
			t.Fatalf("case %09b: %v %q %v, want %v", c, d.Verdict, d.Code, d.Facts.Others, want)
		}
		if want == Wait {
			asks++
			if d := DecidePlace(s, r, d.Facts.Others); d.Verdict != Go {
				t.Fatalf("case %09b: the servers were asked: %v", c, d.Verdict)
			}
		}
	}
	if asks == 0 {
		t.Error("the servers are never asked")
	}
}
