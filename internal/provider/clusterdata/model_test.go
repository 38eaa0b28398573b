// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

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
	full, secure := voter, voter
	secure.CertificateEnd = time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	full.Alarms = []membership.Alarm{{Member: 2, Kind: "NOSPACE"}}
	learner := membership.Answer{Leader: 1, Term: 7, Index: 500, Applied: 300}
	alone := membership.Answer{Term: 8, Index: 500, Applied: 500}
	text, number := types.StringValue, types.Int64Value
	dead := func(id, name, role string) memberModel {
		client := "http://" + name + ":2379"
		return memberModel{
			survivorModel: survivorModel{ID: text(id), Name: name, Role: role},
			Answer:        fmt.Sprintf("%s (%s) does not answer (%s: connection refused).", name, id, client),
			Endpoint:      text(client), PeerURLs: []string{"http://" + name + ":2380"}, ClientURLs: []string{client},
		}
	}
	told := func(id, name, role string, term, applied, lag int64) memberModel {
		m := dead(id, name, role)
		m.Version, m.DBSize, m.RaftTerm, m.RaftIndex, m.RaftAppliedIndex, m.Lag = text("3.6.16"), number(4096), number(term), number(500), number(applied), number(lag)
		m.Alive, m.Answer = true, fmt.Sprintf("%s (%s) is alive.", name, id)
		return m
	}
	leader := told("1", "a", "voter", 7, 490, 10)
	leader.Leader, leader.CertificateExpiresAt = true, text("2026-11-27T01:00:00Z")
	survivor := told("1", "a", "voter", 8, 500, 0)
	survivor.Alive, survivor.Lag, survivor.Answer = false, types.Int64Null(), "a (1) answers, but serves no linearizable read (http://a:2379)."
	all := model{
		ClusterID: text("c1"), Reachable: true, Voters: number(3), Quorum: number(2), FailureTolerance: number(0),
		VoterEndpoints: []string{"http://a:2379", "http://b:2379", "http://c:2379"},
	}
	led, lost := all, all
	led.Leader, led.Term, led.Alarms = text("1"), number(7), []alarmModel{{text("2"), "NOSPACE"}}
	led.Members = []memberModel{leader, told("2", "b", "voter", 7, 490, 10), dead("3", "c", "voter"), told("4", "d", "learner", 7, 300, 200)}
	lost.Alarms, lost.Survivor = []alarmModel{}, &survivor.survivorModel
	lost.Members = []memberModel{survivor, dead("2", "b", "voter"), dead("3", "c", "voter"), dead("4", "d", "learner")}
	for name, c := range map[string]struct {
		answers map[string]membership.Answer
		want    model
	}{
		"a dead voter, a full one, and a learner": {map[string]membership.Answer{"a": secure, "b": full, "d": learner}, led},
		"no quorum": {map[string]membership.Answer{"a": alone}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			got := fromLook(observed(c.answers))
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
		want := model{VoterEndpoints: []string{}, Members: []memberModel{}, Alarms: []alarmModel{}, Advice: []string{"The cluster could not be read: refused."}}
		if got := fromError(errors.New("refused")); !reflect.DeepEqual(got, want) {
			t.Errorf("saw\n%+v\nwant\n%+v", got, want)
		}
	})
}
