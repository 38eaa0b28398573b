// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// registryAt returns the registry of a protocol at the endpoints.
func registryAt(t *testing.T, protocol string, s connection.Settings) *Cluster {
	t.Helper()
	if protocol == "v2" {
		return NewV2(s, DefaultPrefix, &connection.Pool{})
	}
	return newV3(t, s, DefaultPrefix)
}

// Test that real members form a cluster from the token and a fourth is rejected.
func TestMembersFormACluster(t *testing.T) {
	t.Parallel()
	type row struct {
		protocol          string
		registry, members etcdtest.Version
	}
	rows := []row{{"v3", etcdtest.V35, etcdtest.V37}, {"v3", etcdtest.V36, etcdtest.V36}, {"v3", etcdtest.V37, etcdtest.V37}}
	for _, members := range append(etcdtest.WithV2(), etcdtest.V36) {
		rows = append(rows, row{"v2", etcdtest.V35, members})
	}
	for _, test := range rows {
		if !slices.Contains(etcdtest.Versions(), test.registry) {
			continue
		}
		t.Run(test.protocol+"-"+string(test.registry)+"-registry-"+string(test.members)+"-members", func(t *testing.T) {
			t.Parallel()
			registry := etcdtest.Start(t, 1, etcdtest.Options{Version: test.registry, V2: test.protocol == "v2"})
			r := registryAt(t, test.protocol, settings(registry.Endpoints()...))
			mustCreate(t, r, token3, 3)
			initial := func(name string) *etcdtest.Process {
				var p *etcdtest.Process
				if test.protocol == "v2" {
					p = v2Founder(t, V2URL(registry.Endpoints()[0], DefaultPrefix, token3), name, test.members)
				} else {
					p = etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: test.members})
					p.Env["ETCD_DISCOVERY_TOKEN"], p.Env["ETCD_DISCOVERY_ENDPOINTS"] = token3, registry.Endpoints()[0]
				}
				p.Start()
				return p
			}
			processes := []*etcdtest.Process{initial("a")}
			etcdtest.Until(t, "a registers", func() bool { return len(mustStatus(t, r, token3).Members) == 1 })
			if mustStatus(t, r, token3).Complete() {
				t.Error("complete with one of three")
			}
			processes = append(processes, initial("b"), initial("c"))
			allReady(t, processes)

			s := mustStatus(t, r, token3)
			if !s.Complete() || len(s.Members) != 3 || s.Members[0].Name != "a" || s.Members[0].PeerURLs[0] != processes[0].PeerURL() {
				t.Errorf("status: got %+v", s)
			}
			if ids := clusterIDs(t, processes); len(ids) != 1 {
				t.Errorf("clusters formed: %v, want one", ids)
			}
			fourth := initial("d")
			if code, err := fourth.WaitExit(etcdtest.WaitContext(t)); err != nil || code != 1 {
				t.Errorf("fourth: exit %d, %v; want 1", code, err)
			}
			if !strings.Contains(fourth.Log(), "discovery: cluster is full") {
				t.Error("the fourth process was not told that the cluster is full")
			}
			// All registrations of real members belong to the token: its place is empty again.
			if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
				t.Errorf("delete: %v", err)
			}
			mustCreate(t, r, token3, 1)
			_, err := r.Create(etcdtest.WaitContext(t), token3, 1)
			wantType[*ExistsError](t, err)
		})
	}
}
