// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"testing"
)

// With a password, a cluster without a quorum answers no requests, so the
// unreachable members are known only by their addresses. Plans work, changes
// are refused within a minute, and the cluster works again when one of the
// machines is back.
func TestAccQuorumLostWithPassword(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true, Password: "Tr0ub4dor"})
	f.Form()
	f.EnableAuth()
	f.Apply("-refresh-only").MustSucceed()
	f.Crash("b", "c")

	const needsQuorum = "Members run and refuse every login, because a login needs a quorum."
	says := []string{needsQuorum, `the guide "Disaster recovery" has the steps`, f.Nodes["a"].Client + ": the login does not complete; it needs a quorum"}
	for _, name := range []string{"b", "c"} {
		says = append(says, fmt.Sprintf("%s: connection refused", f.Nodes[name].Client))
	}
	p := f.Plan()
	p.MustBeEmpty()
	w := p.Says("State not refreshed: the cluster does not answer")
	for _, text := range says {
		w.MustContain(t, w.Summary, text)
	}
	for summary, args := range map[string][]string{
		"Cannot configure member d": nil,
		"Cannot remove member c":    {"-destroy", "-target=" + Address("etcd_member", "c")},
	} {
		f.Add("d")
		refused := f.Apply(args...).MustFail()
		e := refused.MustSay(summary)
		for _, text := range append(says, "Nothing was changed.") {
			e.MustContain(t, e.Summary, text)
		}
		f.Drop("d")
	}

	f.Repair("b")
	f.MustServe("b")
	f.Plan().MustBeEmpty()
	f.Repair("c")
	f.MustVote("a", "b", "c")
}
