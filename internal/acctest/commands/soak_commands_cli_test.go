// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// nodeParts are the parts that belong to one node.
var nodeParts = parts[:3]

// membershipParts are those whose loss from the state Terraform can repair: a
// user who drops a machine has to import it.
var membershipParts = []string{"etcd_member_config", "etcd_member"}

const (
	savesPlan   = "save a plan"
	appliesPlan = "apply the saved plan"
)

// commandKinds returns the commands that a user types.
func commandKinds() []kind {
	return []kind{
		{name: "apply", weight: 6, run: typed()},
		{name: "apply without a refresh", weight: 2, run: typed("-refresh=false")},
		{name: "apply one at a time", weight: 2, run: typed("-parallelism=1")},
		{name: "refresh only", weight: 2, run: typed("-refresh-only")},
		{name: "target", weight: 12, parts: parts, pair: true, run: on("-target")},
		{name: "replace", weight: 8, parts: parts, pair: true, run: on("-replace")},
		{name: "target and replace", weight: 8, parts: []string{"etcd_member_config", "etcd_member_config", "etcd_member", bootstrapPart}, run: on("-target", "-replace")},
		{name: savesPlan, weight: 3, parts: append([]string{""}, nodeParts...), run: (*actor).savePlan},
		{name: appliesPlan, weight: 1, run: (*actor).applySaved},
		{name: "taint", weight: 4, parts: parts, pair: true, run: (*actor).taint},
		{name: "untaint", weight: 1, parts: parts, run: (*actor).untaint},
		{name: "state rm", weight: 4, parts: membershipParts, pair: true, run: (*actor).stateRm},
		{name: "state rm of config and member", weight: 3, pair: true, run: (*actor).stateRmBoth},
		{name: "state rm of the bootstrap", weight: 1, run: (*actor).stateRmBootstrap},
		{name: "state mv", weight: 3, run: (*actor).stateMv},
		{name: "import", weight: 3, parts: membershipParts, run: (*actor).importOne},
		{name: "destroy target", weight: 3, parts: parts, run: (*actor).destroyTarget},
		{name: "interrupt", weight: 3, parts: append([]string{""}, nodeParts...), waits: true, run: (*actor).interrupt},
		{name: "kill", weight: 4, parts: append([]string{""}, nodeParts...), waits: true, run: (*actor).killed},
		{name: "two runs", weight: 3, run: (*actor).twoRuns},
	}
}

// typed returns a step that runs apply with these options.
func typed(options ...string) func(*actor, deed) bool {
	return func(a *actor, _ deed) bool {
		o := a.cli(append([]string{"apply"}, options...)...)
		if o.ExitCode == 0 && !slices.Contains(options, "-refresh-only") {
			a.now.moved = ""
			a.base = a.now.clone()
		}
		return true
	}
}

// on returns a step that runs apply with these options, each for the step's addresses.
func on(options ...string) func(*actor, deed) bool {
	return func(a *actor, s deed) bool {
		if s.part == "terraform_data.machine" && (a.unbound() || slices.Contains(options, "-target") && (len(options) > 1 || a.machinesAlone())) {
			return false
		}
		args := []string{"apply"}
		for _, option := range options {
			args = append(args, each(option, a.targets(s)...)...)
		}
		a.cli(args...)
		return true
	}
}

// machinesAlone reports whether a machine is about to be replaced without its
// configuration. The provider does not see this if the machine is the only target.
func (a *actor) machinesAlone() bool {
	for _, e := range a.entries() {
		if e.resource == "terraform_data" && e.tainted {
			return true
		}
	}
	return slices.ContainsFunc(a.now.keys(), func(key string) bool { return a.now.nodes[key].Image != a.base.nodes[key].Image })
}

// unbound reports whether members do not depend on their machines because the
// argument machine_id or the members were dropped. The provider then does not
// see the replacement of a single machine.
func (a *actor) unbound() bool {
	return a.now.removed || a.now.without["etcd_member"] == "machine_id" || a.base.removed || a.base.without["etcd_member"] == "machine_id"
}

// savePlan saves a plan, with a replacement if the step has a part.
func (a *actor) savePlan(s deed) bool {
	file := filepath.Join(a.Dir, "saved.bin")
	_ = os.Remove(file)
	args := []string{"plan", "-json", "-input=false", "-out=" + file}
	if s.part != "" && (s.part != "terraform_data.machine" || !a.unbound()) {
		args = append(args, each("-replace", a.targets(s)[:1]...)...)
	}
	o := a.cli(args...)
	a.saved, a.savedEnd = "", warnsOfEnd(o)
	if o.ExitCode == 0 {
		a.saved = file
	}
	return true
}

func warnsOfEnd(o *acctest.Outcome) bool {
	return slices.ContainsFunc(o.Diagnostics, func(d acctest.Diagnostic) bool { return d.Summary == acctest.EveryVoterGoes })
}

func (a *actor) applySaved(deed) bool {
	if a.saved == "" {
		return false
	}
	if a.savedEnd {
		a.excused = true // its plan had this warning
	}
	a.cli("apply", a.saved)
	a.saved, a.excused = "", false
	return true
}

func (a *actor) taint(s deed) bool {
	if s.part == "terraform_data.machine" && a.unbound() {
		return false
	}
	for _, address := range a.targets(s) {
		a.cli("taint", "-allow-missing", address)
	}
	return true
}

func (a *actor) untaint(s deed) bool {
	a.cli("untaint", "-allow-missing", a.targets(s)[0])
	return true
}

func (a *actor) stateRm(s deed) bool { return a.forgetState(a.targets(s)) }

func (a *actor) stateRmBoth(s deed) bool {
	s.part = "etcd_member_config"
	addresses := a.targets(s)
	s.part = "etcd_member"
	return a.forgetState(append(addresses, a.targets(s)...))
}

func (a *actor) stateRmBootstrap(deed) bool { return a.forgetState([]string{bootstrapPart + ".this"}) }

// forgetState drops the resources that exist from the state.
func (a *actor) forgetState(addresses []string) bool {
	entries := a.entries()
	addresses = slices.DeleteFunc(addresses, func(address string) bool { _, is := entries[address]; return !is })
	if len(addresses) == 0 {
		return false
	}
	for _, address := range addresses {
		a.forgotten[entries[address].member] = true
	}
	a.cli(append([]string{"state", "rm"}, addresses...)...)
	return true
}

// stateMv gives a node another key, in the configuration and in the state.
func (a *actor) stateMv(s deed) bool {
	if a.now.layout == counted {
		return false
	}
	name := a.now.memberName(a.key(s))
	before := a.wanted()[name]
	rename(false)(a, s)
	a.write()
	after, entries := a.wanted()[name], a.entries()
	for _, resource := range slices.Sorted(maps.Keys(before)) {
		if _, is := entries[before[resource]]; is {
			a.cli("state", "mv", before[resource], after[resource])
		}
	}
	return true
}

// importOne imports a resource that the state may already have.
func (a *actor) importOne(s deed) bool {
	a.cli("import", "-input=false", a.targets(s)[0], a.now.memberName(a.key(s)))
	return true
}

func (a *actor) destroyTarget(s deed) bool {
	for _, e := range a.entries() {
		// The provider does not see the destroy of a machine on which no member
		// in the state depends.
		meant := s.part == bootstrapPart || s.part != "etcd_member" && e.member == a.now.memberName(a.key(s))
		alone := !a.protects(e.member) || a.unbound() && !a.spares(e.member)
		if meant && e.resource == "terraform_data" && alone && a.idIn(e.member) != 0 {
			return false
		}
	}
	a.cli("destroy", "-target="+a.targets(s)[0])
	return true
}

// begin starts an apply that is to be interrupted.
func (a *actor) begin(s deed) (*acctest.Running, scene) {
	before := a.look()
	args := []string{"apply"}
	if s.part != "" && (s.part != "terraform_data.machine" || !a.unbound()) {
		args = append(args, "-replace="+a.targets(s)[0])
	}
	a.Save()
	run := a.Workspace.Start(args...)
	end := time.Now().Add(time.Duration(s.ms) * time.Millisecond)
	for !run.Ended() && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
	}
	return run, before
}

func (a *actor) interrupt(s deed) bool {
	run, before := a.begin(s)
	run.Interrupt()
	a.judgeCut(before, run)
	return true
}

func (a *actor) killed(s deed) bool {
	run, before := a.begin(s)
	if !run.Ended() {
		a.kill(run)
	}
	a.judgeCut(before, run)
	return true
}

func (a *actor) judgeCut(before scene, run *acctest.Running) {
	a.cut = true
	a.judge(before, run.Wait())
	a.cut = false
}

// twoRuns replaces two nodes at the same time, from two copies of the state.
// Afterwards the changes of one are merged into the state of the other, as two
// people would have to do. Both runs would create a node that is still to be
// added, so there must be none.
func (a *actor) twoRuns(s deed) bool {
	s.also = max(1, s.also)
	one, other := a.key(s), a.second(s)
	entries := a.entries()
	added := func(key string) bool { return entries[a.addr("etcd_member_config", key)].values == nil }
	if other == "" || a.now.layout == moduleEach || a.now.removed || slices.ContainsFunc(a.now.keys(), added) {
		return false
	}
	a.Save()
	before := a.look()
	g := a.Sibling()
	first := a.Workspace.Start("apply", "-replace="+a.addr("etcd_member_config", one))
	second := g.Start("apply", "-replace="+a.addr("etcd_member_config", other))
	a.judge(before, first.Wait(), second.Wait())
	a.merge(g, a.now.memberName(other), entries)
	return true
}

// stateFile has the fields that are necessary to copy a part of a state from
// another one; the rest does not change.
type stateFile struct {
	Version          int             `json:"version"`
	TerraformVersion string          `json:"terraform_version"`
	Serial           int             `json:"serial"`
	Lineage          string          `json:"lineage"`
	Outputs          json.RawMessage `json:"outputs"`
	Resources        []stateResource `json:"resources"`
	CheckResults     json.RawMessage `json:"check_results"`
}

type stateResource struct {
	Mode      string            `json:"mode"`
	Type      string            `json:"type"`
	Name      string            `json:"name"`
	Provider  string            `json:"provider"`
	Instances []json.RawMessage `json:"instances"`
}

// of returns a function that reports whether an instance has one of these addresses.
func (r stateResource) of(addresses map[string]bool) func(json.RawMessage) bool {
	return func(instance json.RawMessage) bool {
		var at struct {
			Key any `json:"index_key"`
		}
		return json.Unmarshal(instance, &at) == nil && addresses[r.Type+"."+r.Name+indexOf(at.Key)]
	}
}

// merge copies the resources of a member from the state of g.
func (a *actor) merge(g *acctest.Fleet, member string, entries map[string]entry) {
	a.t.Helper()
	theirs := map[string]bool{}
	for address, e := range entries {
		theirs[address] = e.member == member
	}
	var state, other stateFile
	err1 := json.Unmarshal([]byte(a.Read("terraform.tfstate")), &state)
	err2 := json.Unmarshal([]byte(g.Read("terraform.tfstate")), &other)
	for i := range state.Resources {
		r := &state.Resources[i]
		r.Instances = slices.DeleteFunc(r.Instances, r.of(theirs))
		for _, o := range other.Resources {
			if o.Type != r.Type || o.Name != r.Name {
				continue
			}
			is := o.of(theirs)
			for _, instance := range o.Instances {
				if is(instance) {
					r.Instances = append(r.Instances, instance)
				}
			}
		}
	}
	state.Serial++
	text, err3 := json.MarshalIndent(state, "", "  ")
	if err := errors.Join(err1, err2, err3); err != nil {
		a.TB.Fatal(err)
	}
	a.Write("terraform.tfstate", string(text))
}

// indexOf returns the end of an address with this instance key.
func indexOf(key any) string {
	switch key := key.(type) {
	case string:
		return fmt.Sprintf("[%q]", key)
	case float64:
		return fmt.Sprintf("[%d]", int(key))
	default:
		return ""
	}
}
