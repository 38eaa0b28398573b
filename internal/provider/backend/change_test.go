// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

var errNobody = errors.New("nobody is there")

func (p *slowPort) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	return nil, 0, errNobody
}

// Records returns a store that fails, because it is of no cluster.
func (p *slowPort) Records(membership.ClusterID) cluster.Store[cluster.Record] {
	return cluster.New(connection.Settings{}, nil).Records(0)
}

// Observations are shared for a short time, but not across an attempted change.
func TestViewIsForgottenByChanges(t *testing.T) {
	b := &Backend{Run: NewRun(), Settings: connection.Settings{Endpoints: []string{"http://h:1"}}}
	c, err := b.Cluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	port := &slowPort{fails: errNobody}
	c.Cluster = port
	looksOf := func() int {
		before := port.looks.Load()
		if _, err := c.View(t.Context(), 0); !errors.Is(err, errNobody) {
			t.Fatal(err)
		}
		return int(port.looks.Load() - before)
	}
	if first, second := looksOf(), looksOf(); first != 1 || second != 0 {
		t.Errorf("looked %d times, then %d times", first, second)
	}
	// The same cluster, at another of its endpoints.
	other, err := b.Cluster([]string{"http://i:1"})
	if err != nil {
		t.Fatal(err)
	}
	other.Cluster = &slowPort{fails: errNobody}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, change := range map[string]func(){
		"join":                  func() { _, _ = c.Join(ctx, reconfigure.JoinRequest{}) },
		"leave":                 func() { _, _ = c.Leave(ctx, reconfigure.LeaveRequest{}) },
		"update":                func() { _, _ = c.UpdatePeerURLs(t.Context(), reconfigure.UpdateRequest{}) },
		"another owner":         func() { _ = c.Own(ctx, reconfigure.OwnRequest{}) },
		"no successor":          func() { _ = c.GiveUpTurn(ctx, "o", "a") },
		"another one's join":    func() { _, _ = other.Join(ctx, reconfigure.JoinRequest{}) },
		"another one's removal": func() { _, _ = other.Leave(ctx, reconfigure.LeaveRequest{}) },
	} {
		change()
		if n := looksOf(); n != 1 {
			t.Errorf("looked %d times after a change (%s)", n, name)
		}
		if n := looksOf(); n != 0 {
			t.Errorf("looked %d times more after a change (%s)", n, name)
		}
	}
}
