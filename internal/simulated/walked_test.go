// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

const thisCluster = "etcd_cluster.this"

// situations are named after what has happened.
var situations = map[string]struct {
	prints []string
	do     func(w *walker)
}{
	"the cluster is tainted": {[]string{"cluster.running: terraform untaint"}, func(w *walker) {
		w.begin()
		w.ws.Taint(thisCluster)
		w.follow(w.up("plan"), "A cluster runs at these addresses", "terraform untaint")
	}},
	"the state lost the cluster and its members": {[]string{"cluster.importBlock: import {"}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		w.forgetMembers()
		w.ws.Forget(thisCluster)
		w.follow(w.up("plan"), "A cluster runs at these addresses", "import {")
	}},
	"the cluster is tainted, in silence": {[]string{"cluster.inState: terraform untaint"}, func(w *walker) {
		w.begin()
		w.ws.Taint(thisCluster)
		w.silence()
		w.follow(w.up("plan", driver.NoRefresh), "The cluster is in the state", "terraform untaint")
		w.hear()
	}},
	"to begin again, in silence": {[]string{"cluster.inState: terraform destroy -refresh=false", "text.NotStated: terraform destroy -refresh=false", "text.NotStated: ETCD_CLUSTER_LOST="}, func(w *walker) {
		w.begin()
		w.ws.Taint(thisCluster)
		w.silence()
		r := w.follow(w.up("plan"), "The cluster is in the state", "terraform destroy -refresh=false")
		w.ok(w.follow(r, "state that for this Terraform run only", "ETCD_CLUSTER_LOST="))
		w.names = ""
	}},
	"a member was added before an import": {[]string{"cluster.notImported: etcdctl member remove"}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		w.addByHand("x")
		w.ws.Forget(thisCluster)
		w.follow(w.take(thisCluster, w.clusterID()), "are not imported", "etcdctl member remove")
	}},
	"a value follows from another resource": {[]string{"cluster.unknownValues: terraform apply -target"}, func(w *walker) {
		w.begin()
		image := driver.Resource{Type: "machine", Name: "image", Values: driver.Values{"name": "x"}}
		w.ws.Resources = append(w.ws.Resources, image)
		w.set("revision", map[string]any{"image": driver.Ref{Resource: image.Address(), Attribute: "id"}})
		w.place = image.Address()
		w.ok(w.follow(w.up("plan"), "is not known at plan", "terraform apply -target"))
	}},
	"a cluster has not formed": {[]string{"cluster.reasonOf: terraform destroy"}, func(w *walker) {
		w.breakAll(true)
		w.try("form", w.names, "one")
		w.ws.Resources = clusterOf(w.names, "two")
		r := w.up("another image")
		w.breakAll(false)
		w.ok(w.follow(r, "if its members cannot form it", "terraform destroy"))
	}},
	"another token before the cluster has formed": {[]string{"cluster.anotherToken: terraform destroy -refresh=false"}, func(w *walker) {
		w.names = ""
		token := func(text string) {
			w.ws.Resources = []driver.Resource{{Type: "etcd_cluster", Name: "this", Values: driver.Values{
				"members": map[string]any{"a": driver.Values{}}, "revision": map[string]any{"image": "one"},
				"discovery": driver.Values{"size": 1, "complete": false, "environment": map[string]any{"ETCD_DISCOVERY_TOKEN": text}},
			}}}
		}
		token("t")
		w.ok(w.up("form"))
		token("u")
		w.ok(w.follow(w.up("another token"), "The discovery token changed too early", "terraform destroy -refresh=false"))
		w.ok(w.up("form"))
		w.ok(w.up("destroy", driver.Destroy))
	}},
	"a token has formed a cluster": {[]string{"cluster.tokenComplete: terraform apply -refresh-only", "cluster.tokenComplete: terraform untaint", "cluster.tokenComplete: terraform destroy -refresh=false"}, func(w *walker) {
		const summary = "The token has formed a cluster"
		k := w.token()
		form := append(slices.Clone(w.ws.Resources), driver.Resource{Type: "etcd_cluster", Name: "this", Values: driver.Values{
			"members": map[string]any{"a": driver.Values{}}, "discovery": driver.Ref{Resource: tokenAddress, Attribute: "bootstrap"},
		}})
		w.ws.Resources = form
		w.ok(w.up("form"))
		k.register("a")
		w.ws.Taint(thisCluster)
		r := w.up("again")
		w.ok(w.follow(r, summary, "terraform apply -refresh-only"))
		k.complete(true)
		w.follow(r, summary, "terraform untaint")
		w.ok(w.up("kept"))
		w.ws.Taint(thisCluster)
		w.ok(w.follow(w.up("again"), summary, "terraform destroy -refresh=false"))
		w.ok(w.up("form"))
		w.ok(w.up("destroy", driver.Destroy))
	}},
	"a token that has formed a cluster is replaced": {[]string{"text.untaint: terraform untaint", "text.startOver: terraform destroy -refresh=false"}, func(w *walker) {
		k := w.token()
		w.ok(w.up("create"))
		k.register("a")
		w.ws.Taint(tokenAddress)
		r := w.up("replace")
		w.follow(r, mayNotReplace, "terraform untaint")
		w.ok(w.up("kept"))
		w.ok(w.follow(r, mayNotReplace, "terraform destroy -refresh=false"))
	}},
	"the members are in no state, and the cluster is destroyed": {[]string{"cluster.stillAnswers: terraform state rm"}, func(w *walker) {
		w.begin()
		w.forgetMembers()
		for _, name := range strings.Fields(w.names) {
			w.ws.Forget(machineOf(name))
		}
		// With a refresh, the plan that comes first is refused.
		w.follow(w.up("destroy", driver.Destroy, driver.NoRefresh), "still answers", "terraform state rm")
		w.names = ""
	}},
	"only the cluster is destroyed": {[]string{"cluster.stillAnswers: terraform destroy"}, func(w *walker) {
		w.begin()
		all := w.ws.Resources
		w.ws.Resources = []driver.Resource{{Type: "machine", Name: "x"}}
		for _, r := range all[1:] { // their blocks are no longer of the cluster
			switch r.Type {
			case "machine":
				r.Values = driver.Values{"name": r.Values["name"], "image": "one", "user_data": driver.Attribute(w.ws.State(r.Address()).Value, "user_data")}
			default:
				r.Values = driver.Values{"name": r.Name[6:7], "peer_urls": []any{etcdsim.PeerURL(r.Name[6:7])}, "machine_id": r.Values["machine_id"]}
			}
			w.ws.Resources = append(w.ws.Resources, r)
		}
		w.ws.Provider = w.provider(w.names)
		w.follow(w.up("plan"), "still answers", "terraform destroy") // it may come before its members
		w.ok(w.up("again", driver.Destroy))
		w.names = ""
	}},
	"a member is dead": {[]string{"cluster.silentMember: terraform apply -replace"}, func(w *walker) {
		w.begin()
		w.fleet.stop("b")
		w.rest(time.Minute)
		w.ok(w.follow(w.up("plan"), "Member b does not answer", "terraform apply -replace"))
	}},
	"the cluster has more members": {[]string{"cluster.unclaimed: etcdctl member remove"}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		w.addByHand("x")
		w.fleet.add("x", environment("x", w.names, true))
		w.rest(time.Minute)
		w.ws.Forget(thisCluster)
		w.ok(w.take(thisCluster, w.clusterID()))
		w.follow(w.up("plan"), "Members stay in the cluster", "etcdctl member remove")
	}},
	"another state has imported the cluster": {[]string{"cluster.anotherObject: terraform state rm"}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		other := driver.New(w, w.ws.Provider, clusterOf(w.names, "one")[0])
		w.ok(other.Import(w.Context(), w.start("import"), thisCluster, w.clusterID()))
		_, r := other.Up(w.Context(), w.start("other"))
		w.ok(r)
		w.set("rebuild", map[string]any{"b": "1"})
		r = w.up("rebuild")
		w.follow(r, "Another state changes this cluster", "terraform state rm")
		w.follow(r, "Another state changes this cluster", "import {")
	}},
	"two etcd_cluster have one cluster": {[]string{"cluster.twoClusters: terraform state rm"}, func(w *walker) {
		w.begin()
		w.ws.Provider = w.provider(w.names)
		second := clusterOf(w.names, "one")[0]
		second.Name = "second"
		w.ws.Resources = append(w.ws.Resources, second)
		w.ok(w.take(second.Address(), w.clusterID()))
		w.place = second.Address()
		w.follow(w.up("plan"), "Two etcd_cluster have one peer URL", "terraform state rm")
		w.ws.Resources = w.ws.Resources[:len(w.ws.Resources)-1]
	}},
	"a restore names no cluster": {[]string{"cluster.notRestored: replaces_cluster = ", "text.inRestore: gone = ["}, func(w *walker) {
		w.begin()
		w.lost(w.names)
		w.set("restore", driver.Values{"snapshot": "/s.db", "sha256": strings.Repeat("0", 64)})
		w.follow(w.up("plan"), "nothing is restored", "replaces_cluster = ")
		w.follow(w.up("confirmed"), "State which members are gone", "gone = [")
	}},
	"a restore names another cluster": {[]string{"cluster.restoreRefused: replaces_cluster = "}, func(w *walker) {
		w.begin()
		w.lost(w.names)
		w.set("restore", restoreOf("1234", "a", "b", "c"))
		w.follow(w.up("plan"), "is not the cluster in the state", "replaces_cluster = ")
	}},
	"a restore of a survivor": {[]string{"cluster.restoreRefused: terraform apply -target"}, func(w *walker) {
		w.begin()
		w.lost("b c")
		snapshot := driver.Resource{Type: "etcd_snapshot", Name: "this", Values: driver.Values{"path": w.TempDir() + "/s.db", "endpoints": []any{etcdsim.ClientURL("a")}, "member": "a"}}
		w.ws.Resources = append(w.ws.Resources, snapshot)
		from := func(attribute string) driver.Ref {
			return driver.Ref{Resource: snapshot.Address(), Attribute: attribute}
		}
		w.set("restore", driver.Values{"snapshot": from("path"), "sha256": from("sha256"), "replaces_cluster": w.id(), "gone": []any{"b", "c"}})
		w.ok(w.follow(w.up("plan"), "of restore is not known at plan", "terraform apply -target"))
	}},
	"a restored cluster does not answer": {[]string{"text.RestoreWithdrawn: ETCD_CLUSTER_LOST=", "cluster.restoreRefused: terraform apply -target"}, func(w *walker) {
		w.begin()
		first := w.id()
		w.lost(w.names)
		w.set("restore", restoreOf(first, "a", "b", "c"))
		w.ok(w.up("target", driver.Target(thisCluster)))
		w.set("restore", func() driver.Values { v := restoreOf(first, "a", "b", "c"); v["snapshot"] = "/other.db"; return v }())
		r := w.up("another snapshot")
		w.set("restore", nil)
		r = w.follow(r, "which an earlier apply restores", "terraform apply -target")
		w.ok(w.follow(r, "The withdrawal of the restore gives up", "ETCD_CLUSTER_LOST="))
		for _, name := range strings.Fields(w.names) {
			w.fleet.start(name)
		}
	}},
	"an imported node is replaced with its machine": {[]string{"text.rebuildNode: rebuild = "}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		w.forgetMembers()
		w.forget("/")
		w.ws.Forget(thisCluster)
		w.takeAll(w.names)
		w.ok(w.up("after the import"))
		w.follow(w.up("alone", driver.Replace(machineOf("b"))), "was imported", "rebuild = ")
	}},
	"the first machine is replaced in its window": {[]string{"text.rebuildNode: rebuild = "}, func(w *walker) {
		w.apply("form", w.names, "one", w.names)
		w.follow(w.up("plan", driver.Replace(machineOf("a"))), "inside the bootstrap window", "rebuild = ")
	}},
	"an initial member was removed before it joined": {[]string{"text.rebuild: rebuild = "}, func(w *walker) {
		w.fleet.broken["c"] = true
		w.ws.Resources = clusterOf(w.names, "one")
		all := w.ws.Resources
		w.ws.Resources = all[:len(all)-1]
		w.ok(w.up("form"))
		w.rest(time.Minute)
		for _, m := range w.cluster.Members() {
			if len(m.ClientURLs) == 0 {
				if _, err := w.client("a").MemberRemove(w.Context(), m.ID); err != nil {
					w.Fatal(err)
				}
			}
		}
		w.rest(time.Hour)
		w.fleet.broken["c"] = false
		w.ws.Resources = all
		w.follow(w.up("plan"), "was formed without it", "rebuild = ")
	}},
	"a node stays on its machine": {[]string{"text.MachineStays: replace_triggered_by"}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		for i := range w.ws.Resources {
			w.ws.Resources[i].ReplacedBy = nil
		}
		w.set("rebuild", map[string]any{"b": "1"})
		w.follow(w.up("plan"), "and its machine stays", "replace_triggered_by")
	}},
	"the members are in no state": {[]string{"text.importMember: import {"}, func(w *walker) {
		w.begin()
		w.ok(w.up("refresh"))
		w.ws.Provider = w.provider(w.names)
		w.ws.Forget(memberOf("b"))
		w.silence()
		r := w.up("plan")
		w.hear()
		w.follow(r, "It adds b", "import {")
	}},
	"a node is rebuilt whose member is in no state": {[]string{"text.importMember: import {"}, func(w *walker) {
		w.begin()
		w.names += " d"
		w.try("grow and roll", w.names, "two", driver.Target(memberOf("a")))
		w.ws.Forget(memberOf("b"))
		r := w.try("roll", w.names, "two") // the text stands with d
		w.ws.Provider = w.provider(w.names)
		w.follow(r, "It adds b", "import {")
	}},
	"two resources are for one member": {[]string{"text.TwoResources: terraform state rm"}, func(w *walker) {
		w.begin()
		again := w.ws.Resources[2]
		again.Name = "again"
		w.ws.Provider = w.provider(w.names)
		w.ws.Resources = append(w.ws.Resources, again)
		w.ok(w.take(again.Address(), "a"))
		w.place = again.Address()
		w.follow(w.up("plan"), "Two resources stand for one member", "terraform state rm")
		w.ws.Resources = w.ws.Resources[:len(w.ws.Resources)-1]
	}},
	"a member without a node is replaced": {[]string{"text.destroyFirst: terraform destroy -target"}, func(w *walker) {
		w.begin()
		w.outside("g")
		r := w.up("plan", driver.Replace("etcd_member.g"))
		w.ok(w.follow(r, "its process keeps the data", "terraform destroy -target"))
		w.fleet.wipe("g")
		w.withdrawOutside("g")
	}},
	"a member was added elsewhere": {[]string{"text.AnnouncedElsewhere: etcdctl member remove"}, func(w *walker) {
		w.begin()
		w.addByHand("g")
		w.ws.Provider = w.provider(w.names)
		w.ws.Resources = append(w.ws.Resources, nodes([]string{"g"}, "one")...)
		w.follow(w.up("plan"), "was added outside this configuration", "etcdctl member remove")
		w.ok(w.up("again"))
		w.withdrawOutside("g")
	}},
	"the URLs of a member were changed": {[]string{"text.NotOurs: terraform state rm"}, func(w *walker) {
		w.begin()
		w.outside("g")
		if _, err := w.client("a").MemberUpdate(w.Context(), w.ids()["g"], []string{"http://h.example:2380"}); err != nil {
			w.Fatal(err)
		}
		w.ws.Resources = w.ws.Resources[:len(w.ws.Resources)-1]
		w.follow(w.up("plan", driver.NoRefresh), "the state knows it as", "terraform state rm")
		if _, err := w.client("a").MemberRemove(w.Context(), w.ids()["g"]); err != nil {
			w.Fatal(err)
		}
		w.forget("members/")
		w.withdrawOutside("g")
	}},
	"another cluster is imported": {[]string{"text.ImportOtherCluster: terraform import"}, func(w *walker) {
		w.begin()
		w.ignoreUserData()
		w.ws.Forget(thisCluster)
		w.follow(w.take(thisCluster, "2a"), "Cannot import cluster", "terraform import")
	}},
	"a forged turn": {[]string{"text.turnsWayOut: etcdctl del"}, func(w *walker) {
		w.begin()
		w.put("turns/x", `{"format":1,"voters":9,"since":"2026-01-01T00:00:00Z","by":"x"}`)
		w.follow(w.up("plan", driver.Replace(machineOf("b"))), "another replacement is not over", "etcdctl del")
	}},
	"an unreadable record": {[]string{"text.deleteKey: etcdctl del"}, func(w *walker) {
		w.begin()
		w.put("turns/x", "x")
		w.follow(w.up("plan", driver.Replace(machineOf("b"))), "is not what this version of the provider writes", "etcdctl del")
	}},
	"a lock without an end": {[]string{"text.lockHeld: etcdctl del"}, func(w *walker) {
		w.begin()
		w.put("lock", "x")
		w.follow(w.up("plan", driver.Replace(machineOf("b"))), "it does not expire", "etcdctl del")
	}},
	"an alarm": {[]string{"text.alarmWayOut: etcdctl compaction", "text.disarm: etcdctl alarm disarm"}, func(w *walker) {
		w.begin()
		w.outOfSpace("a")
		r := w.up("plan", driver.Replace(machineOf("b")))
		w.follow(r, "raised the alarm", "etcdctl compaction")
		w.follow(r, "raised the alarm", "etcdctl alarm disarm")
	}},
	"a node is removed in silence": {[]string{"text.BackstopSkipped: etcdctl member remove"}, func(w *walker) {
		w.begin()
		w.ws.Forget(memberOf("c"))
		w.silence()
		w.names = "a b"
		w.place = fmt.Sprintf("%x", w.ids()["c"])
		w.ws.Resources = clusterOf(w.names, "one")
		r := w.up("remove c")
		w.hear()
		w.follow(r, "Could not check what was added for c", "etcdctl member remove")
	}},
	"a record names a member of another URL": {[]string{"text.RecordDisagrees: etcdctl member remove"}, func(w *walker) {
		w.begin()
		if _, err := w.client("a").MemberUpdate(w.Context(), w.ids()["c"], []string{"http://h.example:2380"}); err != nil {
			w.Fatal(err)
		}
		w.leave("c")
		w.follow(w.up("remove c"), "The record of member c is wrong", "etcdctl member remove")
	}},
	"a user cannot change the membership": {[]string{"text.grantRoot: etcdctl user grant-role"}, func(w *walker) {
		w.begin()
		w.secure()
		w.user = "planner"
		w.ws.Provider = w.as(w.names+" g", w.user) // whose address gets the password
		w.ws.Resources = append(w.ws.Resources, nodes([]string{"g"}, "one")...)
		w.follow(w.up("add"), "Cannot add member g", "etcdctl user grant-role")
		w.ok(w.up("again"))
		w.rest(time.Minute)
		w.withdrawOutside("g")
	}},
	"a user cannot copy the database": {[]string{"text.PermissionDenied: etcdctl user grant-role"}, func(w *walker) {
		w.begin()
		w.secure()
		w.user = "viewer"
		w.ws.Provider = w.as(w.names, w.user)
		w.ws.Resources = append(w.ws.Resources, driver.Resource{Type: "etcd_snapshot", Name: "this", Values: driver.Values{"path": w.TempDir() + "/s.db"}})
		w.follow(w.up("copy"), "permission denied", "etcdctl user grant-role")
	}},
	"a user cannot write tokens": {[]string{"text.grantPrefix: etcdctl role grant-permission"}, func(w *walker) {
		w.begin()
		w.secure()
		w.user = "planner"
		w.ws.Provider = w.as(w.names, w.user)
		w.ws.Resources = append(w.ws.Resources, driver.Resource{Type: "etcd_discovery_token", Name: "this", Values: driver.Values{"size": 3}})
		w.follow(w.up("create"), "The discovery cluster denies access", "etcdctl role grant-permission")
	}},
	"another owner beats without an end": {[]string{"text.HeartbeatHeld: etcdctl del"}, func(w *walker) {
		w.begin()
		_, err := w.client("a").Put(w.Context(), "/running/deploy", "another")
		w.must(err)
		beat := driver.Values{"name": "deploy"}
		w.follow(w.open(w.provider(w.names), "etcd_heartbeat", beat), "Another owner beats as deploy", "etcdctl del")
		w.ok(w.open(w.provider(w.names), "etcd_heartbeat", beat))
	}},
	"the version goes back": {[]string{"text.UpgradeBack: etcdctl downgrade enable"}, func(w *walker) {
		const older = "3.5.35"
		w.begin()
		w.set("version", string(release))
		w.ok(w.up("version"))
		w.set("version", older)
		w.follow(w.up("plan"), "does not start in their cluster", "etcdctl downgrade enable")
		w.fleet.version = func(string) etcdsim.Version { return older }
		for _, name := range strings.Fields(w.names) {
			w.fleet.stop(name)
			p := w.fleet.of(name).process
			p.Version = older
			w.must(p.Start())
			w.rest(time.Minute)
		}
	}},
	"the cluster is being downgraded": {[]string{"text.UpgradeDuringDowngrade: etcdctl downgrade cancel"}, func(w *walker) {
		const newer = "3.6.17"
		w.begin()
		w.set("version", string(release))
		w.ok(w.up("version"))
		_, err := w.client("a").Downgrade(w.Context(), clientv3.DowngradeEnable, "3.5")
		w.must(err)
		w.set("version", newer)
		w.fleet.version = func(string) etcdsim.Version { return newer }
		w.follow(w.up("plan"), "is being downgraded", "etcdctl downgrade cancel")
	}},
	"a node of a living member is removed": {[]string{"text.Unmanaged: etcdctl member remove"}, func(w *walker) { w.living("etcdctl member remove") }},
	"and its member is imported":           {[]string{"text.Unmanaged: terraform import"}, func(w *walker) { w.living("terraform import") }},
}
