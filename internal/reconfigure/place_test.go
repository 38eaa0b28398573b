// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A voter is removed to be replaced beside a standby learner only if the servers accept
// its successor as a second learner. Nothing stays of what they were asked with.
func TestServersAreAskedForAPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version etcdtest.Version
		args    []string
		refused bool
	}{
		"one place": {etcdtest.V36, nil, true}, "two places": {etcdtest.V36, []string{"--max-learners=2"}, false}, "no such flag": {etcdtest.V34, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, 3, etcdtest.Options{Version: c.version, Args: c.args})
			g := b.NewJoiner(t, "g")
			g.Supervise(100 * time.Millisecond)
			r := request(g, reconfigure.CaughtUp)
			r.AwaitCluster = true
			if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
				t.Fatal(err)
			}
			members := len(b.members(t))
			_, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "infra2"))
			refusal, _ := errors.AsType[*reconfigure.Refusal](err)
			if refused := refusal != nil && refusal.Decision.Code == membership.LearnerSlotTaken; refused != c.refused || !refused && err != nil {
				t.Fatalf("got %v", err)
			}
			if !c.refused {
				members--
			}
			if now := b.members(t); len(now) != members {
				t.Errorf("the cluster has %v", now)
			}
		})
	}
}
