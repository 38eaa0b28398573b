// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A standby learner stays without a vote while all voters answer. If a voter is lost, the
// apply that replaces it promotes the standby.
func TestAccFailover(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Write("standby_override.tf", "resource \"etcd_learner\" \"node\" {\n  failover = true\n}\n")
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed()
	f.MustList("a", "b", "c", "d (learner)")
	f.Plan().MustBeEmpty()

	t.Log("the lost voter is not removed")
	standby := Address("etcd_learner", "d")
	f.Crash("c")
	etcdtest.Eventually(t, "the promotion is planned", func() error {
		if p := f.Plan(); p.Actions()[standby] != "update" {
			return fmt.Errorf("planned: %v", p.Actions())
		}
		return nil
	})
	f.Apply().MustSucceed().Says("Standby d was not promoted")
	f.MustList("a", "b", "c", "d (learner)")
	f.Repair("c")
	f.MustServe("c")

	t.Log("the same apply replaces it")
	f.After = "1s"
	f.Apply().MustSucceed()
	f.Plan().MustBeEmpty()
	before := f.MemberIDs()
	f.Lose("c")
	writer := f.Writer("a", "b")
	f.Form()
	f.MustNotPause(writer, Pause, f.names()...)
	f.MustHaveReplaced(before, "c")
	f.Plan().MustBeEmpty()
}

// A learner is promoted in place. It is demoted by a replacement: its machine stays, and
// the join script sets the data of the voter aside.
func TestAccStandby(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustList("a", "b", "c", "d (learner)")
	f.Settled()
	before := f.MemberIDs()
	f.Nodes["d"].Promote = true
	f.Plan().MustDo(map[string]string{Address("etcd_learner", "d"): "update"})
	f.Form()
	f.Settled()
	f.MustHaveReplaced(before)
	f.Nodes["d"].Promote = false
	f.Plan().MustDo(map[string]string{Address("etcd_learner", "d"): "delete create"})
	f.Apply().MustSucceed()
	f.MustList("a", "b", "c", "d (learner)")
	f.MustHaveReplaced(before, "d")
	f.Settled()
}

// twoPhase is the literal procedure for a cluster that Terraform does not configure:
// learner, machine, member.
const twoPhase = `
resource "etcd_learner" "d" {
  name       = "d"
  peer_urls  = [var.nodes["d"].peer]
  endpoints  = [var.nodes["a"].client]
  wait_until = "announced"
}

resource "terraform_data" "d" {
  triggers_replace = etcd_learner.d.id
  input            = { sh = var.machine_sh, dir = "${var.machines}/d" }

  provisioner "local-exec" {
    command = "sh \"${self.input.sh}\" new \"${self.input.dir}\""
    environment = {
      ETCD_BIN = var.nodes["d"].etcd
      MACHINE_ENV = join("\n", [for key, value in merge(var.environment, etcd_learner.d.environment, {
        ETCD_LISTEN_PEER_URLS      = var.nodes["d"].peer
        ETCD_LISTEN_CLIENT_URLS    = var.nodes["d"].client
        ETCD_ADVERTISE_CLIENT_URLS = var.nodes["d"].client
      }) : "${key}=${value}"])
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"${self.input.sh}\" down \"${self.input.dir}\""
  }
}

resource "etcd_member" "d" {
  name       = "d"
  peer_urls  = [var.nodes["d"].peer]
  endpoints  = [var.nodes["a"].client]
  learner_id = etcd_learner.d.id
  machine_id = terraform_data.d.id
}
`

// The literal two-phase add. Afterwards the etcd_learner can be destroyed, which does not
// change the cluster.
func TestAccTwoPhaseAdd(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "none"
	const learners = "learner     = node.joins == \"learner\"\n  } "
	f.Write("main.tf", strings.Replace(FleetText, learners, learners+"if node.joins != \"none\" ", 1))
	f.Write("two.tf", twoPhase)
	f.Form().MustBeQuiet()
	f.Settled()
	id := fmt.Sprintf("%x", f.MemberID("d"))
	if s := f.State("etcd_member.d"); s["id"] != id || s["role"] != "voter" {
		t.Errorf("etcd_member.d is %v as %v, want %s", s["id"], s["role"], id)
	}

	at := strings.Index(twoPhase, "resource \"terraform_data\"")
	f.Write("two.tf", strings.NewReplacer("etcd_learner.d.id", fmt.Sprintf("%q", id), "etcd_learner.d.environment", "{}").Replace(twoPhase[at:]))
	f.Plan().MustDo(map[string]string{"etcd_learner.d": "delete"})
	f.Form()
	f.Settled()
	f.Drop("d")
	f.Write("two.tf", "")
	f.Form()
	f.Settled()
}
