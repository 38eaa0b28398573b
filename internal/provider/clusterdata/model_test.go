// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// observed returns an observation of voters a, b and c and learner d, by the
// answers of those that answer. A list of one is not confirmed.
func observed(answers map[string]membership.Answer) look {
	s := membership.Snapshot{ClusterID: 0xc1, Linearizable: len(answers) > 1, Answers: map[membership.MemberID]membership.Answer{}}
	for i, name := range []string{"a", "b", "c", "d"} {
		id, url := membership.MemberID(i+1), "http://"+name+":2379"
		s.Members = append(s.Members, membership.Member{ID: id, Name: name, Learner: name == "d", PeerURLs: []string{"http://" + name + ":2380"}, ClientURLs: []string{url}})
		a, ok := answers[name]
		if !ok {
			s.Answers[id] = membership.Answer{State: membership.Silent, Endpoint: url, Detail: "connection refused"}
			continue
		}
		a.State, a.Endpoint, a.MemberID, a.ClusterID, a.Learner, a.Version, a.DBSize = membership.Answered, url, id, s.ClusterID, name == "d", "3.6.16", 4096
		s.Answers[id] = a
	}
	return look{now: s}
}

// What an observation becomes. What is advised, and in which words, is tested in
// packages membership and text.
func TestModel(t *testing.T) {
	t.Parallel()
	voter := membership.Answer{Leader: 1, Term: 7, Index: 500, Applied: 490, ReadOK: true}
	full := voter
	full.Alarms = []membership.Alarm{{Member: 2, Kind: "NOSPACE"}}
	learner := membership.Answer{Leader: 1, Term: 7, Index: 500, Applied: 300}
	alone := membership.Answer{Term: 8, Index: 500, Applied: 500}
	member := func(id, name string) memberSeen {
		return memberSeen{ID: id, Name: name, Role: "voter", Endpoint: "http://" + name + ":2379", PeerURLs: []string{"http://" + name + ":2380"}, ClientURLs: []string{"http://" + name + ":2379"}}
	}
	dead := func(id, name string) memberSeen {
		m := member(id, name)
		m.Answer = fmt.Sprintf("%s (%s) does not answer (%s: connection refused).", name, id, m.Endpoint)
		return m
	}
	told := func(id, name, answer string, applied, lag int64) memberSeen {
		m := member(id, name)
		m.Version, m.Told, m.DBSize, m.RaftTerm, m.RaftIndex, m.RaftApplied, m.Lag, m.Answer = "3.6.16", true, 4096, 7, 500, applied, lag, answer
		m.Alive = answer == fmt.Sprintf("%s (%s) is alive.", name, id)
		return m
	}
	leader := told("1", "a", "a (1) is alive.", 490, 10)
	leader.Leads = true
	behind := told("4", "d", "d (4) is alive.", 300, 200)
	behind.Role = "learner"
	survivor := told("1", "a", "a (1) answers, but serves no linearizable read (http://a:2379).", 500, 0)
	survivor.RaftTerm = 8
	standby := dead("4", "d")
	standby.Role = "learner"
	voters := []string{"http://a:2379", "http://b:2379", "http://c:2379"}
	for name, c := range map[string]struct {
		answers map[string]membership.Answer
		want    seen
	}{
		"a dead voter, a full one, and a learner": {map[string]membership.Answer{"a": voter, "b": full, "d": learner}, seen{
			ClusterID: "c1", Leader: "1", Term: 7, Reachable: true, Voters: 3, Quorum: 2, VoterEndpoints: voters, Alarms: []string{"NOSPACE 2"},
			Members: []memberSeen{leader, told("2", "b", "b (2) is alive.", 490, 10), dead("3", "c"), behind},
		}},
		"no quorum": {map[string]membership.Answer{"a": alone}, seen{
			ClusterID: "c1", Reachable: true, Voters: 3, Quorum: 2, VoterEndpoints: voters, Survivor: "a 1 voter 4096 8 500 500",
			Members: []memberSeen{survivor, dead("2", "b"), dead("3", "c"), standby},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var m model
			if diags := m.fromLook(t.Context(), observed(c.answers)); diags.HasError() {
				t.Fatal(diags)
			}
			got := seenIn(t, m)
			if len(got.Advice) == 0 {
				t.Error("nothing is advised")
			}
			got.Advice = nil
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("saw\n%+v\nwant\n%+v", got, c.want)
			}
		})
	}

	t.Run("nobody answers", func(t *testing.T) {
		var m model
		if diags := m.fromError(t.Context(), errors.New("refused")); diags.HasError() {
			t.Fatal(diags)
		}
		if got, want := seenIn(t, m), (seen{VoterEndpoints: []string{}, Advice: []string{"The cluster could not be read: refused."}}); !reflect.DeepEqual(got, want) {
			t.Errorf("saw\n%+v\nwant\n%+v", got, want)
		}
		if !m.Leader.IsNull() || !m.Quorum.IsNull() || !m.ClusterID.IsNull() {
			t.Errorf("%+v: want null", m)
		}
	})
}
