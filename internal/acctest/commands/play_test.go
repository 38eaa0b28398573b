// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// play is an example for the reader's own computer, unchanged except for its
// ports. The tests run the commands of its README.
type play struct{ *acctest.Fleet }

var (
	// examplePort is a client port in an example; the peer port is the next one.
	examplePort = regexp.MustCompile(`\b2[34][0-9]{3}\b`)
	// exampleNode is a node in an example.
	exampleNode = regexp.MustCompile(`\b([abc]) = ([0-9]{5})\b`)
)

// newPlay copies the example, and those that it uses as modules.
func newPlay(t *testing.T, name string) *play {
	t.Helper()
	root, err := acctest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	for _, dir := range []string{name, "local-machine", "local-registry", "local-cluster"} {
		if err := os.CopyFS(filepath.Join(w.Dir, dir), os.DirFS(filepath.Join(root, "examples", dir))); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Dir(etcdtest.Binary(t, etcdtest.V36))
	if err := os.Symlink(bin, filepath.Join(filepath.Dir(w.Dir), "bin")); err != nil {
		t.Fatal(err)
	}
	w.Dir = filepath.Join(w.Dir, name)
	p := &play{&acctest.Fleet{
		Workspace: w, Nodes: map[string]*acctest.Node{}, Machines: filepath.Join(w.Dir, "machines"),
		MachineScript: filepath.Join(root, "examples", "local-cluster", "machine.sh"),
	}}
	t.Cleanup(p.LogMachines)

	ports := map[string]string{}
	text := examplePort.ReplaceAllStringFunc(p.Read("main.tf"), func(port string) string {
		if ports[port] == "" {
			ports[port] = strconv.Itoa(etcdtest.ReserveTwoPorts(t))
		}
		return ports[port]
	})
	p.Write("main.tf", text)
	for _, node := range exampleNode.FindAllStringSubmatch(text, -1) {
		port, err := strconv.Atoi(node[2])
		if err != nil {
			t.Fatal(err)
		}
		p.Nodes[node[1]] = &acctest.Node{Client: fmt.Sprintf("http://127.0.0.1:%d", port), Peer: fmt.Sprintf("http://127.0.0.1:%d", port+1)}
	}
	if len(p.Nodes) != 3 || len(ports) != 4 {
		t.Fatalf("%s has the ports %v and the nodes %v", name, ports, slices.Sorted(maps.Keys(p.Nodes)))
	}
	for _, n := range p.Nodes {
		p.Trust(n.Client)
	}
	p.Init()
	return p
}

// Plan is [acctest.Workspace.Plan]: it does not write the example's own variables.
func (p *play) Plan(args ...string) *acctest.Plan { p.TB.Helper(); return p.Workspace.Plan(args...) }

// Apply is [acctest.Workspace.Apply].
func (p *play) Apply(args ...string) *acctest.Outcome {
	p.TB.Helper()
	return p.Workspace.Apply(args...)
}

// end destroys everything.
func (p *play) end() {
	p.TB.Helper()
	p.Workspace.Destroy().MustSucceed()
	p.MustBeGone()
}

// mustRoll applies like a pipeline until nothing is left to do. It fails the
// test unless that takes one apply per node. The short form does only the first
// apply: other tests go to the end.
func (p *play) mustRoll(nodes ...string) {
	p.TB.Helper()
	for range sample(nodes) {
		p.Apply().MustSucceed()
	}
	if etcdtest.Full() {
		p.Plan().MustBeEmpty()
	}
}

// sample returns the first name, or all of them in the full run.
func sample(names []string) []string {
	if etcdtest.Full() {
		return names
	}
	return names[:1]
}

// The examples that replace members work as their READMEs say.
func TestAccExamplesThatReplace(t *testing.T) {
	t.Parallel()
	nodes := []string{"a", "b", "c"}

	t.Run("rolling-image", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t, "rolling-image")
		p.Apply().MustSucceed()
		p.MustVote(nodes...)
		p.Env = []string{"TF_VAR_image=two"}
		p.Plan().Says("Rollout: a is next")
		writer := p.Writer(nodes...)
		ids := p.MemberIDs()
		p.mustRoll(nodes...)
		p.MustNotPause(writer, acctest.Pause, nodes...)
		p.MustVote(nodes...)
		p.MustHaveReplaced(ids, sample(nodes)...)
		p.end()
	})

	t.Run("module-per-node", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t, "module-per-node")
		p.Apply().MustSucceed()
		p.MustVote(nodes...)
		p.Plan().MustBeEmpty()
		ids := p.MemberIDs()
		p.Apply("-replace=module.b.etcd_member_config.this").MustSucceed()
		p.MustVote(nodes...)
		p.MustHaveReplaced(ids, "b")
		p.Plan().MustBeEmpty()
		p.Env = []string{"TF_VAR_image=two"}
		ids = p.MemberIDs()
		p.mustRoll(nodes...)
		p.MustVote(nodes...)
		p.MustHaveReplaced(ids, sample(nodes)...)
		p.end()
	})

	t.Run("replace-lost-member", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t, "replace-lost-member")
		p.Apply().MustSucceed()
		p.MustVote(nodes...)
		ids := p.MemberIDs()
		p.Lose("b")
		writer := p.Writer("a", "c")
		p.Plan().Says("Member b has failed and is replaced")
		p.Apply().MustSucceed()
		p.MustNotPause(writer, acctest.Pause, nodes...)
		p.MustVote(nodes...)
		p.MustHaveReplaced(ids, "b")
		p.Plan().MustBeEmpty()
		p.end()
	})

	t.Run("upgrade", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t, "upgrade")
		p.Apply().MustSucceed()
		p.MustVote(nodes...)
		p.Env = []string{"TF_VAR_etcd_version=3.7"}
		writer := p.Writer(nodes...)
		p.mustRoll(nodes...)
		p.MustNotPause(writer, acctest.Pause, nodes...)
		p.MustVote(nodes...)
		for _, name := range sample(nodes) {
			if v := fmt.Sprint(p.State(acctest.Address("etcd_member", name))["version"]); !regexp.MustCompile(`^3\.7\.`).MatchString(v) {
				t.Errorf("%s runs %s", name, v)
			}
		}
		p.end()
	})
}
