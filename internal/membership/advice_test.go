// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
)

// wellCluster returns a cluster with that many healthy voters, led by the first.
func wellCluster(voters int) Snapshot {
	s := Snapshot{ClusterID: 9, Linearizable: true, Answers: map[MemberID]Answer{}, Others: map[ClusterID][]string{}}
	for i := range voters {
		id := MemberID(i + 1)
		s.Members = append(s.Members, Member{ID: id, Name: string(rune('a' + i)), ClientURLs: []string{"http://h:1"}})
		s.Answers[id] = Answer{
			State: Answered, MemberID: id, ClusterID: 9, Leader: 1, Term: 2, Index: 50_000, Applied: 50_000, ReadOK: true, Version: "3.6.16",
		}
	}
	return s
}

// with returns the cluster after f has changed the answer of a member.
func (s Snapshot) with(id MemberID, f func(*Answer)) Snapshot {
	a := s.Answers[id]
	f(&a)
	s.Answers[id] = a
	return s
}

func silent(a *Answer) { *a = Answer{State: Silent} }

// withLearner returns the cluster with a learner that has that applied index.
func (s Snapshot) withLearner(applied uint64) Snapshot {
	id := MemberID(len(s.Members) + 1)
	s.Members = append(slices.Clone(s.Members), Member{ID: id, Name: "l", ClientURLs: []string{"http://h:1"}, Learner: true})
	s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 9, Leader: 1, Term: 2, Applied: applied, Learner: true, Version: "3.6.16"}
	return s
}

func TestAdvise(t *testing.T) {
	noLeader := wellCluster(3)
	for id := range noLeader.Answers {
		noLeader = noLeader.with(id, func(a *Answer) { a.Leader, a.ReadOK = 0, false })
	}
	moved := wellCluster(3)
	moved.Linearizable = false
	mixed := wellCluster(3)
	mixed.Others[7] = []string{"http://other:2379"}
	lost := wellCluster(3).with(1, silent).with(2, silent)
	lost.Linearizable = false
	lost = lost.with(3, func(a *Answer) { a.Leader, a.ReadOK = 0, false })
	unstarted := wellCluster(3)
	unstarted.Members = append(unstarted.Members, Member{ID: 4, Learner: true})

	for name, tt := range map[string]struct {
		s         Snapshot
		before    Snapshot
		seen      map[MemberID]bool
		want      []Warning
		healthy   bool
		tolerance int
	}{
		"well":  {s: wellCluster(3), healthy: true, tolerance: 1},
		"seven": {s: wellCluster(7), healthy: true, tolerance: 3},
		"one":   {s: wellCluster(1), healthy: true, want: []Warning{{ToleranceZero, Facts{Voters: 1, Quorum: 1, Alive: 1}}}},
		"two": {s: wellCluster(2), healthy: true, want: []Warning{
			{ToleranceZero, Facts{Voters: 2, Quorum: 2, Alive: 2}}, {EvenVoters, Facts{Voters: 2, Quorum: 2, Alive: 2}},
		}},
		"four": {s: wellCluster(4), healthy: true, tolerance: 1, want: []Warning{{EvenVoters, Facts{Voters: 4, Quorum: 3, Alive: 4}}}},
		"one down": {s: wellCluster(3).with(2, silent), seen: map[MemberID]bool{2: false}, want: []Warning{
			{MemberDown, Facts{Others: []MemberID{2}}}, {ToleranceZero, Facts{Voters: 3, Quorum: 2, Alive: 2}},
		}},
		"two of five, one of them only from here": {s: wellCluster(5).with(2, silent).with(3, silent), seen: map[MemberID]bool{2: true}, want: []Warning{
			{MemberDown, Facts{Others: []MemberID{3}}}, {SilentHere, Facts{Others: []MemberID{2}}}, {ToleranceZero, Facts{Voters: 5, Quorum: 3, Alive: 3}},
		}},
		"no reads from one": {s: wellCluster(3).with(3, func(a *Answer) { a.ReadOK = false }), want: []Warning{
			{MemberDown, Facts{Others: []MemberID{3}}}, {ToleranceZero, Facts{Voters: 3, Quorum: 2, Alive: 2}},
		}},
		"another's process": {s: wellCluster(3).with(3, func(a *Answer) { a.State = WrongCluster }), want: []Warning{
			{MemberDown, Facts{Others: []MemberID{3}}}, {ToleranceZero, Facts{Voters: 3, Quorum: 2, Alive: 2}},
		}},
		"answered by another": {s: wellCluster(3).with(3, func(a *Answer) { *a = Answer{State: Unprobed, MemberID: 1} }), want: []Warning{
			{NotProbed, Facts{Others: []MemberID{3}}}, {ToleranceZero, Facts{Voters: 3, Quorum: 2, Alive: 2}},
		}},
		"only one can be asked": {s: wellCluster(3).with(2, silent).with(3, silent), want: []Warning{
			{NotProbed, Facts{Others: []MemberID{2, 3}, Voters: 3, Quorum: 2, Alive: 1}},
		}},
		"quorum lost":        {s: lost, want: []Warning{{QuorumLost, Facts{Others: []MemberID{1, 2}, Voters: 3, Quorum: 2}}, {SurvivorLeft, Facts{Subject: 3}}}},
		"no leader":          {s: noLeader, want: []Warning{{NoLeader, Facts{Voters: 3, Quorum: 2}}}},
		"list moved":         {s: moved, tolerance: 1, want: []Warning{{ListMoved, Facts{}}}},
		"two clusters":       {s: mixed, tolerance: 1, want: []Warning{{MixedClusters, Facts{}}}},
		"an unstarted one":   {s: unstarted, tolerance: 1, want: []Warning{{MemberUnstarted, Facts{Others: []MemberID{4}}}}},
		"a learner":          {s: wellCluster(3).withLearner(49_500), healthy: true, tolerance: 1},
		"a learner far back": {s: wellCluster(3).withLearner(1), healthy: true, tolerance: 1},
		"a learner on its way": {
			s: wellCluster(3).withLearner(2000), before: wellCluster(3).withLearner(1), healthy: true, tolerance: 1,
		},
		"a learner that stands": {
			s: wellCluster(3).withLearner(1), before: wellCluster(3).withLearner(1), healthy: true, tolerance: 1,
			want: []Warning{{LearnerStands, Facts{Subject: 4, Lag: 49_999}}},
		},
		"alarms": {
			s: wellCluster(3).with(1, func(a *Answer) { a.Alarms = []Alarm{{3, "NOSPACE"}, {2, "NOSPACE"}} }).
				with(2, func(a *Answer) { a.Alarms = []Alarm{{2, "NOSPACE"}, {1, "CORRUPT"}} }),
			tolerance: 1,
			want:      []Warning{{AlarmRaised, Facts{Others: []MemberID{1}, Detail: "CORRUPT"}}, {AlarmRaised, Facts{Others: []MemberID{2, 3}, Detail: "NOSPACE"}}},
		},
		"mixed versions, one of them bad": {
			s: wellCluster(3).with(1, func(a *Answer) { a.Version = "3.5.19" }), healthy: true, tolerance: 1,
			want: []Warning{
				{MixedVersions, Facts{Others: []MemberID{1, 2, 3}}}, {KnownBadRelease, Facts{Others: []MemberID{1}, Detail: "etcd-io/etcd#19557"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.s.Advise(tt.before, tt.seen)
			if !slices.EqualFunc(got, tt.want, func(a, b Warning) bool {
				same := slices.Equal(a.Facts.Others, b.Facts.Others)
				a.Facts.Others, b.Facts.Others = nil, nil
				return same && a.Code == b.Code && a.Facts.Subject == b.Facts.Subject && a.Facts.Voters == b.Facts.Voters &&
					a.Facts.Quorum == b.Facts.Quorum && a.Facts.Alive == b.Facts.Alive && a.Facts.Lag == b.Facts.Lag && a.Facts.Detail == b.Facts.Detail
			}) {
				t.Errorf("advised %+v\nwant    %+v", got, tt.want)
			}
			if tt.s.Healthy() != tt.healthy || tt.s.FailureTolerance() != tt.tolerance {
				t.Errorf("healthy %v, tolerance %d, want %v, %d", tt.s.Healthy(), tt.s.FailureTolerance(), tt.healthy, tt.tolerance)
			}
		})
	}
}

func TestWitness(t *testing.T) {
	for name, tt := range map[string]struct {
		s    Snapshot
		want MemberID
	}{
		"the leader":           {wellCluster(3), 1},
		"the leader is silent": {wellCluster(3).with(1, silent), 2},
		"nobody":               {wellCluster(1).with(1, silent), 0},
	} {
		if got := tt.s.Witness(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
