// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// finish checks the result of a sequence: a plain apply, or the advice of the
// refusals, must lead to an empty plan, without lost writes and without
// leftovers that have no owner.
func (a *actor) finish() {
	if !a.ended {
		a.heal()
		a.converge()
	}
	if a.ended {
		a.destroyAll()
		return
	}
	a.checkMembers()
	a.checkKeys()
	a.checkBootstrap()
	a.checkWrites()
}

// converge applies, and follows the advice of refusals, until the plan is empty
// and all members run. If the same problem comes back several times, it returns
// to the last applied configuration.
func (a *actor) converge() {
	var back bool
	seen := map[string]int{}
	for range 4*len(a.now.nodes) + 8 {
		what := a.round()
		if what == "" || a.ended {
			return
		}
		if seen[variable.ReplaceAllString(what, "#")]++; seen[variable.ReplaceAllString(what, "#")] < 3 {
			continue
		}
		if back {
			a.tr.find("does not converge", "nothing leads to an empty plan; the last that was seen:\n%s", what)
		}
		a.tr.Logf("GOES BACK to the configuration that was applied last")
		back = true
		clear(seen)
		a.undo(deed{})
	}
	a.tr.find("does not converge", "there is always something else")
}

// round applies once and follows the advice in its errors. It returns the
// remaining problem, or "" if there is none.
func (a *actor) round() string {
	o := a.apply("-lock-timeout=30s")
	if a.ended {
		return ""
	}
	if o.ExitCode != 0 {
		a.follow(o)
		a.replaceFailed()
		return fmt.Sprintf("apply: exit code %d\n%s", o.ExitCode, o.Report())
	}
	p := a.cli("plan", "-json", "-input=false", "-detailed-exitcode")
	if p.ExitCode != 0 {
		return fmt.Sprintf("plan: exit code %d\n%s\n%v", p.ExitCode, p.Report(), changesOf(p))
	}
	if failed := a.replaceFailed(); failed != "" {
		return failed + " does not run"
	}
	return ""
}

// replaceFailed replaces a member that does not run, as warnings and errors
// say, and returns its name.
func (a *actor) replaceFailed() string {
	if a.ended {
		return ""
	}
	failed := a.failed()
	if to := a.wanted()[failed]["etcd_member_config"]; to != "" {
		a.tr.Logf("REPLACES %s, which does not run", failed)
		a.cli("apply", "-replace="+to)
	}
	return failed
}

// changesOf returns the lines that describe a plan.
func changesOf(o *acctest.Outcome) []string {
	var out []string
	for _, m := range o.Messages {
		if _, what, found := strings.Cut(m, " "); found && strings.Contains(what, "Plan") {
			out = append(out, what)
		}
	}
	return out
}

// serves returns an error unless a voter answers a linearizable read.
func (a *actor) serves(m *etcdserverpb.Member) error {
	if len(m.ClientURLs) == 0 {
		return errors.New("it has never started")
	}
	return a.askOne(m.ClientURLs[0], func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Get(ctx, "acctest")
		return err
	})
}

// failed returns the name of a member that does not run, or "" if there is
// none. It waits for a member that has just been started.
func (a *actor) failed() string {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		down := ""
		for _, m := range a.list() {
			name := m.Name
			for of, n := range a.byName() {
				if slices.Contains(m.PeerURLs, n.Peer) {
					name = of // also before its first start
				}
			}
			// A process with the data of another member starts and exits at once.
			if name != "" && (!a.runsEtcd(name) || !m.IsLearner && a.serves(m) != nil) {
				down = name
			}
		}
		if down == "" || time.Now().After(end) {
			return down
		}
	}
}

// follow follows the advice in the errors of an apply.
func (a *actor) follow(o *acctest.Outcome) {
	together := slices.DeleteFunc(o.Errors(), func(e acctest.Diagnostic) bool { return !strings.Contains(e.Detail, "a -replace for each") })
	if len(together) > 1 {
		args := []string{"apply"}
		for _, e := range together {
			args = append(args, "-replace="+a.means(e, e.Detail))
		}
		a.tr.Logf("THE WAY OUT: %v", args)
		a.cli(args...)
	}
	told := a.now.moved
	for _, e := range o.Errors() {
		if a.ended || a.now.moved != "" && a.now.moved != told {
			return // a moved resource has its new address only after the next apply
		}
		if len(together) > 1 && strings.Contains(e.Detail, "a -replace for each") {
			continue
		}
		if !strings.Contains(e.Address, "etcd_") {
			a.now.moved = "" // an error of the CLI, such as an impossible move
			continue
		}
		a.lead(e)
	}
}

// lead follows the advice of one error, like a reader who remembers the
// previous steps.
func (a *actor) lead(e acctest.Diagnostic) {
	a.write()
	entries, commands := a.entries(), commandsIn(e)
	command := func(prefix string) string {
		i := slices.IndexFunc(commands, func(c string) bool { return strings.Contains(c, prefix) && c != destroyInstead })
		if i < 0 {
			return ""
		}
		return commands[i]
	}
	_, held := entries[e.Address]
	untaint, imports, replaces := command(" untaint 'ADDRESS'"), command(" import "), command(" -replace=")
	keepMachine, machine := command(" untaint 'MACHINE'"), a.stateAddress(a.machineOf(e.Address))
	at := e.Address
	if strings.Contains(e.Detail, `the one after "from"`) {
		at = a.stateAddress(at)
	}
	again := a.tried[e.String()] // a reader then continues with the next advice
	a.tried[e.String()] = true
	switch blocks := a.movedBlocks(); {
	case strings.Contains(e.Detail, "takes no more learners"):
		a.promoteStandbys()
	case untaint != "" && entries[at].tainted:
		a.shellLine(e, fillIn(untaint, at))
	case keepMachine != "" && entries[machine].tainted && (again || replaces == ""):
		if which := command("terraform state list -id="); which != "" {
			if listed := strings.TrimSpace(string(a.shell(which).Stdout)); listed != machine {
				a.tr.find("no ADDRESS", "%s lists %q, and the machine is %s:\n%s", which, listed, machine, e)
			}
		}
		a.shellLine(e, strings.ReplaceAll(keepMachine, "MACHINE", machine))
	case strings.Contains(e.Detail, " state mv ") && a.exchanged(blocks):
		a.moveInState(blocks)
	case strings.Contains(e.Detail, "moved {") && blocks != "" && blocks != a.now.moved: // repeating the same blocks does not help
		a.tr.Logf("THE WAY OUT: moved blocks\n%s", blocks)
		a.now.moved = blocks
	case imports != "" && !held:
		a.shellLine(e, imports)
	case keepMachine != "" && replaces != "" && !again:
		a.shellLine(e, replaces)
	case strings.Contains(e.Detail, "undo that change"), strings.Contains(e.Detail, "undo the other change"):
		a.undo(deed{})
	case strings.Contains(e.Detail, oneTooMany):
		a.dropOne(e)
	case replaces != "":
		a.shellLine(e, replaces)
	case strings.Contains(e.Detail, "another node gives up"):
		a.undo(deed{}) // the previous edits are no reason to continue
	case command("terraform apply") == "" && command("etcdctl ") != "":
		a.shellLine(e, command("etcdctl "))
	}
}

// configured returns the addresses in the configuration.
func (a *actor) configured() map[string]bool {
	has := map[string]bool{}
	for _, resources := range a.wanted() {
		for _, address := range resources {
			has[address] = true
		}
	}
	return has
}

// exchanged reports whether the configuration still has an address from which a
// resource is moved: the CLI refuses such a block.
func (a *actor) exchanged(blocks string) bool {
	has := a.configured()
	return slices.ContainsFunc(movedBlock.FindAllStringSubmatch(blocks, -1), func(m []string) bool { return has[m[1]] })
}

// ofType matches the type of the resource at an address.
var ofType = regexp.MustCompile(`(\w+)\.\w+(\[[^]]*\])?$`)

// moveInState makes the moves of the blocks in the state, through unused
// addresses.
func (a *actor) moveInState(blocks string) {
	moves := movedBlock.FindAllStringSubmatch(blocks, -1)
	aside := func(i int) string {
		return fmt.Sprintf("%s.aside_%d", ofType.FindStringSubmatch(moves[i][1])[1], i)
	}
	for i, m := range moves {
		a.cli("state", "mv", m[1], aside(i))
	}
	for i, m := range moves {
		a.cli("state", "mv", aside(i), m[2])
	}
}

// stateAddress returns the address that the CLI knows: the previous one until a
// move has been applied.
func (a *actor) stateAddress(address string) string { return cmp.Or(a.pending()[address], address) }

// plannedAddress returns the address that a plan uses for a resource of the state.
func (a *actor) plannedAddress(address string) string {
	for to, from := range a.pending() {
		if from == address {
			return to
		}
	}
	return address
}

// machineOf returns the address of the machine of the node that has a resource
// at this address, or "" if there is none.
func (a *actor) machineOf(address string) string {
	for _, resources := range a.wanted() {
		for _, of := range resources {
			if of == address {
				return resources["terraform_data"]
			}
		}
	}
	return ""
}

// oneTooMany is the text that names which one of two resources has to leave the
// state.
const oneTooMany = "ADDRESS is the address of the one that the configuration does not have"

// dropOne follows the advice for two resources of one member: it asks Terraform
// for their addresses, and drops from the state the one that the configuration
// does not have, or either of them if it has both.
func (a *actor) dropOne(e acctest.Diagnostic) {
	a.t.Helper()
	commands := commandsIn(e)
	which := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, "terraform state list -id=") })
	drop := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, "terraform state rm ") })
	if which < 0 || drop < 0 {
		a.tr.find("no ADDRESS", "the text does not say how to find it, or what to do with it:\n%s", e)
	}
	listed := strings.Fields(string(a.shell(commands[which]).Stdout))
	has := a.configured()
	if len(listed) != 2 {
		a.tr.find("no ADDRESS", "%s lists %q, want two:\n%s", commands[which], listed, e)
	}
	address := listed[0]
	if has[address] {
		address = listed[1]
	}
	line := fillIn(commands[drop], address)
	a.tr.Logf("THE WAY OUT: %s", line)
	before := a.look()
	a.judge(before, a.shell(line))
}

// shownAddress matches the text that says that ADDRESS is the resource of the
// diagnostic.
var shownAddress = regexp.MustCompile(`ADDRESS is the address (shown )?after "with"`)

// means returns the meaning of ADDRESS in a command of a diagnostic, or "" if
// it is not explained.
func (a *actor) means(e acctest.Diagnostic, command string) string {
	if !strings.Contains(command, "ADDRESS") {
		return ""
	}
	if shownAddress.MatchString(e.Detail) {
		return e.Address
	}
	if m := saidAddress.FindStringSubmatch(e.Detail); m != nil {
		for address, entry := range a.entries() {
			if entry.resource == m[1] && entry.member == m[2] {
				return a.plannedAddress(address)
			}
		}
		return a.wanted()[m[2]][m[1]]
	}
	return ""
}

// shellLine runs a command of a diagnostic.
func (a *actor) shellLine(e acctest.Diagnostic, command string) {
	line := command
	if strings.Contains(line, "ADDRESS") {
		address := a.means(e, command)
		if address == "" {
			a.tr.find("no ADDRESS", "the text does not say what ADDRESS is:\n%s", e)
		}
		line = fillIn(line, address)
	}
	a.tr.Logf("THE WAY OUT: %s", line)
	before := a.look()
	a.judge(before, a.shell(line))
}

// destroyAll destroys the rest of a cluster after every voter was removed as warned.
func (a *actor) destroyAll() {
	a.writer.Stop()
	a.heal()
	a.write()
	for range 2 {
		if o := a.Destroy("-lock-timeout=30s"); o.ExitCode == 0 {
			a.MustBeGone()
			return
		}
	}
	if o := a.shell(destroyInstead); o.ExitCode != 0 {
		a.tr.find("cannot be destroyed", "%s", o)
	}
	a.MustBeGone()
}
