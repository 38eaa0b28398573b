// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// of returns voters a1, a2 and so on, each at http://10.0.0.N:2379.
func of(peerURL string, ids ...uint64) []membership.Member {
	var out []membership.Member
	for _, id := range ids {
		out = append(out, membership.Member{ID: membership.MemberID(id), PeerURLs: []string{peerURL}, ClientURLs: []string{at(id)}})
	}
	return out
}

func at(id uint64) string { return fmt.Sprintf("http://10.0.0.%d:2379", id) }

// gave returns the probe of an endpoint that answers with the ID and the members.
func gave(endpoint string, id uint64, members []membership.Member) probe {
	return probe{endpoint: endpoint, lists: []memberList{{cluster: 1, from: membership.MemberID(id), members: members, quorum: true}}}
}

// The right list is confirmed, and the voters that gave another list are reported.
func TestListsAreCounted(t *testing.T) {
	real, fake := of("http://x:2380", 1, 2, 3), of("http://evil:2380", 1, 2, 3)
	learner := of("http://x:2380", 1, 2, 3)
	learner[2].Learner = true
	local := gave(at(2), 2, real)
	local.lists[0].quorum = false
	elsewhere := of("http://evil:2380", 1, 2, 3)
	for i := range elsewhere {
		elsewhere[i].ClientURLs = []string{at(uint64(i + 11))}
	}
	made := []probe{gave(at(11), 1, elsewhere), gave(at(12), 2, elsewhere), gave(at(13), 3, elsewhere)}
	for name, test := range map[string]struct {
		probes    []probe
		endpoints []string
		mapped    map[string]string
		want      []membership.Member
		confirmed bool
		against   []membership.MemberID
	}{
		"all":                          {probes: []probe{gave(at(1), 1, real), gave(at(2), 2, real), gave(at(3), 3, real)}, want: real, confirmed: true},
		"two of three":                 {probes: []probe{gave(at(1), 1, real), gave(at(2), 2, real)}, want: real, confirmed: true},
		"one of three":                 {probes: []probe{gave(at(1), 1, real)}, want: real},
		"the first of three lies":      {probes: []probe{gave(at(1), 1, fake), gave(at(2), 2, real), gave(at(3), 3, real)}, want: real, confirmed: true, against: []membership.MemberID{1}},
		"one by one":                   {probes: []probe{gave(at(1), 1, fake), gave(at(2), 2, real)}, want: fake, against: []membership.MemberID{2}},
		"one twice, at its address":    {probes: []probe{gave(at(1), 1, real), gave(at(1), 1, real)}, want: real},
		"another's address":            {probes: []probe{gave(at(1), 1, real), gave(at(1), 2, real)}, want: real},
		"a stranger's address":         {probes: []probe{gave(at(1), 1, real), gave(at(9), 2, real)}, want: real},
		"a configured address":         {probes: []probe{gave(at(1), 1, real), gave(at(9), 2, real)}, endpoints: []string{at(9)}, want: real, confirmed: true},
		"another's, though configured": {probes: []probe{gave(at(1), 1, real), gave(at(3), 2, real)}, endpoints: []string{at(3)}, want: real},
		"what another's is mapped to":  {probes: []probe{gave(at(1), 1, real), gave(at(9), 2, real)}, endpoints: []string{at(9)}, mapped: map[string]string{at(3): at(9)}, want: real},
		"what its own is mapped to":    {probes: []probe{gave(at(1), 1, real), gave(at(9), 2, real)}, mapped: map[string]string{at(2): at(9)}, want: real, confirmed: true},
		"a learner's word":             {probes: []probe{gave(at(1), 1, learner), gave(at(3), 3, learner)}, want: learner},
		"a list from memory":           {probes: []probe{gave(at(1), 1, real), local}, want: real},
		"one voter":                    {probes: []probe{gave(at(1), 1, real[:1])}, want: real[:1], confirmed: true},
		"no voters":                    {probes: []probe{gave(at(1), 1, learner[2:])}, want: learner[2:]},
		"two tongues":                  {probes: []probe{gave(at(1), 1, real), gave(at(2), 2, real), gave(at(9), 2, fake)}, endpoints: []string{at(9)}, want: real, against: []membership.MemberID{2}},
		"a made-up cluster":            {probes: made, endpoints: []string{at(11)}, want: elsewhere, confirmed: true},
		"and a real member":            {probes: slices.Concat(made, []probe{gave(at(1), 1, real)}), want: elsewhere, against: []membership.MemberID{1}},
		"a real member that was named": {probes: slices.Concat(made, []probe{gave(at(1), 1, real)}), endpoints: []string{at(1)}, want: elsewhere, against: []membership.MemberID{1}},
		"two of them":                  {probes: slices.Concat(made, []probe{gave(at(1), 1, real), gave(at(2), 2, real)}), endpoints: []string{at(1)}, want: real, confirmed: true},
		"two of them, none named":      {probes: slices.Concat(made, []probe{gave(at(1), 1, real), gave(at(2), 2, real)}), want: elsewhere, against: []membership.MemberID{1, 2}},
		"one leaves another out":       {probes: []probe{gave(at(1), 1, real), gave(at(2), 2, real), gave(at(3), 3, of("http://x:2380", 1, 3))}, endpoints: []string{at(1)}, want: real, confirmed: true, against: []membership.MemberID{3}},
		"one says that it is alone":    {probes: []probe{gave(at(1), 1, real), gave(at(2), 2, real), gave(at(3), 3, real[2:])}, endpoints: []string{at(1)}, want: real, against: []membership.MemberID{3}},
		"the named one leaves one out": {probes: []probe{gave(at(1), 1, real[:1]), gave(at(2), 2, real), gave(at(3), 3, real)}, endpoints: []string{at(1)}, want: real[:1], confirmed: true},
		"two that were named":          {probes: slices.Concat(made, []probe{gave(at(1), 1, real), gave(at(2), 2, real)}), endpoints: []string{at(1), at(2)}, want: real, confirmed: true},
		"two that the map names":       {probes: slices.Concat(made, []probe{gave(at(1), 1, real), gave(at(2), 2, real)}), mapped: map[string]string{at(1): "http://b:1", at(2): "http://b:2"}, want: real, confirmed: true},
		"a list that has one more":     {probes: []probe{gave(at(1), 1, real), gave(at(2), 2, real), gave(at(3), 3, of("http://x:2380", 1, 2, 3, 4))}, want: real, confirmed: true, against: []membership.MemberID{3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(connection.Settings{Endpoints: test.endpoints, AddressMap: test.mapped}, nil)
			got, ok := c.choose(test.probes, 1)
			if !ok || !sameMembers(got.members, test.want) || got.confirmed != test.confirmed || !slices.Equal(got.against, test.against) {
				t.Errorf("chose %v, confirmed %v, against %v", got.members, got.confirmed, got.against)
			}
		})
	}
}

// The number of learned endpoints asked, in total and concurrently, is limited.
func TestAskerIsBounded(t *testing.T) {
	a, stop := New(connection.Settings{}, nil).asker(t.Context())
	defer stop()
	var now, most, asked atomic.Int32
	for i := range 2000 {
		a.learn(fmt.Sprint("http://", i), func(context.Context, string) probe {
			asked.Add(1)
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(100 * time.Microsecond)
			now.Add(-1)
			return probe{endpoint: "x"}
		})
	}
	for ; a.pending > 0; a.pending-- {
		<-a.answers
	}
	if asked.Load() != maxLearned || most.Load() > maxAtOnce || most.Load() < 2 {
		t.Errorf("%d were asked, %d at a time", asked.Load(), most.Load())
	}
}

// An observation of members that never answer comes to an end.
func TestAskerEnds(t *testing.T) {
	a, stop := New(connection.Settings{RequestTimeout: time.Millisecond}, nil).asker(t.Context())
	defer stop()
	for i := range 100 {
		a.ask(fmt.Sprint("http://", i), func(ctx context.Context, e string) probe {
			<-ctx.Done()
			return probe{endpoint: e}
		})
	}
	unasked := 0
	for ; a.pending > 0; a.pending-- {
		if p := <-a.answers; p.endpoint == "" {
			unasked++
		}
	}
	if unasked == 0 || unasked > 100-maxAtOnce {
		t.Errorf("%d were not asked", unasked)
	}
}
