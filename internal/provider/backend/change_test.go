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

// countingPort counts the looks, all of which fail.
type countingPort struct {
	cluster.Cluster
	looks int
}

func (p *countingPort) Observe(context.Context, membership.ClusterID) (membership.Snapshot, error) {
	p.looks++
	return membership.Snapshot{}, errNobody
}

// Looks are shared within a moment, but not across an attempt at a change.
func TestViewIsForgottenByChanges(t *testing.T) {
	b := &Backend{Settings: connection.Settings{Endpoints: []string{"http://h:1"}}}
	c, err := b.Cluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	port := &countingPort{}
	c.Port = port
	looksOf := func() int {
		before := port.looks
		if _, err := c.View(t.Context(), 0); !errors.Is(err, errNobody) {
			t.Fatal(err)
		}
		return port.looks - before
	}
	if first, second := looksOf(), looksOf(); first != 1 || second != 0 {
		t.Errorf("looked %d times, then %d times", first, second)
	}
	if _, err := c.Join(t.Context(), reconfigure.JoinRequest{}); !errors.Is(err, errNobody) {
		t.Fatal(err)
	}
	if n := looksOf(); n != 1 {
		t.Errorf("looked %d times after a change", n)
	}
}
