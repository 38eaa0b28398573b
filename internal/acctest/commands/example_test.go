// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// example is a copy of a directory of examples/ with ports of the test. The
// embedded fleet observes and controls its machines.
type example struct {
	*acctest.Fleet
	vars map[string]any
}

// newExample copies the example. vars are its variables, in addition to those
// that all examples have.
func newExample(t *testing.T, name string, vars map[string]any) *example {
	t.Helper()
	root, err := acctest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	machines := filepath.Join(filepath.Dir(w.Dir), "machines")
	// All of them, because some use others as modules.
	if err := os.CopyFS(w.Dir, os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	w.Dir = filepath.Join(w.Dir, name)
	e := &example{vars: vars, Fleet: &acctest.Fleet{
		Workspace: w, Nodes: map[string]*acctest.Node{}, Machines: machines,
		MachineScript: filepath.Join(root, "examples", "local-cluster", "machine.sh"),
	}}
	if err := os.Mkdir(e.Machines, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.LogMachines)
	vars["machine_sh"], vars["directory"], vars["etcd"] = e.MachineScript, e.Machines, etcdtest.Binary(t, e.Version())
	e.set()
	return e
}

// set writes the variables.
func (e *example) set() {
	e.TB.Helper()
	words, err := json.MarshalIndent(e.vars, "", "  ")
	if err != nil {
		e.TB.Fatal(err)
	}
	e.Write("terraform.tfvars.json", string(words))
}

// Plan is [acctest.Workspace.Plan] with the current variables.
func (e *example) Plan(args ...string) *acctest.Plan {
	e.TB.Helper()
	e.set()
	return e.Workspace.Plan(args...)
}

// Apply is [acctest.Workspace.Apply] with the current variables.
func (e *example) Apply(args ...string) *acctest.Outcome {
	e.TB.Helper()
	e.set()
	return e.Workspace.Apply(args...)
}

// Destroy is [acctest.Workspace.Destroy].
func (e *example) Destroy(args ...string) *acctest.Outcome {
	e.TB.Helper()
	return e.Workspace.Destroy(args...)
}

// join adds the other members of the cluster to the nodes that the test knows.
func (e *example) join(cluster *etcdtest.Cluster) {
	e.AuthEnabled = e.Auth // from the beginning
	for _, p := range cluster.Members() {
		e.Nodes[p.Name] = &acctest.Node{Client: p.ClientURL(), Peer: p.PeerURL()}
	}
}

// port returns an object with two ports, in the format of the examples'
// variables, and adds the node.
func (e *example) port(name string) map[string]int {
	e.TB.Helper()
	client, peer := etcdtest.ReservePort(e.TB), etcdtest.ReservePort(e.TB)
	e.Nodes[name] = &acctest.Node{
		Client: fmt.Sprintf("http://127.0.0.1:%d", client), Peer: fmt.Sprintf("http://127.0.0.1:%d", peer),
		Etcd: etcdtest.Binary(e.TB, e.Version()),
	}
	e.Trust(e.Nodes[name].Client)
	return map[string]int{"client_port": client, "peer_port": peer}
}

// If a group rebuilds a machine without its disk, the member does not come back
// under its old identity. With its disk it does.
func TestAccExampleAutoscalingGroup(t *testing.T) {
	t.Parallel()
	cluster := acctest.StartCluster(t, 1, etcdtest.Options{Names: []string{"a"}})
	e := newExample(t, "autoscaling-group", map[string]any{"endpoints": cluster.Endpoints()})
	e.join(cluster)
	e.vars["nodes"] = map[string]any{"d": e.port("d"), "e": e.port("e")}
	e.Apply().MustSucceed().MustBeQuiet()
	e.MustVote("a", "d", "e")
	e.Plan().MustBeEmpty()

	t.Log("the machine is made anew, with its disk")
	e.Crash("d")
	e.Repair("d")
	e.MustVote("a", "d", "e")
	e.Plan().MustBeEmpty()

	t.Log("and without")
	env, script := machineFiles(e.Fleet, "d")
	e.Crash("d")
	e.RunMachine("down", "d")
	e.RunMachine("up", "d", "ETCD_BIN="+e.Nodes["d"].Etcd, "MACHINE_ENV="+env, acctest.MachineJoin(script))
	etcdtest.Eventually(t, "the join script does not start d", func() error {
		text, err := os.ReadFile(filepath.Join(e.Machines, "d", "etcd.log"))
		if err == nil && !strings.Contains(string(text), "has run before and its data is gone") {
			err = fmt.Errorf("the log of d: %s", text)
		}
		return err
	})
	replace := "-replace=" + acctest.Address("etcd_member_config", "d")
	want := map[string]string{acctest.Address("terraform_data.template", "d"): "update"}
	for _, resource := range []string{"etcd_member_config", "terraform_data.group", "etcd_member"} {
		want[acctest.Address(resource, "d")] = "delete create"
	}
	e.Plan(replace).MustDo(want)
	e.Apply(replace).MustSucceed()
	e.MustVote("a", "d", "e")
	e.Plan().MustBeEmpty()

	t.Log("Terraform does not run the destroy provisioner of a tainted machine: the new one has the same contents, and no data")
	e.Run("taint", acctest.Address("terraform_data.group", "d")).MustSucceed()
	e.Apply(replace).MustSucceed()
	e.MustVote("a", "d", "e")
	e.Plan().MustBeEmpty()

	e.Destroy().MustSucceed()
	e.MustBeGone()
	delete(e.Nodes, "d")
	delete(e.Nodes, "e")
	e.MustVote("a")
}

// All machines are replaced by new ones, which join before the old ones leave, under
// writes. The configuration still names the initial members, which are not needed.
func TestAccExampleSurge(t *testing.T) {
	t.Parallel()
	e := newExample(t, "surge", map[string]any{})
	delete(e.vars, "machine_sh") // the module sets it
	older := map[string]any{"a": e.port("a"), "b": e.port("b"), "c": e.port("c")}
	newer := map[string]any{"x": e.port("x"), "y": e.port("y"), "z": e.port("z")}
	changes := func(action string, names ...string) map[string]string {
		out := map[string]string{}
		for _, name := range names {
			out[acctest.Address("etcd_member_config", name)] = action
			out[fmt.Sprintf("module.machine[%q].terraform_data.machine", name)] = action
			out[acctest.Address("etcd_member", name)] = action
		}
		return out
	}
	e.vars["nodes"] = older
	e.set()
	e.Run("get").MustSucceed()
	e.Apply().MustSucceed().MustBeQuiet()
	e.MustVote("a", "b", "c")
	writer := e.Writer("a", "b", "c")

	both := maps.Clone(older)
	maps.Copy(both, newer)
	e.vars["nodes"] = both
	e.Plan().MustDo(changes("create", "x", "y", "z"))
	e.Apply().MustSucceed().MustBeQuiet()
	e.MustVote("a", "b", "c", "x", "y", "z")
	e.Plan().MustBeEmpty()

	e.vars["nodes"] = newer
	e.Plan().MustDo(changes("delete", "a", "b", "c"))
	e.Apply().MustSucceed().MustBeQuiet()
	e.MustNotPause(writer, acctest.Pause, "x", "y", "z")
	t.Logf("longest gap %v", writer.LongestGap())
	e.MustVote("x", "y", "z")
	e.Plan().MustBeEmpty()
	e.Destroy().MustSucceed()
	e.MustBeGone()
}

// machineFiles returns the environment and the join script of a machine.
func machineFiles(f *acctest.Fleet, name string) (env, script string) {
	f.TB.Helper()
	words, err := os.ReadFile(filepath.Join(f.Machines, name, "etcd.env"))
	if err != nil {
		f.TB.Fatal(err)
	}
	join, _ := os.ReadFile(filepath.Join(f.Machines, name, "join.sh")) // not every machine has one
	return string(words), string(join)
}

// The literal two-phase procedure, after which the block of the first phase is removed.
func TestAccExampleTwoPhase(t *testing.T) {
	t.Parallel()
	cluster := acctest.StartCluster(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	e := newExample(t, "two-phase", map[string]any{"endpoints": cluster.Endpoints()})
	e.join(cluster)
	for key, port := range e.port("d") {
		e.vars[key] = port
	}
	e.Plan().MustDo(map[string]string{"etcd_learner.d": "create", "terraform_data.machine": "create", "etcd_member.d": "create"})
	e.Apply().MustSucceed().MustBeQuiet()
	e.MustVote("a", "b", "c", "d")
	e.Plan().MustBeEmpty()
	id := fmt.Sprintf("%x", e.MemberID("d"))
	for _, resource := range []string{"etcd_learner.d", "etcd_member.d"} {
		if s := e.State(resource); s["id"] != id || s["role"] != "voter" && resource == "etcd_member.d" {
			t.Errorf("%s is %v as %v, want %s", resource, s["id"], s["role"], id)
		}
	}

	t.Log("the learner's block goes, and its ID stays as a text")
	words := e.Read("main.tf")
	begin, end := strings.Index(words, "# Phase 1"), strings.Index(words, "# Phase 2")
	words = strings.NewReplacer("etcd_learner.d.id", fmt.Sprintf("%q", id), "etcd_learner.d.environment", "{}",
		"etcd_learner.d.peer_urls", "[local.peer_url]").Replace(words[:begin] + words[end:])
	e.Write("main.tf", words)
	e.Plan().MustDo(map[string]string{"etcd_learner.d": "delete"})
	e.Apply().MustSucceed().MustBeQuiet()
	e.MustVote("a", "b", "c", "d")
	e.Plan().MustBeEmpty()

	t.Log("and the ID goes as well")
	e.Write("main.tf", strings.Replace(words, fmt.Sprintf("learner_id = %q", id), "", 1))
	e.Plan().MustDo(map[string]string{"etcd_member.d": "update"})
	e.Apply().MustSucceed().MustBeQuiet()
	e.Plan().MustBeEmpty()

	e.Destroy().MustSucceed().MustBeQuiet()
	e.MustBeGone()
	delete(e.Nodes, "d")
	e.MustVote("a", "b", "c")
}

// With the literal procedure, one apply can add only one node: a second one
// would wait for the learner slot of the first without end.
func TestAccTwoPhaseOfTwo(t *testing.T) {
	t.Parallel()
	cluster := acctest.StartCluster(t, 1, etcdtest.Options{Names: []string{"a"}})
	e := newExample(t, "two-phase", map[string]any{"endpoints": cluster.Endpoints()})
	for key, port := range e.port("d") {
		e.vars[key] = port
	}
	e.Write("second.tf", "resource \"etcd_learner\" \"e\" {\n  name = \"e\"\n  peer_urls = [\"http://127.0.0.1:1\"]\n  wait_until = \"announced\"\n}\n")
	e.Plan().MustSay("Several learners would be added before their machines").MustDetail(t,
		"d, e would all be added (wait_until = \"announced\") before any of their machines is created, and a cluster takes one learner at a time: "+
			"the second would wait for the first without end. Nothing has been changed. Add them in one apply each; or use etcd_member_config with its join script, "+
			"with which any number of machines may boot first and are added one after the other."+text.DestroyInstead)
	e.join(cluster)
	e.MustVote("a")
}

// A standby learner stays without a vote, is promoted in place, and cannot be
// demoted.
func TestAccStandby(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a", "b"}})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	want := flat.changes("create", "d")
	delete(want, acctest.Address("etcd_member", "d"))
	want[acctest.Address("etcd_learner", "d")] = "create"
	f.Plan().MustDo(want)
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustList("a", "b", "d (learner)")
	f.Plan().MustBeEmpty()
	id := f.MemberID("d")

	f.Nodes["d"].Promote = true
	f.Plan().MustDo(map[string]string{acctest.Address("etcd_learner", "d"): "update"})
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a", "b", "d")
	if now := f.MemberID("d"); now != id {
		t.Errorf("d was %x and is %x", id, now)
	}
	f.Plan().MustBeEmpty()

	f.Nodes["d"].Promote = false
	e := f.Plan().MustSay("Member d would be replaced alone")
	e.MustContain(t, e.Summary, "If promote was changed to false, set it to true again")
	f.MustVote("a", "b", "d")
}

// The addresses are unknown before the machines have booted.
func TestAccExampleUnknownAddresses(t *testing.T) {
	t.Parallel()
	vars := map[string]any{"nodes": []string{"a", "b", "c", "d"}}
	var ports []int
	for range 12 {
		ports = append(ports, etcdtest.ReservePort(t))
	}
	vars["ports"] = ports[2:]
	vars["registry"] = map[string]int{"client_port": ports[0], "peer_port": ports[1]}
	e := newExample(t, "unknown-addresses", vars)
	for _, port := range ports {
		e.Trust(fmt.Sprintf("http://127.0.0.1:%d", port))
	}
	first := e.Plan()
	if len(first.Actions()) != 14 || first.ExitCode != 2 {
		t.Errorf("%d changes are planned, want 14: a registry, a token, and four times a configuration, a machine and a member", len(first.Actions()))
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		first.MustNotKnow(acctest.Address("etcd_member", name), "id", "cluster_id", "role", "client_urls", "version",
			"config", "machine_id", "peer_urls", "endpoints")
	}
	e.Apply().MustSucceed().MustBeQuiet()
	e.look("a", "b", "c", "d")
	e.MustVote("a", "b", "c", "d") // d is not an initial member: it asked the discovery cluster for them
	e.Plan().MustBeEmpty()

	t.Log("a fifth, which asks the founders that the token names")
	vars["nodes"] = []string{"a", "b", "c", "d", "e"}
	e.Plan().MustDo(flat.changes("create", "e"))
	writer := e.Writer("a", "b", "c")
	e.Apply().MustSucceed().MustBeQuiet()
	e.look("e")
	e.MustVote("a", "b", "c", "d", "e")
	e.Plan().MustBeEmpty()

	e.Plan("-replace="+acctest.Address("etcd_member_config", "a"), "-replace="+acctest.Address("etcd_member_config", "d")).MustEndanger(
		"It replaces the configurations of a and d, and the cluster cannot be observed from here", "Nothing has been changed.", "terraform apply -replace='ADDRESS'")

	t.Log("two go, while their machines run")
	vars["nodes"] = []string{"a", "b", "c"}
	mustLeaveFirst(t, e.Apply().MustSucceed(), "d", "e")
	e.MustNotPause(writer, acctest.Pause, "a", "b", "c")
	delete(e.Nodes, "d")
	delete(e.Nodes, "e")
	e.MustVote("a", "b", "c")
	e.Plan().MustBeEmpty()

	destroyed := e.Destroy().MustSucceed()
	acctest.MustForgetLast(t, destroyed, "a", "b", "c")
	mustLeaveFirst(t, destroyed, "a", "b", "c")
	e.MustBeGone()
}

// mustLeaveFirst fails the test unless each of these members was removed before
// the destroy of its machine started.
func mustLeaveFirst(t *testing.T, o *acctest.Outcome, names ...string) {
	t.Helper()
	for _, name := range names {
		member := o.At("apply_complete", acctest.Address("etcd_member", name), "delete")
		if machine := o.At("apply_start", acctest.Address("terraform_data.machine", name), "delete"); machine.Before(member) {
			t.Errorf("the machine of %s was taken down at %v, and its member left at %v", name, machine, member)
		}
	}
}

// look reads the addresses that machines have chosen.
func (e *example) look(names ...string) {
	e.TB.Helper()
	for _, name := range names {
		env, _ := machineFiles(e.Fleet, name)
		n := &acctest.Node{Etcd: etcdtest.Binary(e.TB, e.Version())}
		for line := range strings.Lines(env) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "ETCD_ADVERTISE_CLIENT_URLS":
				n.Client = value
			case "ETCD_INITIAL_ADVERTISE_PEER_URLS":
				n.Peer = value
			}
		}
		e.Nodes[name] = n
	}
}
