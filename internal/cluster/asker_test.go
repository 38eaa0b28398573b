// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Of the addresses that only members name, one for each member of the longest list is
// asked, with and without a password. The others are reported as not asked.
func TestLearnedAddressesAreBounded(t *testing.T) {
	t.Parallel()
	a, stop := New(settings("http://127.0.0.1:1"), nil).asker(t.Context())
	defer stop()
	var members []membership.Member
	for i := range maxMembers {
		m := membership.Member{ID: membership.MemberID(i + 1)}
		for j := range maxURLs {
			m.ClientURLs = append(m.ClientURLs, fmt.Sprintf("http://10.0.%d.%d:2379", i, j))
		}
		members = append(members, m)
	}
	var asked atomic.Int64
	ask := func(_ context.Context, endpoint string) probe { asked.Add(1); return probe{endpoint: endpoint} }
	for i := range 2 * maxLearned { // configured endpoints do not count
		a.ask(fmt.Sprintf("http://10.1.%d.1:2379", i), ask)
	}
	for range 2 {
		a.askMembers(members, ask, ask)
	}
	refused := map[string]bool{}
	for ; a.pending > 0; a.pending-- {
		if p := <-a.answers; connection.KindOf(p.err) == connection.NotAsked {
			refused[p.endpoint] = true
		}
	}
	if asked.Load() != 3*maxLearned || len(refused) != maxMembers*(maxURLs-1) {
		t.Errorf("%d asked, %d refused", asked.Load(), len(refused))
	}
	for _, m := range members {
		if refused[m.ClientURLs[0]] {
			t.Errorf("%s, the first address of a member, is refused", m.ClientURLs[0])
		}
	}
}
