// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"testing"
)

// Without a quorum a plan says so and is empty, changes fail and change nothing. With a
// password no member says anything without it. Once a machine is back, plans are quiet
// again. If all machines are gone, the destroy prints the command that succeeds.
func TestAccQuorumLost(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Password: "Tr0ub4dor"})
	f.Form()
	f.enableAuth()
	f.Apply("-refresh-only").MustSucceed()
	before, id := f.MemberIDs(), f.ClusterID()
	f.Crash("b", "c")
	p := f.Plan()
	p.MustBeEmpty()
	if said := p.Report(); !strings.Contains(said, "quorum") {
		t.Errorf("the plan does not say that the quorum is lost:\n%s", said)
	}
	f.Add("d")
	f.Apply().MustFail()
	f.Drop("d")
	state := f.Read("terraform.tfstate")
	f.Apply("-destroy", "-target="+member("c")).MustFail()
	for _, name := range f.names() {
		if !strings.Contains(state, fmt.Sprintf("%q", name)) || f.State(member(name)) == nil {
			t.Errorf("%s is not in the state any more", name)
		}
	}
	f.Repair("b", "c")
	f.MustServe("c")
	f.Drop("d")
	f.Form()
	f.Settled()
	f.MustHaveReplaced(before)

	f.Lose("a", "b", "c")
	refused := f.Destroy().MustFail()
	statement := fmt.Sprintf("ETCD_CLUSTER_LOST=%s:", id)
	if !strings.Contains(refused.Report(), statement) {
		t.Errorf("the destroy does not print %s:\n%s", statement, refused.Report())
	}
	f.Env = append(f.Env, statement+"a,b,c")
	f.Destroy().MustSucceed()
	f.MustBeGone()
}
