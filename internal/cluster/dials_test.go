// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// An observation of the longest valid list, in which every address closes each
// connection immediately, costs about two connections for each request (the attempt and
// its diagnosis), and none after the observation. So an endpoint cannot control how often this process
// connects to an address.
func TestDialsOfTheLongestList(t *testing.T) {
	t.Parallel()
	liar := etcdtest.NewLiar(t, "127.0.0.1", etcdtest.Lies{})
	trap, dials := etcdtest.Trap(t, "127.0.0.1")
	s := settings(liar.URL)
	s.AddressMap = map[string]string{}
	members := make([]*pb.Member, maxMembers)
	for i := range members {
		urls := make([]string, maxURLs)
		for j := range urls {
			urls[j] = fmt.Sprintf("http://127.66.%d.%d:2379", i, j+1)
			s.AddressMap[urls[j]] = "http://" + trap
		}
		members[i] = listed(uint64(theirLeader+i), fmt.Sprint("m", i), urls...)
	}
	liar.Tell(lying(theirLeader, members...))
	c := clientFor(t, s)
	if snap := observe(t, c); len(snap.Members) != maxMembers {
		t.Fatalf("%d members", len(snap.Members))
	}
	looked := dials.Load()
	t.Logf("%d connections for %d addresses", looked, maxMembers*maxURLs)
	if looked < 2*maxAtOnce || looked > 5*maxLearned {
		t.Errorf("%d connections for %d addresses", looked, maxMembers*maxURLs)
	}
	time.Sleep(3 * time.Second) // gRPC tries again within a second
	if more := dials.Load() - looked; more > maxAtOnce {
		t.Errorf("%d connections that no call waited for", more)
	}
}
