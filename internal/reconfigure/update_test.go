// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A voter's peer URLs are updated in place, and its record as well. No other update is made
// before the metrics show that the process was restarted and that the others find it.
func TestUpdatePeerURLs(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	update := func(name, url string) error {
		r := b.leaveRequest(t, name)
		_, err := b.engine.UpdatePeerURLs(etcdtest.WaitContext(t), reconfigure.UpdateRequest{
			Owner: r.Owner, ID: r.ID, Cluster: r.Cluster, Name: name, PeerURLs: []string{url},
		})
		return err
	}
	follower := b.Members()[0]
	if follower == b.Leader(t) {
		follower = b.Members()[1]
	}
	// A second address of the same process: localhost is another URL.
	moved := "http://localhost" + follower.PeerURL()[len("http://127.0.0.1"):]
	if err := update(follower.Name, moved); err != nil {
		t.Fatal(err)
	}
	if m, _ := named(b.members(t), follower.Name); len(m.PeerURLs) != 1 || m.PeerURLs[0] != moved {
		t.Errorf("%s is listed at %v", follower.Name, m.PeerURLs)
	}
	if err := update(follower.Name, moved); err != nil {
		t.Errorf("again: %v", err)
	}

	var refused *reconfigure.Refusal
	err := update(b.Leader(t).Name, "http://127.0.0.1:1")
	if !errors.As(err, &refused) || refused.Decision.Code != membership.URLsPending {
		t.Errorf("before the restart: %v", err)
	}
	follower.PowerOff()
	follower.Start()
	if err := b.WaitHealthy(etcdtest.WaitContext(t)); err != nil {
		t.Fatal(err)
	}

	leader := b.Leader(t)
	if err := update(leader.Name, "http://localhost"+leader.PeerURL()[len("http://127.0.0.1"):]); err != nil {
		t.Fatal(err)
	}
	if now := b.Leader(t); now == leader {
		t.Errorf("%s was updated as the leader", leader.Name)
	}

}
