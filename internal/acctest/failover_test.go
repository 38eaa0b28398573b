// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// If a voter is lost, the next apply after its removal promotes a standby.
// Until the lost voter is removed, the standby stays a learner.
func TestAccFailover(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Write("standby_override.tf", "resource \"etcd_learner\" \"node\" {\n  failover = true\n}\n")
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed()
	f.MustList("a", "b", "c", "d (learner)")
	f.Plan().MustBeEmpty()

	t.Log("nobody takes the lost one out")
	c := f.Named("c")
	f.Crash("c")
	promotion := map[string]string{Address("etcd_learner", "d"): "update"}
	etcdtest.Eventually(t, "the promotion is planned", func() error {
		if p := f.Plan(); !maps.Equal(p.Actions(), promotion) {
			return fmt.Errorf("planned: %v", p.Actions())
		}
		return nil
	})
	p := f.Plan()
	p.MustDo(promotion)
	p.MustNotKnow(Address("etcd_learner", "d"), "role", "client_urls", "version")
	w := p.Says("Standby d is promoted by this plan")
	w.MustContain(t, w.Summary, c+" does not answer", "has no connection to it", "The promotion waits until c has been removed from the cluster")
	w = f.Apply().MustSucceed().Says("Standby d was not promoted")
	w.MustContain(t, w.Summary, "If d failed as a voter, 2 of 4 voters would be alive; quorum would be 3. Remove c first")
	f.MustList("a", "b", "c", "d (learner)")
	f.Repair("c")
	etcdtest.Eventually(t, "c is back", func() error {
		if p := f.Plan(); p.ExitCode != 0 {
			return fmt.Errorf("planned: %v", p.Actions())
		}
		return nil
	})
	f.Plan().MustBeEmpty()

	t.Log("the same apply replaces the lost one")
	f.replaceUnreachableAfter(lostAfter)
	f.Apply().MustSucceed()
	f.Plan().MustBeEmpty()
	f.Lose("c")
	writer := f.Writer("a", "b")
	want := Changes("c", "delete create")
	maps.Copy(want, promotion)
	f.Plan().MustDo(want)
	f.Apply().MustSucceed()
	f.MustNotPause(writer, Pause, "a", "b", "d")
	f.MustVote("a", "b", "c", "d")
	f.Plan().MustBeEmpty()
}
