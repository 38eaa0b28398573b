// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
)

// trial is what a judged scenario has. It has two directories: "main" has the etcd_cluster with its
// nodes, "two" has g, a member without a node, and a backup.
type trial struct {
	// oracle is nil until the cluster has formed, and in all other scenarios.
	oracle *oracle
	random *rand.Rand
	fault  fault
	two    *driver.Workspace
	second second
	// steps are those that were run, commands how many of them ran Terraform.
	steps    []string
	commands int
	// tainted are the addresses that are untainted after the next command: what was
	// refused is withdrawn.
	tainted     []string
	keysWritten []string // whose write was acknowledged
	// lost is true once the cluster has lost its quorum to what is outside of Terraform, or
	// was destroyed. Then writes and members may be lost.
	lost     bool
	coverage coverage
	// restoredByHand is true if another cluster runs on the machines.
	restoredByHand bool
	// together is true while two runs work at the same time.
	together bool
	// voted are the members that were given a vote by hand.
	voted map[uint64]bool
	// unchecked are names that are gone, and whose members an apply could not remove.
	unchecked []string
}

// second is the configuration of the second directory.
type second struct {
	image  string // of g, "" without it
	url    string // the peer URL of g
	backup backup
}

// judge makes the scenario a judged one. Its cluster is to form.
func (s *runner) judge() {
	s.two, s.voted = driver.New(s.world, driver.Values{}), map[uint64]bool{}
	s.second.backup.path = filepath.Join(s.vars["dir"], "etcd.db")
	s.two.Machines = s.fleet
	s.ws.CLI = driver.CLI(s.seed % 3)
	s.two.CLI, s.dir.image = s.ws.CLI, "0"
	s.network.MaxLearners = 6 // standby learners leave room
}

// secondProvider is the provider block of the second directory: the operator keeps its endpoints true.
func (s *runner) secondProvider() driver.Values {
	v := s.provider("a b c d e f")
	endpoints, _ := v["endpoints"].([]any)
	for _, name := range s.dir.names {
		if more := s.dir.address[name]; more != "" {
			endpoints = append(endpoints, "http://"+name+more+".example:2379")
		}
	}
	return driver.Values{"endpoints": endpoints}
}

// configureSecond writes the configuration of the second directory.
func (s *runner) configureSecond() {
	s.two.Provider, s.two.Resources = s.secondProvider(), nil
	if s.second.image != "" {
		s.two.Resources = nodes([]string{"g"}, s.second.image)
		s.two.Resources[1].Values["peer_urls"] = []any{s.second.url}
	}
	if s.second.backup.day > 0 {
		s.two.Resources = append(s.two.Resources, s.second.backup.resource())
	}
}

// nodeNamed is the name of the node in an address, "" without one.
func nodeNamed(address string) string {
	if name := quoted.FindStringSubmatch(address); name != nil {
		return name[1]
	}
	return ""
}

// nodes are machines and members without an etcd_cluster.
func nodes(all []string, image string) (out []driver.Resource) {
	for _, name := range all {
		m := member(name)
		m.Values["machine_id"] = driver.Ref{Resource: "machine." + name, Attribute: "id"}
		out = append(out, driver.Resource{Type: "machine", Name: name,
			Values: driver.Values{"name": name, "image": image}}, m)
	}
	return out
}

// wanted are the names in both configurations.
func (s *runner) wanted() []string {
	out := slices.Clone(s.dir.names)
	if s.second.image != "" {
		out = append(out, "g")
	}
	return out
}

// next is another name of the cluster.
func (s *runner) next(name string) string {
	return s.dir.names[(slices.Index(s.dir.names, name)+1)%len(s.dir.names)]
}

// over reports whether the scenario is over.
func (s *runner) over() bool { return len(s.findings) > 0 || s.Failed() }

// heal lets everything return, and locks and windows expire.
func (s *runner) heal() {
	s.fault.disarm(s)
	s.untaint()
	for _, p := range s.processes() {
		s.network.Heal("", p.ClientURL)
		s.network.Answer(p.ClientURL, s.answersAt(p.ClientURL))
	}
	s.network.Lax = false
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		s.fleet.start(name)
	}
	if s.dir.replaces == "" {
		s.rest(3 * time.Hour) // every fault is over
	} else {
		s.rest(3 * time.Minute) // the window of a restored cluster is not
	}
	s.withdrawByHand()
}

// converge applies both directories until nothing is to do. Then all nodes vote. A machine
// that was wiped, or that never boots, does not start by itself: unless it is replaced
// after a time, the operator replaces it, as the warning says, and in the end its node.
func (s *runner) converge() {
	s.heal()
	for _, name := range s.unchecked {
		if !slices.Contains(s.wanted(), name) && s.ws.State(memberOf(name)) == nil {
			s.removeByHand(name)
		}
	}
	var last, theirs driver.Result
	done, patience := false, 4
	if s.dir.after == "" {
		patience = 1
	}
	for i := 0; i < 4*len(s.dir.names)+4 && !done && !s.over(); i++ {
		var opts, their []driver.Option
		if i > patience && theirs.Err() != nil { // the peers that its machine knows are gone
			their = append(their, driver.Replace("machine.g"))
		}
		if dead := s.dead(); i > patience && len(dead) > 0 {
			name := dead[i%len(dead)]
			opts = append(opts, driver.Replace(machineOf(name)))
			if i > patience+2*len(s.dir.names) { // the peers that its node knows are gone
				s.dir.rebuilt[name] = fmt.Sprint(i)
				s.configure()
			}
		}
		s.oracle.begin(s.wanted())
		s.commands += 2
		plan, r := s.ws.Up(s.Context(), s.start("one"), opts...)
		var other *driver.Plan
		other, theirs = s.two.Up(s.Context(), s.start("two"), their...)
		s.followTexts(r, "one", s.ws)
		s.followTexts(theirs, "two", s.two)
		s.restartSecond()
		done = r.Err() == nil && theirs.Err() == nil && len(plan.Actions())+len(other.Actions()) == 0 &&
			len(s.dead()) == 0
		last.Diagnostics = append(r.Diagnostics, theirs.Diagnostics...)
		s.rest(15 * time.Minute)
	}
	if s.lost && len(s.dead()) == len(s.dir.names) {
		return // a restored cluster that has not formed within its window: see choose-a-bootstrap.md
	}
	if got := s.listing(); !done || got != s.wantedListing() || len(s.dead()) > 0 {
		s.oracle.wrong("both", "they do not converge: members %q of %q, dead %v: %v", got, s.wantedListing(),
			s.dead(), last)
	}
	s.readKeys()
}

// listing is list without the placeholder that a killed run has left: the next run that adds
// a member removes it.
func (s *runner) listing() string {
	return strings.Replace(s.list(), "(http://learner-placeholder.invalid:2380) ", "", 1)
}

// wantedListing is what listing returns in the end.
func (s *runner) wantedListing() string {
	names := s.wanted()
	for i, name := range names {
		if s.dir.learners[name] && !s.voted[s.ids()[name]] {
			names[i] = "(" + name + ")"
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// dead are the names in the first directory whose processes do not work.
func (s *runner) dead() (out []string) {
	for _, name := range s.dir.names {
		if m := s.fleet.of(name); m == nil || m.state != "" {
			out = append(out, name)
		}
	}
	return out
}

// healthy reports whether all members of the configuration vote and work.
func (s *runner) healthy() bool {
	return s.listing() == s.wantedListing() && len(s.dead()) == 0 &&
		!slices.ContainsFunc(s.wanted(), func(n string) bool { return !s.oracle.works(n) })
}
