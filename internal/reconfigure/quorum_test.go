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

// Without quorum nothing can be decided, and the error says so instead of waiting.
func TestWithoutQuorum(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	m, _ := named(b.members(t), "infra3")
	withdraw := reconfigure.WithdrawRequest{Owner: "founder3-1", Name: m.Name, PeerURLs: m.PeerURLs}
	b.forge(t, withdraw.Owner, record(withdraw.Owner, m))
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()

	_, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting))
	var refused *reconfigure.Refusal
	if !errors.As(err, &refused) || refused.Decision.Code != membership.QuorumLost {
		t.Errorf("joining: %v", err)
	}
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), withdraw); err == nil {
		t.Errorf("removing what was added: %v", err)
	}
}
