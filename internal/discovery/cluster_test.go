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

// Test that real members form a cluster from the token and a fourth is rejected.
func TestMembersFormACluster(t *testing.T) {
	t.Parallel()
	type row struct {
		protocol          string
		registry, members etcdtest.Version
	}
	rows := []row{
		{"v3", etcdtest.V35, etcdtest.V37}, {"v3", etcdtest.V36, etcdtest.V36}, {"v3", etcdtest.V37, etcdtest.V37},
		{"service", etcdtest.V35, etcdtest.V35}, {"service", etcdtest.V35, etcdtest.V36},
	}
	for _, members := range append(etcdtest.WithV2(), etcdtest.V36) {
		rows = append(rows, row{"v2", etcdtest.V35, members})
	}
	for _, test := range rows {
		if !slices.Contains(etcdtest.Versions(), test.registry) {
			continue
		}
		t.Run(test.protocol+"-"+string(test.registry)+"-registry-"+string(test.members)+"-members", func(t *testing.T) {
			t.Parallel()
			r, place, environment := registryOf(t, test.protocol, test.registry)
			initial := func(name string) *etcdtest.Process {
				p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: test.members})
				for variable, value := range environment {
					p.Env[variable] = value
				}
				p.Start()
				return p
			}
			processes := []*etcdtest.Process{initial("a")}
			etcdtest.Until(t, "a registers", func() bool { return len(mustStatus(t, r, place.Token).Members) == 1 })
			if mustStatus(t, r, place.Token).Complete() {
				t.Error("complete with one of three")
			}
			processes = append(processes, initial("b"), initial("c"))
			clusters := map[uint64]bool{}
			for _, p := range processes {
				if err := p.WaitReady(etcdtest.WaitContext(t)); err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
				got, err := p.Client(t).MemberList(etcdtest.WaitContext(t))
				if err != nil || len(got.Members) != 3 {
					t.Fatalf("%s lists %v, %v", p.Name, got, err)
				}
				clusters[got.Header.ClusterId] = true
			}
			s := mustStatus(t, r, place.Token)
			if !s.Complete() || len(s.Members) != 3 || s.Members[0].Name != "a" || s.Members[0].PeerURLs[0] != processes[0].PeerURL() || len(clusters) != 1 {
				t.Errorf("status: got %+v of %v", s, clusters)
			}
			fourth := initial("d")
			if code, err := fourth.WaitExit(etcdtest.WaitContext(t)); err != nil || code != 1 {
				t.Errorf("fourth: exit %d, %v; want 1", code, err)
			}
			if !strings.Contains(fourth.Log(), "discovery: cluster is full") {
				t.Error("the fourth process was not told that the cluster is full")
			}
			if test.protocol != "service" { // which deletes no token
				// All registrations of real members belong to the token: its place is empty again.
				if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
					t.Errorf("delete: %v", err)
				}
				mustCreate(t, r, token3, 1)
				_, err := r.Create(etcdtest.WaitContext(t), token3, 1)
				wantType[*ExistsError](t, err)
			}
		})
	}
}

// registryOf starts a registry with a token for three, and returns the environment of its
// members.
func registryOf(t *testing.T, protocol string, v etcdtest.Version) (Registry, Location, map[string]string) {
	t.Helper()
	if protocol == ByService {
		service := etcdtest.NewDiscoveryService(t)
		r := newService(settings(), service.URL, &connection.Pool{})
		place := mustCreate(t, r, "not used", 3)
		if place.URL() != service.URL+"/"+place.Token || service.Minted.Load() != 1 {
			t.Fatalf("place %+v, minted %d", place, service.Minted.Load())
		}
		return r, place, map[string]string{"ETCD_DISCOVERY": place.URL(), "ETCD_DISCOVERY_FALLBACK": "exit"}
	}
	at := etcdtest.Start(t, 1, etcdtest.Options{Version: v, V2: protocol == "v2"}).Endpoints()[0]
	r := open(t, settings(at), protocol)
	if protocol == V2 {
		location := Location{Protocol: V2, Base: at, Prefix: DefaultPrefix, Token: token3}
		return r, mustCreate(t, r, token3, 3), map[string]string{"ETCD_DISCOVERY": location.URL(), "ETCD_DISCOVERY_FALLBACK": "exit"}
	}
	return r, mustCreate(t, r, token3, 3), map[string]string{"ETCD_DISCOVERY_TOKEN": token3, "ETCD_DISCOVERY_ENDPOINTS": at}
}
