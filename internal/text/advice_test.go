// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestAdvice(t *testing.T) {
	m := func(id membership.MemberID, name string) membership.Member {
		return membership.Member{ID: id, Name: name, ClientURLs: []string{"http://" + name + ":2379"}}
	}
	s := membership.Snapshot{
		ClusterID: 0x2a,
		Members:   []membership.Member{m(1, "b"), m(2, "a"), m(3, "c")},
		Answers: map[membership.MemberID]membership.Answer{
			1: {State: membership.Answered, MemberID: 1, ClusterID: 0x2a, Version: "3.5.19", ReadOK: true},
			2: {State: membership.Answered, MemberID: 2, ClusterID: 0x2a, Version: "3.5.19", ReadOK: true},
			3: {State: membership.Silent, Endpoint: "http://c:2379", Detail: "connection refused"},
		},
		Others: map[membership.ClusterID][]string{0x2b: {"http://x:2379", "http://y:2379"}, 0x2c: {"http://z:2379"}},
	}
	mixed := s
	mixed.Answers = map[membership.MemberID]membership.Answer{1: s.Answers[1], 2: s.Answers[2], 3: {State: membership.Answered, MemberID: 3, ClusterID: 0x2a, Version: "3.6.16"}}
	unstarted := s
	unstarted.Members = append(slices.Clone(s.Members), membership.Member{ID: 9, PeerURLs: []string{"http://d:2380"}})
	others := func(ids ...membership.MemberID) membership.Facts { return membership.Facts{Others: ids} }
	const recovery = " If that is not possible, recover the cluster in two applies: save the data of a survivor with etcd_snapshot, then restore it with the argument restore of etcd_cluster. The guide \"Disaster recovery\" has the steps (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/disaster-recovery)."
	for _, tt := range []struct {
		s    membership.Snapshot
		code membership.Code
		f    membership.Facts
		want string
	}{
		{s, membership.QuorumLost, membership.Facts{Voters: 1, Quorum: 1, Others: []membership.MemberID{3}}, "The cluster has lost its quorum: 0 of 1 voters answer; quorum is 1. c (3) does not answer (http://c:2379: connection refused). Bring c back." + recovery},
		{s, membership.QuorumLost, membership.Facts{Voters: 3, Quorum: 2, Others: []membership.MemberID{2, 3}}, "The cluster has lost its quorum: 1 of 3 voters answers; quorum is 2. a (2) is alive. c (3) does not answer (http://c:2379: connection refused). Bring at least 1 of a and c back." + recovery},
		{s, membership.NoLeader, membership.Facts{Voters: 3, Quorum: 2}, "A quorum of the voters (2 of 3) must name one leader and serve reads. b (1) knows no leader; a (2) knows no leader; c (3) does not answer (http://c:2379: connection refused). An election takes a second or two. If this lasts, look at the network between the members."},
		{s, membership.MixedClusters, others(), "The endpoints do not lead to one cluster: this one is 2a, but http://x:2379, http://y:2379 answers for cluster 2b, and http://z:2379 answers for cluster 2c. See how each was started (members that did not understand their bootstrap form a cluster each), stop what does not belong here or remove it from the endpoints."},
		{s, membership.ListMoved, others(), "The member list could not be confirmed, or changed while the members were asked: another process is changing this cluster. Wait until it has finished."},
		{s, membership.NotProbed, others(3), "c (3) does not answer (http://c:2379: connection refused). If the advertised client URLs cannot be dialled from here, or lead to a load balancer, map the URL of each member in the provider's address_map (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/bastions-and-load-balancers)."},
		{s, membership.NotProbed, others(), "No voter is known. If the advertised client URLs cannot be dialled from here, or lead to a load balancer, map the URL of each member in the provider's address_map (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/bastions-and-load-balancers)."},
		{s, membership.MemberDown, others(3), "c (3) does not answer (http://c:2379: connection refused). Bring c back, or replace it."},
		{s, membership.SilentHere, others(3), "c (3) does not answer (http://c:2379: connection refused). The cluster is connected to c: the advertised client URL cannot be reached from here. Map it in the provider's address_map."},
		{unstarted, membership.MemberUnstarted, others(9), "Unnamed member (9) at http://d:2380 was added and has never started. Start member 9, or remove it first."},
		{s, membership.MemberDown, others(9), "Member 9 is not in the member list. Bring member 9 back, or replace it."},
		{s, membership.LearnerStands, membership.Facts{Subject: 3, Lag: 5000}, "Learner c (3) is 5000 entries behind the leader and does not move. Look at its log and at the network between it and the leader."},
		{s, membership.AlarmRaised, membership.Facts{Others: []membership.MemberID{1, 3}, Detail: "NOSPACE"}, "b (1) and c (3) raised the alarm NOSPACE: a database has reached its quota. First make space: compact (etcdctl compaction REVISION), then defragment every member (the action etcd_defragment); or start the members with a larger --quota-backend-bytes. Then disarm the alarm (etcdctl alarm disarm)."},
		{s, membership.AlarmRaised, membership.Facts{Others: []membership.MemberID{1}, Detail: "CORRUPT"}, "b (1) raised the alarm CORRUPT: the data of b differs from the data of the other members. First find out whose data differs from the others' (etcdctl endpoint hashkv --cluster), and replace or remove that member. Then disarm the alarm (etcdctl alarm disarm)."},
		{s, membership.AlarmRaised, membership.Facts{Others: []membership.MemberID{1}, Detail: "OTHER"}, "b (1) raised the alarm OTHER. First remove its cause. Then disarm the alarm (etcdctl alarm disarm)."},
		{s, membership.ToleranceZero, membership.Facts{Voters: 3, Quorum: 2, Alive: 2}, "No further voter may fail: 2 of 3 voters are alive; quorum is 2."},
		{s, membership.EvenVoters, membership.Facts{Voters: 4, Quorum: 3}, "4 voters tolerate the failure of 1, the same as 3. Use an odd number."},
		{mixed, membership.MixedVersions, others(1, 2, 3), "The members run different versions: 3.5.19 (a and b), 3.6.16 (c). Finish the upgrade."},
		{s, membership.KnownBadRelease, membership.Facts{Others: []membership.MemberID{1, 2}, Detail: "etcd-io/etcd#19557"}, "b (1) and a (2) run a release on which a promotion may be lost, at a restart or at the next upgrade (etcd-io/etcd#19557). Upgrade to 3.5.26 or later within 3.5 before anything else."},
		{s, "some other thing", others(), "Look at the cluster: some other thing."},
	} {
		if got := Advice(membership.Warning{Code: tt.code, Facts: tt.f}, tt.s); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.code, got, tt.want)
		}
	}
}

func TestLookTexts(t *testing.T) {
	gone := &connection.Unreachable{Answers: []connection.Answer{{Endpoint: "http://a:2379", Err: errors.New("connection refused")}, {Endpoint: "http://b:2379", Err: errors.New("no route")}}}
	for _, tt := range []struct{ got, want string }{
		{ClusterUnreachable(gone), "No endpoint gave a member list. http://a:2379: connection refused; http://b:2379: no route."},
		{ClusterUnreachable(errors.New("out of luck")), "The cluster could not be read: out of luck."},
		{LookRefused(gone).Error(), "Cannot read the cluster: The endpoints that respond refuse the credentials of the provider, or have a certificate that it does not trust.\n\nThe endpoints answered:\n  - http://a:2379: connection refused\n  - http://b:2379: no route"},
		{LookUnknown.Error(), "Cannot read the cluster yet: The provider's configuration is known after apply only, and a data source is read while the plan is made. " +
			"Give it depends_on with what the endpoints come from, or its own endpoints: then it is read during the apply."},
		{NobodyToLookAt.Error(), `No endpoints: Neither the provider nor the data source has endpoints. Set them in one of the two, such as ["https://10.0.1.10:2379"].`},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}
