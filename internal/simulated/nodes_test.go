// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// estate are machines that run the nodes of a cluster, and the workspace that manages them.
type estate struct{ *site }

// found runs f with a cluster of nodes, each with its machine and member, after a first
// apply.
func found(t *testing.T, names string, f func(e *estate)) {
	t.Helper()
	simulate(t, 1, names, func(w *world) {
		e := &estate{newSite(w)}
		for _, p := range w.cluster.Processes() {
			e.fleet.adopt(p)
		}
		all := nodesOf(names, names)
		for i := 0; i < len(all); i += 2 { // they run before a state has their members
			e.ws.Resources = append(e.ws.Resources, all[i])
		}
		_, r := e.ws.Up(w.Context(), w.start("machines"))
		w.ok(r)
		e.ws.Resources = all
		_, r = e.ws.Up(w.Context(), w.start("first"))
		w.ok(r)
		e.settled(names)
		f(e)
	})
}

// nodesOf are the machines and members of nodes, of which some form the cluster.
func nodesOf(names, initial string) (out []driver.Resource) {
	for _, name := range strings.Fields(names) {
		out = append(out, nodeOfCluster(name, "1", initial)...)
	}
	return out
}

func nodeOfCluster(name, id, initial string) []driver.Resource {
	all := strings.Fields(initial)
	know := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(all), name))))
	start := driver.Values{"node_id": name + "-" + id, "initial": slices.Contains(all, name), "initial_members": len(all), "imported": false, "replaces": []any{}}
	var peers, endpoints []any
	for _, other := range know {
		endpoints = append(endpoints, "http://"+other+".example:2379")
		if other != name {
			peers = append(peers, "http://"+other+".example:2380")
		}
	}
	start["peers"], start["endpoints"] = peers, endpoints
	config := driver.Values{"name": name, "peer_urls": []any{"http://" + name + ".example:2380"}, "start": start}
	return []driver.Resource{
		{Type: "machine", Name: name, Values: driver.Values{"name": name, "image": id}},
		{Type: "etcd_member", Name: name, Values: driver.Values{"config": config, "machine_id": driver.Ref{Resource: "machine." + name, Attribute: "id"}}},
	}
}

// config is that of a member.
func (e *estate) config(name string) driver.Values {
	i := slices.IndexFunc(e.ws.Resources, func(r driver.Resource) bool { return r.Address() == "etcd_member."+name })
	config, ok := e.ws.Resources[i].Values["config"].(driver.Values)
	if !ok {
		e.Fatal("no node")
	}
	return config
}

// set changes what a member knows of its node.
func (e *estate) set(name, attribute string, value any) {
	if start, ok := e.config(name)["start"].(driver.Values); ok {
		start[attribute] = value
	}
}

// settled checks the members, and that the next plan is empty.
func (e *estate) settled(want string) {
	e.Helper()
	if got := e.list(); got != want {
		e.Errorf("the members are %q, not %q", got, want)
	}
	if plan, r := e.ws.Plan(e.Context(), e.start("next")); r.Err() != nil || len(plan.Actions()) > 0 {
		e.Errorf("the next plan is not empty: %v %v", r, plan.Actions())
	}
}

func (e *estate) up(options ...driver.Option) {
	e.Helper()
	time.Sleep(10 * time.Second)
	_, r := e.ws.Up(e.Context(), e.start("second"), options...)
	e.ok(r)
}

// refused checks that a plan is refused with a text, before anything is touched.
func (e *estate) refused(text string, options ...driver.Option) {
	e.Helper()
	time.Sleep(10 * time.Second)
	before := fmt.Sprint(e.cluster.Members(), e.fleet.machines)
	_, r := e.ws.Up(e.Context(), e.start("second"), options...)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), text) {
		e.Errorf("the plan should be refused with %q: %v", text, err)
	}
	if after := fmt.Sprint(e.cluster.Members(), e.fleet.machines); after != before {
		e.Errorf("a refused plan changed %s to %s", before, after)
	}
}

// A member follows its machine, whatever the state or the cluster has of it. What it does
// without them is part of the life.
func TestAMemberFollowsItsMachine(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(e *estate){
		"taint of the member": func(e *estate) {
			e.ws.Taint("machine.b")
			e.ws.Taint("etcd_member.b")
			e.up(driver.NoRefresh)
		},
		"wiped before it published": func(e *estate) { e.fleet.never["b"] = 1; e.up(driver.Replace("machine.b")) },
		"lost by the state, and wiped": func(e *estate) {
			e.ws.Forget("etcd_member.b")
			e.up(driver.Replace("machine.b"))
		},
		"left by an earlier node": func(e *estate) {
			// The node was rebuilt, and Terraform ended before the member was removed.
			e.ws.Forget("etcd_member.b")
			e.set("b", "node_id", "b-2")
			e.set("b", "replaces", []any{"b-1"})
			e.set("b", "initial", false)
			e.set("b", "initial_members", nil)
			e.ws.Resources[2].Values["image"] = "2"
			e.up()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found(t, "a b c", func(e *estate) {
				was := e.members["b"]
				do(e)
				e.settled("a b c")
				if e.members["b"] == was || e.fleet.made["b"] < 2 {
					t.Error("b has its old machine")
				}
			})
		})
	}
}

func TestPlansOfNodes(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(e *estate){
		"two machines": func(e *estate) {
			e.refused("Only one living voter", driver.Replace("machine.a"), driver.Replace("machine.b"))
		},
		"a new image of all": func(e *estate) {
			for i := range e.ws.Resources {
				if e.ws.Resources[i].Type == "machine" {
					e.ws.Resources[i].Values["image"] = "2"
				}
			}
			e.refused("value into revision")
		},
		"two tainted": func(e *estate) {
			e.ws.Taint("etcd_member.a")
			e.ws.Taint("etcd_member.b")
			e.refused("Only one living voter", driver.NoRefresh)
		},
		// With create_before_destroy the state has the member while its next object is made.
		"before its machine is destroyed": func(e *estate) {
			e.ws.Forget("etcd_member.b")
			e.ws.Resources[3].Values["machine_id"] = "b-2"
			e.refused("create_before_destroy")
		},
		"two tainted, unobserved": func(e *estate) {
			e.ws.Taint("etcd_member.a")
			e.ws.Taint("etcd_member.b")
			for _, p := range e.cluster.Processes() {
				e.network.Cut("", p.ClientURL)
			}
			e.refused("cannot be observed", driver.NoRefresh)
		},
		"a machine without its peers": func(e *estate) {
			e.set("b", "peers", []any{"http://old.example:2380"})
			e.refused("rebuild = ", driver.Replace("machine.b"))
		},
		"inside the window": func(e *estate) {
			e.set("a", "window_end", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			e.refused("bootstrap window", driver.Replace("machine.a"))
		},
		"a node on its old machine": func(e *estate) {
			e.set("b", "node_id", "b-2")
			e.refused("replace_triggered_by")
		},
		"another member is dead": func(e *estate) {
			e.fleet.stop("c")
			e.refused("another member is not active", driver.Replace("machine.b"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found(t, "a b c", do)
		})
	}
}

// The members of a cluster share one observation, though later ones know more endpoints.
func TestMembersShareAnObservation(t *testing.T) {
	t.Parallel()
	found(t, "a b c", func(e *estate) {
		e.ws.Resources = append(e.ws.Resources, nodesOf("d e", "a b c")...)
		e.up()
		time.Sleep(10 * time.Second)
		asked := 0
		before := e.network.Before
		e.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			if _, ok := c.Request.(*pb.StatusRequest); ok {
				asked++
			}
			return before(ctx, c)
		}
		e.ok(e.ws.Refresh(e.Context(), e.start("refresh")))
		if asked != 5 {
			t.Errorf("five members were asked %d times for a refresh", asked)
		}
	})
}
