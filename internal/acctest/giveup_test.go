// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Nothing is destroyed if the provider does not reach three healthy members: neither
// by a restore nor by a destroy, with a CA that did not sign their certificates, even
// if two of them are stated to be gone, and behind closed tunnels.
func TestAccRecoveryOfAHealthyCluster(t *testing.T) {
	t.Parallel()
	pki, stranger := etcdtest.NewPKI(t), etcdtest.NewPKI(t)
	f := NewFleet(t, FleetOptions{Static: true, TLS: pki})
	f.Form()
	f.Apply("-refresh-only").MustSucceed()
	r := f.backup(t, 0, "a")
	r.replaces = f.cluster()
	asked := f.endpoints()
	slices.Sort(asked)
	ways := "address_map = {\n"
	for _, name := range []string{"a", "b", "c"} {
		ways += fmt.Sprintf("    %q = %q\n", f.Nodes[name].Client, strings.Replace(DeadEndpoint(t), "http:", "https:", 1))
	}
	env, block := f.Env, f.providerBlock()
	for _, c := range []struct{ name, provider, stated, says, answer string }{
		{"another CA", strings.Replace(block, pki.CAFile, stranger.CAFile, 1), "b,c", "The cluster may serve", ": certificate signed by an unknown authority"},
		{"closed tunnels", strings.Replace(block, "{\n", "{\n  "+ways+"  }\n", 1), "", "State which members are gone", ": connection refused (asked at "},
		{"closed tunnels, and two are stated gone", strings.Replace(block, "{\n", "{\n  "+ways+"  }\n", 1), "b,c", "State which members are gone", ": connection refused (asked at "},
	} {
		t.Log(c.name)
		f.Write("provider.tf", c.provider)
		f.Env = env
		if c.stated != "" {
			f.StateLost(r.replaces, c.stated)
		}
		f.restores(t, r)
		for _, args := range [][]string{nil, {"-refresh=false", "-target=terraform_data.machine"}} {
			e := f.Apply(args...).MustSay(c.says)
			e.MustContain(t, e.Summary, append([]string{r.replaces}, asked...)...)
			e.MustContain(t, e.Summary, c.answer)
		}
		f.restores(t, nil)
		refused := f.Destroy("-refresh=false").MustFail()
		for _, e := range refused.Errors() {
			if !strings.HasPrefix(e.Summary, "Cannot remove member ") || !strings.Contains(e.Detail, c.answer) {
				t.Errorf("unexpected %s", e)
			}
		}
		f.MustVote("a", "b", "c")
	}
	f.Write("provider.tf", block)
	f.Env = env
	f.Plan().MustBeEmpty()
}

// cluster returns the ID of the cluster in the state.
func (f *Fleet) cluster() string {
	f.TB.Helper()
	return fmt.Sprint(f.State(Address("etcd_member", f.Founders[0]))["cluster_id"])
}
