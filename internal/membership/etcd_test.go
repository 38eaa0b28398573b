// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// besideEtcd compares the answer of etcd's server to a change with the decision
// here. It fails if the decision is Go and the server refuses.
func besideEtcd(t *testing.T, td *datadriven.TestData, s Snapshot) string {
	var d Decision
	var table, connected, takes bool
	switch td.CmdArgs[0].Key {
	case "add":
		d = DecideAdd(s, AddRequest{Name: "n", PeerURLs: []string{"http://10.0.0.99:2380"}})
		table, connected = etcdAdds(s)
		takes = connected // it is added as a learner, which the table does not check
	case "promote":
		id := idOf(argument(t, td, "id"))
		r := PromoteRequest{ID: id, Before: s.Answer(id)}
		r.Before.Applied--
		d = DecidePromote(s, r)
		table, connected = etcdPromotes(s), true
		takes = table
	case "remove":
		id := idOf(argument(t, td, "id"))
		d = DecideRemove(s, RemoveRequest{ID: id})
		table, connected = etcdRemoves(s, id)
		takes = table && connected
	}
	if d.Verdict == Go && !takes {
		t.Errorf("%s: etcd refuses what is gone on with here", td.Pos)
	}
	yes := map[bool]string{true: "yes", false: "no"}
	return fmt.Sprintf("etcd: started enough %s, connected enough %s\nhere: %s", yes[table], yes[connected], show(d))
}

// started returns the number of voters except one, how many of them have ever
// published a name, and how many are connected.
func started(s Snapshot, but MemberID) (voters, ready, connected int) {
	for _, m := range s.Voters() {
		if m.ID == but {
			continue
		}
		voters++
		if m.Name != "" {
			ready++
		}
		if s.answers(m.ID) {
			connected++
		}
	}
	return voters, ready, connected
}

// etcdAdds: the started voters are a quorum with one voter more, or one voter
// becomes two; and the voters connected for 5 s are such a quorum too, or on
// older releases all of them.
func etcdAdds(s Snapshot) (table, connected bool) {
	voters, ready, alive := started(s, 0)
	table = ready == 1 && voters == 1 || 2*ready > voters+1
	if old, _ := s.tooOld(wantsEveryVoter); len(old) > 0 {
		return table, alive == voters
	}
	return table, voters == 1 || 2*alive > voters+1
}

// etcdPromotes: the started voters and the learner, started or not, are a quorum.
func etcdPromotes(s Snapshot) bool {
	voters, ready, _ := started(s, 0)
	return 2*(ready+1) > voters+1
}

// etcdRemoves: the started voters of the rest are a quorum of it; and if the subject
// is connected, so are the connected voters of the rest. A learner is exempt.
func etcdRemoves(s Snapshot, id MemberID) (table, connected bool) {
	if m, _ := s.Member(id); m.Learner {
		return true, true
	}
	voters, ready, alive := started(s, id)
	quorum := voters/2 + 1
	return ready >= quorum, !s.answers(id) || alive >= quorum
}
