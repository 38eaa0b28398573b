// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// With any protocol, one apply forms the cluster, the token is retired
// afterwards, and a fourth configuration on it joins. (With ETCD_TEST_FULL=1
// also with the service without TLS, and with 3.5 as the discovery cluster.)
func TestAccDiscoveryProtocols(t *testing.T) {
	t.Parallel()
	type bootstrap struct {
		options func(t *testing.T) FleetOptions
		// members are the versions of a, b, c and then d.
		members []etcdtest.Version
	}
	old := []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V35, etcdtest.V36}
	for name, c := range map[string]bootstrap{
		"v2": {func(*testing.T) FleetOptions { return FleetOptions{Protocol: "v2", Registry: etcdtest.V35} }, old},
		"service": {func(t *testing.T) FleetOptions {
			return FleetOptions{Service: etcdtest.NewDiscoveryService(t, nil)}
		}, old},
		"service over TLS": {func(t *testing.T) FleetOptions {
			pki := etcdtest.NewPKI(t)
			return FleetOptions{Service: etcdtest.NewDiscoveryService(t, pki), RegistryCA: pki.CAFile}
		}, []etcdtest.Version{etcdtest.V36, etcdtest.V35, etcdtest.V36, etcdtest.V35}},
		"v3 on 3.5": {func(*testing.T) FleetOptions { return FleetOptions{Registry: etcdtest.V35} },
			[]etcdtest.Version{etcdtest.V37, etcdtest.V37, etcdtest.V36, etcdtest.V37}},
	} {
		if (name == "service" || name == "v3 on 3.5") && !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, c.options(t))
			run := func(name string, i int) { f.Nodes[name].Etcd = etcdtest.Binary(t, c.members[i]) }
			for i, name := range f.Founders {
				run(name, i)
			}
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c")
			f.Plan().MustBeEmpty()

			// The initial members stay the same, even if the configuration names others.
			f.Add("d")
			run("d", 3)
			f.Founders = []string{"a", "b", "c", "d"}
			f.Plan().MustDo(Changes("d", "create"))
			f.Apply().MustSucceed().MustBeQuiet()
			f.MustVote("a", "b", "c", "d")
			d := f.State(Address("etcd_member_config", "d"))
			if env := fmt.Sprint(d["environment"]); d["founder"] != false || strings.Contains(env, "ETCD_DISCOVERY") {
				t.Errorf("d is given the retired token: founder %v, environment %s", d["founder"], env)
			}
			f.Plan().MustBeEmpty()
			token := f.State("etcd_discovery_token.this")
			if token["complete"] != true || fmt.Sprint(token["size"]) != "3" {
				t.Errorf("the token: complete %v, size %v", token["complete"], token["size"])
			}
			if s := f.Options.Service; s != nil && s.Minted() != 1 {
				t.Errorf("%d tokens were minted, want 1", s.Minted())
			}
			mustEndWithToken(t, f, f.Destroy().MustSucceed(), token)
		})
	}
}

// mustEndWithToken fails the test unless the destroy removed the machines and,
// where possible, the token.
func mustEndWithToken(t *testing.T, f *Fleet, destroyed *Outcome, token map[string]any) {
	t.Helper()
	f.MustBeGone()
	kept := false
	for _, w := range destroyed.Warnings() {
		if w.Summary != "Discovery token forgotten, not removed" {
			continue
		}
		kept = true
		w.MustDetail(t, fmt.Sprintf("A discovery service does not delete tokens on request. Token %.8s… stays at %v until the service collects it.", token["token"], token["service_url"]))
	}
	if service := f.Options.Service != nil; kept != service {
		t.Errorf("said to be kept: %v, from a service: %v\n%s", kept, service, destroyed.Report())
	}
	if f.Registry == nil {
		return
	}
	if keys := registered(t, f); keys != "" {
		t.Errorf("left in the registry: %s", keys)
	}
}

// registered returns the keys of the discovery cluster, from its v2 or v3 store.
func registered(t *testing.T, f *Fleet) string {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	resp, err := f.Registry.Client(t).Get(ctx, "/_etcd/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	if f.Options.Protocol == "v2" {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.Registry.Endpoints()[0]+"/v2/keys/_etcd/registry?recursive=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), `"nodes"`) {
			keys = append(keys, string(body))
		}
	}
	return strings.Join(keys, " ")
}

// Initial members that do not understand their bootstrap each form a cluster,
// without an error. The provider adopts none of these clusters and adds no
// member to them, and the corrected configuration forms the intended cluster.
func TestAccMisunderstoodBootstrap(t *testing.T) {
	t.Parallel()
	replaced := func(f *Fleet) map[string]string {
		want := map[string]string{"etcd_discovery_token.this": "delete create"}
		for name := range f.Nodes {
			maps.Copy(want, Changes(name, "delete create"))
			want[Address("etcd_member", name)] = "create"
		}
		return want
	}
	type wrong struct {
		options FleetOptions
		version string // version of the members, as they report it
		correct func(f *Fleet) (plan map[string]string)
	}
	cases := map[string]wrong{
		"v3 on 3.5 with the join script": {FleetOptions{Registry: etcdtest.V36, Version: etcdtest.V35}, "3.5", func(f *Fleet) map[string]string {
			want := map[string]string{}
			for name, n := range f.Nodes {
				n.Script, n.Image = nil, "2"
				want[Address("terraform_data.machine", name)] = "delete create"
				want[Address("etcd_member", name)] = "create"
			}
			return want
		}},
	}
	if etcdtest.Full() {
		cases["v2 on 3.7 with another protocol"] = wrong{FleetOptions{Registry: etcdtest.V35, Protocol: "v2", Version: etcdtest.V37}, "3.7", func(f *Fleet) map[string]string {
			f.Options.Protocol = "v3"
			return replaced(f)
		}}
		cases["v3 on 3.5 with another protocol"] = wrong{FleetOptions{Registry: etcdtest.V35, Version: etcdtest.V35}, "3.5", func(f *Fleet) map[string]string {
			f.Options.Protocol = "v2"
			return replaced(f)
		}}
		cases["v3 on 3.5 with another etcd and configuration"] = wrong{FleetOptions{Version: etcdtest.V35}, "3.5", func(f *Fleet) map[string]string {
			want := replaced(f)
			delete(want, "etcd_discovery_token.this")
			for _, n := range f.Nodes {
				n.Etcd, n.Config = etcdtest.Binary(t, etcdtest.V36), "2"
			}
			return want
		}}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, c.options)
			f.Add("d") // it joins the cluster that the others form
			for name, n := range f.Nodes {
				n.Create = "30s"
				if c.version == "3.5" && name != "d" { // with the script they would understand the bootstrap
					n.Script = new(bool)
				}
			}
			failed := f.Apply().MustFail()
			mustNameClusters(t, f, failed, c.version)
			for name := range f.Nodes {
				if s := f.State(Address("etcd_member", name)); s != nil {
					t.Errorf("%s is in the state: %v", name, s)
				}
			}
			// A refresh does not treat these clusters as the intended one.
			for _, name := range f.Founders {
				mustBeAlone(t, f, name)
			}
			f.Apply("-refresh-only").MustSucceed()
			for _, name := range f.Founders {
				if s := f.State(Address("etcd_member_config", name)); s["status"] != "pending" {
					t.Errorf("status of %s: %v", name, s["status"])
				}
			}

			f.Drop("d") // it joins when there is a cluster
			want := c.correct(f)
			want[Address("etcd_member_config", "d")], want[Address("terraform_data.machine", "d")] = "delete", "delete"
			for _, n := range f.Nodes {
				n.Create = "10m"
			}
			f.Plan().MustDo(want)
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c")
			f.Plan().MustBeEmpty()
			f.Destroy().MustSucceed()
			f.MustBeGone()
		})
	}
}

// mustNameClusters fails the test unless there is one error for each member. The error
// names an initial member that formed a cluster by itself, and clusters by ID.
func mustNameClusters(t *testing.T, f *Fleet, failed *Outcome, version string) {
	t.Helper()
	founders := slices.Clone(f.Founders)
	slices.SortFunc(founders, func(x, y string) int { return strings.Compare(f.Nodes[x].Client, f.Nodes[y].Client) })
	named := map[string]string{} // by initial member
	said := ""
	for _, name := range founders {
		id := membership.ComputeMemberID([]string{f.Nodes[name].Peer}, "etcd-cluster", nil)
		clusters := membership.ComputeClusterID([]membership.MemberID{id})
		s, err := f.Client(name).Status(etcdtest.WaitContext(t), f.Nodes[name].Client)
		if err != nil || !strings.HasPrefix(s.Version, version+".") {
			t.Fatalf("%s runs %v, want %s (%v)", name, s, version, err)
		}
		named[name] = fmt.Sprintf("%s (%s), which runs etcd %s, formed one by itself.", name, id, s.Version)
		if said != "" {
			said += map[bool]string{true: " and ", false: ", "}[name == founders[len(founders)-1]]
		}
		said += fmt.Sprintf("%s (%s)", clusters, f.Nodes[name].Client)
	}
	errors := failed.Errors()
	if len(errors) != len(f.Nodes) {
		t.Fatalf("%d errors, want one for each member:\n%s", len(errors), failed.Report())
	}
	var details []string
	for _, which := range named {
		details = append(details, "3 initial members form one cluster, but "+which+" What answers: clusters "+said+". Nothing was changed. "+
			"A member that does not understand its bootstrap ignores it: without the join script a v3 discovery token needs etcd 3.6 or later, and a v2 or service URL always needs etcd 3.6 or earlier. "+
			"Start the machines through the join script, give them such an etcd, or give the token another protocol, and replace the machines, because what these have formed is in their data directories. Then apply again.")
	}
	for _, e := range errors {
		if !strings.HasPrefix(e.Summary, "Cannot add member ") || !slices.Contains(details, e.Detail) {
			t.Errorf("got %s\nwant one of\n%s", e, strings.Join(details, "\n"))
		}
	}
}

// mustBeAlone fails the test unless the node is the only member of its cluster
// and nothing was written there.
func mustBeAlone(t *testing.T, f *Fleet, name string) {
	t.Helper()
	f.MustList(name)
	ctx := etcdtest.WaitContext(t)
	resp, err := f.Client(name).Get(ctx, "/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || resp.Count != 0 {
		t.Errorf("written to the cluster of %s: %v (%v)", name, resp, err)
	}
}

// While an initial member is missing, different founders mean a different
// bootstrap. After the cluster has formed, they have no effect.
func TestAccFoundersChange(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	halfWay(t, f)
	token := f.State("etcd_discovery_token.this")["token"]

	f.Founders = []string{"a", "b"}
	f.Drop("c")
	for _, n := range f.Nodes {
		n.Create = "10m"
	}
	want := map[string]string{
		"etcd_discovery_token.this":            "delete create",
		Address("etcd_member_config", "c"):     "delete",
		Address("terraform_data.machine", "c"): "delete",
	}
	for name := range f.Nodes {
		maps.Copy(want, Changes(name, "delete create"))
		want[Address("etcd_member", name)] = "create"
	}
	f.Plan().MustDo(want)
	f.Apply().MustSucceed()
	f.MustVote("a", "b")
	f.Plan().MustBeEmpty()

	f.Apply("-refresh-only").MustSucceed()
	if now := f.State("etcd_discovery_token.this"); now["token"] == token || now["complete"] != true {
		t.Errorf("the token was %v and is %v, complete: %v", token, now["token"], now["complete"])
	}
	f.Founders = []string{"a", "x", "y"}
	f.Plan().MustBeEmpty()
}

// With four founders on a token of size three, any one of them is left out. An
// error says so, and it joins with the next apply.
func TestAccFourFoundersOfThree(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Size: 3, Founders: []string{"a", "b", "c", "d"}})
	failed := f.Apply().MustFail()
	var members []string
	out := ""
	for name := range f.Nodes {
		if f.State(Address("etcd_member", name)) == nil {
			out = name
			continue
		}
		members = append(members, name)
	}
	if len(members) != 3 {
		t.Fatalf("%v are members, want three of four:\n%s", members, failed.Report())
	}
	f.MustVote(members...)
	var listed []string
	for _, m := range f.Members(members...) {
		listed = append(listed, fmt.Sprintf("%s (%s)", m.Name, membership.MemberID(m.ID)))
	}
	slices.SortFunc(listed, func(x, y string) int { return strings.Compare(idIn(x), idIn(y)) })
	failed.MustSay("Cannot add member "+out).MustDetail(t, fmt.Sprintf("The bootstrap counts %s among the initial members, but cluster %v was formed without it (its members: %s, %s and %s). "+
		"No member was added. Apply again, with a refresh: once the bootstrap is known to be complete, %[1]s is configured again and joins like any later member. "+
		"If it is never complete, leave %[1]s out of founders.\n\n"+
		"If %[1]s was in the cluster and has been removed, replace its configuration, with its machine. ADDRESS is the etcd_member_config of %[1]s:\n\n"+
		"  terraform apply -replace='ADDRESS'\n\n"+
		"If several members are refused for this reason, replace their configurations in one command, with a -replace for each.", out, f.State(Address("etcd_member", members[0]))["cluster_id"], listed[0], listed[1], listed[2]))

	want := Changes(out, "delete create")
	want[Address("etcd_member", out)] = "create"
	f.Plan().MustDo(want)
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c", "d")
	f.Plan().MustBeEmpty()
}

// idIn returns the ID in "name (ID)", padded so that texts sort like numbers.
func idIn(s string) string {
	_, id, _ := strings.Cut(s, " (")
	return fmt.Sprintf("%17s", id)
}

// The destroy of an incomplete bootstrap succeeds and leaves nothing behind.
func TestAccDestroyHalfBootstrap(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]FleetOptions{
		"v3": {},
		"v2": {Protocol: "v2", Registry: etcdtest.V35, Version: etcdtest.V36},
	} {
		if name == "v2" && !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, o)
			halfWay(t, f)
			token := f.State("etcd_discovery_token.this")["token"]
			destroyed := f.Destroy().MustSucceed()
			warnings := destroyed.Warnings()
			if len(warnings) != 1 || warnings[0].Summary != "Removed an incomplete discovery token" {
				t.Fatalf("want one warning, of the token:\n%s", destroyed.Report())
			}
			warnings[0].MustDetail(t, fmt.Sprintf("Token %.8s… waited for 3 initial members, of which 2 have registered: a and b. "+
				"A process of theirs that still runs never forms this cluster: stop it, and empty its data directory.", token))
			mustEndWithToken(t, f, destroyed, nil)
		})
	}
}

// halfWay applies while the machine of c cannot start its etcd.
func halfWay(t *testing.T, f *Fleet) {
	t.Helper()
	broken := filepath.Join(f.Machines, "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.Nodes["c"].Etcd = broken
	for _, n := range f.Nodes {
		n.Create = "8s"
	}
	failed := f.Apply().MustFail()
	if n := len(failed.Errors()); n != 3 {
		t.Errorf("%d errors, want one for each member:\n%s", n, failed.Report())
	}
	for _, e := range failed.Errors() {
		if e.Summary != "Cannot add member a" {
			continue
		}
		// The answer of each endpoint depends on how far its member has come.
		if want := "The cluster did not form in time: no endpoint gave a member list. All initial members must run, and find each other, before one of them answers. " +
			"Check the logs of their processes, fix what they report, and apply again.\n\nThe endpoints answered:\n"; !strings.HasPrefix(e.Detail, want) {
			t.Errorf("got %s", e)
		}
	}
}
