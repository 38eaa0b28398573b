// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// trustPort is a cluster in which only trusted members respond.
type trustPort struct {
	cluster.Cluster
	settings connection.Settings
	members  []membership.Member
}

func (p *trustPort) Observe(ctx context.Context, _ membership.ClusterID) (membership.Snapshot, error) {
	snap := membership.Snapshot{ClusterID: 1, Members: p.members, Answers: map[membership.MemberID]membership.Answer{}}
	for _, m := range p.members {
		if p.settings.Refusal(ctx, m.ClientURLs[0]) == "" {
			snap.Answers[m.ID] = membership.Answer{State: membership.Answered, MemberID: m.ID}
		}
	}
	return snap, nil
}

func trusting(t *testing.T) *Cluster {
	t.Helper()
	b := &Backend{Run: NewRun(), Settings: connection.Settings{Endpoints: []string{"https://a:2379"}, Username: "root", Password: "x"}, Pool: &connection.Pool{}}
	c, err := b.Cluster(nil)
	must.Succeed(t, err)
	c.Cluster = &trustPort{settings: c.settings, members: []membership.Member{
		{ID: 1, ClientURLs: []string{"https://a:2379"}}, {ID: 2, ClientURLs: []string{"https://b:2379"}}, {ID: 3, ClientURLs: []string{"https://c:2379"}},
	}}
	return c
}

// Whichever resource is first, each sees what its own configuration allows.
func TestViewsDoNotShareTrust(t *testing.T) {
	none, b, c := t.Context(), connection.TrustHosts(t.Context(), "https://b:2380"), connection.TrustHosts(t.Context(), "https://c:2380")
	alsoA := connection.TrustHosts(t.Context(), "https://a:2380") // which is trusted anyway
	for name, order := range map[string][]context.Context{
		"none first": {none, b, c, alsoA}, "b first": {b, none, alsoA, c}, "c first": {c, b, none, alsoA}, "a first": {alsoA, c, b, none},
	} {
		t.Run(name, func(t *testing.T) {
			at := trusting(t)
			for _, ctx := range order {
				snap, err := at.CachedSnapshot(ctx, 0)
				must.Succeed(t, err)
				for id, want := range map[membership.MemberID]bool{1: true, 2: ctx == b, 3: ctx == c} {
					if got := snap.Answer(id).State == membership.Answered; got != want {
						t.Errorf("member %d asked: %v, want %v", id, got, want)
					}
				}
			}
			if n := len(at.latest.All()); n != 3 {
				t.Errorf("%d looks, want one for each trust", n)
			}
		})
	}
}

// There is one warning with the complete list, whichever resource reports it first.
func TestUntrustedURLsAreReportedOnce(t *testing.T) {
	c := trusting(t)
	var diags diag.Diagnostics
	for range 3 {
		snap, err := c.CachedSnapshot(connection.TrustHosts(t.Context(), "https://b:2380"), 0)
		must.Succeed(t, err)
		c.WarnUntrusted(snap, &diags)
	}
	if len(diags) != 1 || !strings.Contains(diags[0].Detail(), `endpoints = [..., "https://b:2379", "https://c:2379"]`) {
		t.Errorf("got %v", diags)
	}
}

// Addresses from the state get requests, but no trust for being in the state.
func TestWhereNamesNoHost(t *testing.T) {
	b := &Backend{Run: NewRun(), Settings: connection.Settings{Username: "root", Password: "x"}, Pool: &connection.Pool{}}
	const u = "https://b:2379"
	learned := b.Where([]string{u})
	named, err := b.Cluster([]string{u})
	must.Succeed(t, err)
	if learned == named {
		t.Error("one cluster for both")
	}
	if got := learned.settings.Refusal(t.Context(), u); got != connection.Unnamed {
		t.Errorf("from the state: got %q", got)
	}
	if got := named.settings.Refusal(t.Context(), u); got != "" {
		t.Errorf("from the configuration: got %q", got)
	}
}
