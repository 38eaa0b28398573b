// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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

// What an observation becomes is in testdata/model.txt. What is advised, and in which words, is
// tested in packages membership and text. UPDATE=1 rewrites the file.
func TestModel(t *testing.T) {
	t.Parallel()
	voter := membership.Answer{Leader: 1, Term: 7, Index: 500, Applied: 490, ReadOK: true}
	full, secure := voter, voter
	secure.CertificateEnd = time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	full.Alarms = []membership.Alarm{{Member: 2, Kind: "NOSPACE"}}
	learner := membership.Answer{Leader: 1, Term: 7, Index: 500, Applied: 300}
	var out strings.Builder
	show := func(name string, got model) {
		if len(got.Advice) == 0 || got.VoterEndpoints == nil || got.Members == nil || got.Alarms == nil {
			t.Errorf("%s: nothing is advised, or a list is null", name)
		}
		var survivor survivorModel
		if got.Survivor != nil {
			survivor, got.Survivor = *got.Survivor, nil
		}
		got.Advice = nil
		text := strings.ReplaceAll(fmt.Sprintf("%+v", got), "{survivorModel:", "\n  {")
		fmt.Fprintf(&out, "== %s\n%s\nsurvivor %+v\n\n", name, text, survivor)
	}
	show("a dead voter, a full one, and a learner", fromLook(observed(map[string]membership.Answer{"a": secure, "b": full, "d": learner})))
	show("no quorum", fromLook(observed(map[string]membership.Answer{"a": {Term: 8, Index: 500, Applied: 500}})))
	show("nobody answers", fromError(errors.New("refused")))
	must.BeGolden(t, "testdata/model.txt", out.String())
}
