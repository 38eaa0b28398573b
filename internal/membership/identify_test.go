// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

func TestIdentify(t *testing.T) {
	const (
		urlA, urlD, urlX = "http://10.0.0.1:2380", "http://10.0.0.4:2380", "http://10.0.0.9:2380"
	)
	a := Member{ID: 1, Name: "a", PeerURLs: []string{urlA}, ClientURLs: []string{"http://10.0.0.1:2379"}}
	announced := Member{ID: 4, PeerURLs: []string{urlD}, Learner: true}
	started := Member{ID: 4, Name: "d", PeerURLs: []string{urlD}, ClientURLs: []string{"http://10.0.0.4:2379"}, Learner: true}
	voter := started
	voter.Learner = false
	moved := started
	moved.PeerURLs = []string{urlX}
	unstarted := announced
	unstarted.Learner = false
	elsewhere := announced
	elsewhere.PeerURLs = []string{urlX}

	ours := Ownership{Recorded: true, ID: 4, PeerURLs: []string{urlD}}
	intent := Ownership{Recorded: true, PeerURLs: []string{urlD}}
	another := Ownership{Recorded: true, ID: 5, PeerURLs: []string{urlD}}
	left := Ownership{Recorded: true, ID: 4, PeerURLs: []string{urlD}, Removed: true}

	for _, c := range []struct {
		name    string
		member  *Member // in addition to a
		initial bool
		claim   Ownership
		others  []Ownership
		step    Step
		id      MemberID
		code    Code
	}{
		{name: "absent", step: StepAnnounce},
		{name: "absent, recorded: removed by someone else", claim: ours, step: StepAnnounce},
		{name: "somebody else's that never started, in a forged record", member: &elsewhere, claim: ours, code: MovedMember},
		{name: "absent, left", claim: left, step: StepAnnounce},
		{name: "absent, intent only", claim: intent, step: StepAnnounce},
		{name: "announced and ours", member: &announced, claim: ours, step: StepAdopt, id: 4},
		{name: "started and ours", member: &started, claim: ours, step: StepAdopt, id: 4},
		{name: "voting and ours", member: &voter, claim: ours, step: StepAdopt, id: 4},
		{name: "intent, announced", member: &announced, claim: intent, step: StepAdopt, id: 4},
		{name: "intent, started meanwhile", member: &started, claim: intent, step: StepAdopt, id: 4},
		{name: "ours with other URLs, never started", member: &elsewhere, claim: Ownership{Recorded: true, ID: 4, PeerURLs: []string{urlX}}, step: StepWithdraw, id: 4},
		{name: "ours with other URLs, running", member: &moved, claim: ours, code: MovedMember},
		{name: "announced by someone else", member: &announced, code: AnnouncedElsewhere},
		{name: "announced by a run that was cut short", member: &announced, others: []Ownership{ours}, step: StepTakeOver, id: 4},
		{name: "announced by a run that was cut short before it knew", member: &announced, others: []Ownership{intent}, step: StepTakeOver, id: 4},
		{name: "cut short, started meanwhile", member: &started, others: []Ownership{ours}, code: AlreadyMember},
		{name: "cut short, voting meanwhile", member: &voter, others: []Ownership{ours}, code: AlreadyMember},
		{name: "cut short, announced as a voter", member: &unstarted, others: []Ownership{ours}, code: AnnouncedElsewhere},
		{name: "cut short, removed since", member: &announced, others: []Ownership{left}, code: AnnouncedElsewhere},
		{name: "cut short, and announced by someone else since", member: &announced, others: []Ownership{another}, code: AnnouncedElsewhere},
		{name: "cut short, with other URLs", member: &elsewhere, others: []Ownership{ours}, step: StepAnnounce},
		{name: "cut short, and nothing left of it", others: []Ownership{ours}, step: StepAnnounce},
		{name: "started, not ours", member: &started, code: AlreadyMember},
		{name: "voting, not ours", member: &voter, code: AlreadyMember},
		{name: "back under our URLs after we left", member: &voter, claim: left, code: AlreadyMember},
		{name: "the name is taken", member: &moved, code: NameTaken},
		{name: "the name is taken, intent only", member: &moved, claim: intent, code: NameTaken},
		{name: "an initial member in the list", member: &voter, initial: true, step: StepAdopt, id: 4},
		{name: "an initial member that is a learner", member: &started, initial: true, code: AlreadyMember},
		{name: "an initial member that is missing", initial: true, code: InitialMissing},
		{name: "an initial member that left", initial: true, claim: left, step: StepAnnounce},
		{name: "an initial member removed by someone else", initial: true, claim: ours, step: StepAnnounce},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Snapshot{Members: []Member{a}}
			if c.member != nil {
				s.Members = append(s.Members, *c.member)
			}
			r := IdentifyRequest{Name: "d", PeerURLs: []string{urlD}, Ownership: c.claim, Abandoned: c.others}
			if c.initial {
				r.Bootstrap = InitialMember
			}
			got := Identify(s, r)
			if got.Step != c.step || got.ID != c.id || got.Code != c.code {
				t.Errorf("got step %d, ID %s, code %q; want %d, %s, %q", got.Step, got.ID, got.Code, c.step, c.id, c.code)
			}
		})
	}

	t.Run("a cluster that one member formed alone", func(t *testing.T) {
		d := Member{ID: 4, Name: "d", PeerURLs: []string{urlD}}
		alone := Snapshot{ClusterID: ComputeClusterID([]MemberID{1}), Members: []Member{a}}
		own := Snapshot{ClusterID: ComputeClusterID([]MemberID{4}), Members: []Member{d}}
		grown := Snapshot{ClusterID: ComputeClusterID([]MemberID{4}), Members: []Member{a, d}}
		shrunk := Snapshot{ClusterID: ComputeClusterID([]MemberID{1, 4, 5}), Members: []Member{d}}
		nameless := Snapshot{ClusterID: ComputeClusterID([]MemberID{1, 4}), Members: []Member{a, {ID: 4, PeerURLs: []string{urlD}}}}
		again := Snapshot{ClusterID: ComputeClusterID([]MemberID{1, 3}), Members: []Member{a, {ID: 4, PeerURLs: []string{urlD}}}}
		learner := Snapshot{ClusterID: ComputeClusterID([]MemberID{4}), Members: []Member{a, {ID: 4, Learner: true, PeerURLs: []string{urlD}}}}
		for _, c := range []struct {
			name      string
			s         Snapshot
			initial   int
			bootstrap Bootstrap
			claim     Ownership
			step      Step
			code      Code
		}{
			{"by the initial member itself", own, 3, InitialMember, Ownership{}, StepRefuse, FormedAlone},
			{"by another initial member", alone, 3, InitialMember, Ownership{}, StepRefuse, FormedAlone},
			{"that others joined", grown, 3, InitialMember, Ownership{}, StepRefuse, FormedAlone},
			{"that is to be joined", alone, 3, LaterMember, Ownership{}, StepRefuse, FormedAlone},
			{"as it should", own, 1, InitialMember, Ownership{}, StepAdopt, ""},
			{"long ago", alone, 0, LaterMember, Ownership{}, StepAnnounce, ""},
			{"and that is known to be ours", own, 3, InitialMember, ours, StepAdopt, ""},
			{"is not what shrank to one", shrunk, 3, InitialMember, Ownership{}, StepAdopt, ""},
			{"and one has no name yet", nameless, 2, InitialMember, Ownership{}, StepAdopt, ""},
			{"and one has no name yet, that joins", nameless, 2, LaterMember, Ownership{}, StepRefuse, AnnouncedElsewhere},
			{"and one has no name yet, that left", nameless, 2, InitialMember, left, StepRefuse, AnnouncedElsewhere},
			{"and one was removed and added again", again, 2, InitialMember, Ownership{}, StepRefuse, AnnouncedElsewhere},
			{"is told by voters", learner, 3, InitialMember, Ownership{}, StepRefuse, AnnouncedElsewhere},
		} {
			got := Identify(c.s, IdentifyRequest{Name: "d", PeerURLs: []string{urlD}, Bootstrap: c.bootstrap, InitialMembers: c.initial, Ownership: c.claim})
			if got.Step != c.step || got.Code != c.code {
				t.Errorf("%s: got step %d, code %q; want %d, %q", c.name, got.Step, got.Code, c.step, c.code)
			}
		}
	})

	t.Run("an initial member of another name", func(t *testing.T) {
		other := voter
		other.Name = "z"
		got := Identify(Snapshot{Members: []Member{a, other}}, IdentifyRequest{Name: "d", PeerURLs: []string{urlD}, Bootstrap: InitialMember})
		if got.Step != StepRefuse || got.Code != InitialRenamed {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("an initial member whose place another configuration's member has", func(t *testing.T) {
		r := IdentifyRequest{Name: "d", PeerURLs: []string{urlD}, Bootstrap: InitialMember, Owned: []MemberID{a.ID}}
		if got := Identify(Snapshot{Members: []Member{a, voter}}, r); got.Step != StepAdopt {
			t.Errorf("on record for nobody: %+v", got)
		}
		r.Owned = append(r.Owned, voter.ID)
		if got := Identify(Snapshot{Members: []Member{a, voter}}, r); got.Step != StepRefuse || got.Code != AlreadyMember {
			t.Errorf("on record for another owner: %+v", got)
		}
	})
}

func TestCheckName(t *testing.T) {
	urls := []string{"http://10.0.0.4:2379"}
	for _, c := range []struct {
		name string
		m    Member
		ok   bool
	}{
		{"as wanted", Member{ID: 4, Name: "d", ClientURLs: urls}, true},
		{"as wanted, a learner", Member{ID: 4, Name: "d", ClientURLs: urls, Learner: true}, true},
		{"not published", Member{ID: 4, Learner: true}, true},
		{"an initial member that has not run", Member{ID: 4, Name: "z"}, true},
		{"another", Member{ID: 4, Name: "z", ClientURLs: urls, Learner: true}, false},
		{"another, with a vote", Member{ID: 4, Name: "z", ClientURLs: urls}, false},
	} {
		got, ok := CheckName(c.m, "d")
		if ok != c.ok || !ok && (got.Step != StepRefuse || got.Code != OtherName || got.Facts.Subject != 4 || got.Facts.Detail != "d") {
			t.Errorf("%s: %t, %+v", c.name, ok, got)
		}
	}
}
