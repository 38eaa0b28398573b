// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// New members in the same apply that forms the cluster: their bootstrap names the
// servers that they ask. They wait, and are added one after the other. (With
// ETCD_TEST_FULL=1 with each bootstrap.)
func TestAccJoinersInTheFirstApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  acctest.FleetOptions
		variable string
	}{
		"v3":     {acctest.FleetOptions{}, "ETCD_JOIN_DISCOVERY_TOKEN"},
		"v2":     {acctest.FleetOptions{Protocol: "v2", Registry: etcdtest.V35, Version: etcdtest.V35}, "ETCD_JOIN_DISCOVERY"},
		"static": {acctest.FleetOptions{Static: true}, "ETCD_JOIN_PEERS"},
	} {
		if name != "v3" && !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := acctest.NewFleet(t, c.options)
			f.Add("d", "e")
			want := acctest.Changes("d", "create")
			for _, name := range []string{"a", "b", "c", "e"} {
				maps.Copy(want, acctest.Changes(name, "create"))
			}
			if f.Registry != nil {
				want["etcd_discovery_token.this"] = "create"
			} else {
				want[acctest.InitialCluster] = "create"
			}
			f.Plan().MustDo(want)
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c", "d", "e")
			env, _ := machineFiles(f, "d")
			if !strings.Contains(env, "\n"+c.variable+"=") && !strings.HasPrefix(env, c.variable+"=") {
				t.Errorf("d has no %s:\n%s", c.variable, env)
			}
			f.Plan().MustBeEmpty()
		})
	}
}
