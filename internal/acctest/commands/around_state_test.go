// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// nodeResources are the resources of a node.
var nodeResources = []string{"etcd_member_config", "terraform_data.machine", "etcd_member"}

// The plan would create the configuration of a living member. A lost state, another
// key, a taint and an address that another member gives up all look the same.
func TestAccAroundLivingMembers(t *testing.T) {
	t.Parallel()
	tryAll(t, variants(flat), []attempt{
		{name: "one tainted", run: func(l *lab) {
			l.Run("taint", l.addr("etcd_member_config", "b")).MustSucceed()
			e := l.refuse("apply")
			l.refuse("apply", "-refresh=false")
			l.refuse("apply", "-target="+l.addr("etcd_member_config", "b"))
			l.follow(e, "terraform untaint", "etcd_member_config").MustSucceed()
		}},
		{name: "all tainted", long: true, run: func(l *lab) {
			for _, a := range l.addrs("etcd_member_config", l.members...) {
				l.Run("taint", a).MustSucceed()
			}
			l.refuseAll("apply")
			l.leadOut("terraform untaint")
		}},
		{name: "one dropped from the state", last: true, run: func(l *lab) { l.dropAndImport("b") }},
		{name: "all dropped from the state", last: true, run: func(l *lab) { l.dropAndImport(l.members...) }},
		{name: "configurations imported, and the machines follow them", not: []layout{dynamic}, last: true, run: func(l *lab) {
			l.forget(l.members...)
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
			defer cancel()
			// As if the members had never been recorded.
			if _, err := l.client(l.members...).Delete(ctx, "/_terraform/etcd/", clientv3.WithPrefix()); err != nil {
				l.t.Fatal(err)
			}
			l.importConfigs()
			// The provider does not see a plan that targets only a machine.
			l.refuseAll("apply")
			l.takeIn()
		}},
		{name: "configurations on record imported", not: []layout{dynamic}, long: true, last: true, run: func(l *lab) {
			l.forget(l.members...)
			l.importConfigs()
			before := l.see()
			l.Apply().MustSucceed()
			l.mustSee(before)
		}},
		{name: "the state lost, the members kept in it", long: true, last: true, run: func(l *lab) {
			l.Run(append([]string{"state", "rm"}, l.addrs("etcd_member_config", l.members...)...)...).MustSucceed()
			l.refuseAll("apply")
			l.Run(append([]string{"state", "rm"}, l.addrs("etcd_member", l.members...)...)...).MustSucceed()
			l.takeIn()
		}},
		{name: "another key", not: []layout{counted}, last: true, run: func(l *lab) {
			l.rekey("b", "x")
			l.refuse("apply")
			l.Write("moved.tf", l.moved("b", "x"))
			l.Plan().MustDo(map[string]string{})
			l.Apply().MustSucceed()
		}},
		{name: "other keys for all", long: true, not: []layout{counted}, last: true, run: func(l *lab) {
			var moved strings.Builder
			for _, name := range l.members {
				l.rekey(name, "x"+name)
				moved.WriteString(l.moved(name, "x"+name))
			}
			l.refuseAll("apply")
			l.Write("moved.tf", moved.String())
			l.Plan().MustDo(map[string]string{})
			l.Apply().MustSucceed()
		}},
		{name: "an address given up in the same plan", not: []layout{counted, dynamic}, last: true, run: func(l *lab) {
			given := l.members[l.size-1]
			was := *l.Nodes[given]
			l.Drop(given)
			l.Nodes["x"] = &was
			l.refuse("apply")
			l.Drop("x")
			l.Apply().MustSucceed()
			l.members = l.members[:l.size-1]
			l.mustVote(l.members...)
			l.Nodes["x"] = &was
			l.Apply().MustSucceed()
			l.members = append(slices.Clone(l.members), "x")
		}},
		{name: "addresses exchanged", long: true, not: []layout{dynamic}, run: func(l *lab) {
			a, b := l.Nodes["a"], l.Nodes["b"]
			a.Peer, b.Peer, a.Client, b.Client = b.Peer, a.Peer, b.Client, a.Client
			l.refuseAll("apply")
			a.Peer, b.Peer, a.Client, b.Client = b.Peer, a.Peer, b.Client, a.Client
		}},
		{name: "the name of a member for a new node", not: []layout{counted}, run: func(l *lab) {
			l.Add("x")
			l.Nodes["x"].Name = "b"
			l.refuse("apply")
			l.Drop("x")
		}},
		{name: "the peer URL of a member for a new node", long: true, not: []layout{dynamic}, run: func(l *lab) {
			l.Add("x")
			was := l.Nodes["x"].Peer
			l.Nodes["x"].Peer = l.Nodes["b"].Peer
			l.refuse("apply")
			l.Nodes["x"].Peer = was
			l.Drop("x")
		}},
		// Without endpoints this looks like a first apply.
		{name: "the whole state lost", not: []layout{dynamic}, run: func(l *lab) {
			state := l.Read("terraform.tfstate")
			l.Write("terraform.tfstate", "")
			l.refuseAll("apply")
			l.refuseAll("apply", "-target="+l.addr("terraform_data.machine", "a"))
			l.Write("terraform.tfstate", state)
		}},
		{name: "an older state", run: func(l *lab) {
			older := l.Read("terraform.tfstate")
			l.Add("x")
			l.Apply().MustSucceed()
			l.members = append(slices.Clone(l.members), "x")
			newer := l.Read("terraform.tfstate")
			l.Write("terraform.tfstate", older)
			l.refuse("apply")
			l.Write("terraform.tfstate", newer)
		}},
		{name: "the first of a list dropped", not: []layout{flat, moduleEach, dynamic}, run: func(l *lab) {
			was := l.Nodes["a"]
			l.Drop("a")
			l.refuseAll("apply")
			l.Nodes["a"] = was
		}},
		{name: "a new one before the first of a list", not: []layout{flat, moduleEach, dynamic}, run: func(l *lab) {
			l.Add("A")
			l.refuseAll("apply")
			l.Drop("A")
		}},
	})
}

// forget drops the configurations and the members of these nodes from the
// state, but keeps their machines.
func (l *lab) forget(names ...string) {
	l.t.Helper()
	addresses := append(l.addrs("etcd_member_config", names...), l.addrs("etcd_member", names...)...)
	l.Run(append([]string{"state", "rm"}, addresses...)...).MustSucceed()
}

// dropAndImport drops nodes, except their machines, from the state, and imports
// them with the commands that the refusals print.
func (l *lab) dropAndImport(names ...string) {
	l.t.Helper()
	l.forget(names...)
	errors := l.refuseAll("apply")
	if len(names) == 1 && len(errors) != 1 {
		l.t.Errorf("%d errors for one configuration", len(errors))
	}
	l.refuseAll("apply", "-refresh=false")
	l.refuseAll(append([]string{"apply"}, each("-target", l.addrs("terraform_data.machine", names...)...)...)...)
	l.takeIn()
}

// importConfigs imports the configurations of all members by name.
func (l *lab) importConfigs() {
	l.t.Helper()
	for _, name := range l.members {
		l.Run("import", "-input=false", l.addr("etcd_member_config", name), name).MustSucceed()
	}
}

// takeIn imports the resources that the refusals name, and keeps the machines.
// If the provider block has no endpoints, they are in the environment.
func (l *lab) takeIn() {
	l.t.Helper()
	if l.in == dynamic {
		was := l.Env
		l.Env = append(slices.Clone(was), "ETCDCTL_ENDPOINTS="+strings.Join(l.config(l.members...).Endpoints, ","))
		defer func() { l.Env = was }()
	}
	l.freezeMachines()
	l.leadOut("terraform import")
}

// freezeMachines makes Terraform ignore changes of the machines until they are
// replaced, as the guide to importing says.
func (l *lab) freezeMachines() {
	l.t.Helper()
	l.beside("frozen_override.tf", "resource \"terraform_data\" \"machine\" {\n  lifecycle {\n    ignore_changes = [triggers_replace, input]\n  }\n}\n")
}

// rekey gives a node another key. Its member keeps the name.
func (l *lab) rekey(was, now string) {
	n := l.Nodes[was]
	l.Drop(was)
	n.Name = was
	l.Nodes[now] = n
}

// moved returns the moved blocks for another key.
func (l *lab) moved(was, now string) string {
	text := ""
	for _, resource := range nodeResources {
		text += fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", l.addr(resource, was), l.addr(resource, now))
	}
	return text
}
