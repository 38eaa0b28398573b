// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// machines is what Terraform replaces when a cluster is given up.
const machines = "terraform_data.machine"

// A cluster that serves is not given up, neither by a restore nor by a statement, whatever
// hides it: a CA that does not fit, or power that returns. Each refusal lists what each
// address answered, and its way out leads to an empty plan.
func TestAccGivenUpOnlyOnProof(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{TLS: etcdtest.NewPKI(t)})
	f.Form()
	nodes, was, lost := maps.Clone(f.Nodes), f.MemberIDs(), fmt.Sprint(f.State(cluster)["cluster_id"])
	client, ctx := f.Client("a"), etcdtest.WaitContext(t)
	file, sum := backup(ctx, t, client)
	if _, err := client.Put(ctx, "after", "the backup"); err != nil {
		t.Fatal(err)
	}
	restore := func(gone string) { f.restore(file, sum, lost, gone) }
	// refused fails the test unless each error says so, and what each address answered.
	refused := func(o *Outcome, answer string, summaries ...string) {
		t.Helper()
		o.MustFail()
		for _, summary := range summaries {
			d := o.Says(summary)
			for _, n := range nodes {
				if !strings.Contains(d.Detail, "\n  - "+n.Client+": ") {
					t.Errorf("%s is not listed in %s", n.Client, d)
				}
			}
			if !strings.Contains(d.Detail, answer) {
				t.Errorf("no %q in %s", answer, d)
			}
		}
	}

	// N1 and N5: all members serve, and the CA of the provider is another one.
	fits := f.Read("provider.tf")
	f.Write("provider.tf", strings.Replace(fits, f.Options.TLS.CAFile, etcdtest.NewPKI(t).CAFile, 1))
	for gone, summary := range map[string]string{"[]": "The cluster may serve", `["a", "b", "c"]`: "A member that is stated gone answers"} {
		restore(gone)
		refused(f.Apply(), "certificate", summary)
		refused(f.Apply("-target="+machines), "certificate", summary)
	}
	f.withoutRestore()
	f.Drop("b", "c")
	f.Env = append(f.Env, "ETCD_CLUSTER_LOST="+lost+":a,b,c")
	refused(f.Apply("-refresh=false"), "ETCD_CLUSTER_LOST states that b and c are gone", "Cannot remove member b", "Cannot remove member c")
	f.Env, f.Nodes = f.Env[:len(f.Env)-1], nodes
	f.MustVote("a", "b", "c")
	f.Write("provider.tf", fits)

	// N2: two machines have no power when etcd_cluster is restored, and power returns.
	f.Crash("b", "c")
	restore(`["b", "c"]`)
	f.Apply("-target=" + cluster).MustSucceed()
	f.Repair("b", "c")
	f.MustServe("b")
	f.MustServe("c")
	for _, args := range [][]string{nil, {"-target=" + machines}} {
		refused(f.Plan(args...).Outcome, "", "The cluster has not lost its quorum")
	}
	f.withoutRestore()
	f.Form()
	f.Settled()
	if now := f.MemberIDs(); !maps.Equal(now, was) {
		t.Errorf("members %x, before %x", now, was)
	}
	got, err := f.Client("a").Get(ctx, "after")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "the backup" {
		t.Errorf("after is %v, %v", got, err)
	}
}
