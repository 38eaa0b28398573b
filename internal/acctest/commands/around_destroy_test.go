// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// mustWarnOfEnd fails the test unless this number of warnings says that every
// voter is removed.
func mustWarnOfEnd(o *acctest.Outcome, times int) {
	o.TB.Helper()
	n := 0
	for _, w := range o.Warnings() {
		if w.Summary == acctest.EveryVoterGoes {
			n++
		}
	}
	if n != times {
		o.TB.Errorf("%s: %d warnings that every voter goes, want %d:\n%s", strings.Join(o.Args, " "), n, times, o.Report())
	}
}

// Terraform also destroys the dependents of a target; with for_each and count
// these are all members. The plan warns about that, as for a full destroy.
// Removing only some members gives no such warning.
func TestAccAroundTheEnd(t *testing.T) {
	t.Parallel()
	tryAll(t, variants(flat), []attempt{
		{name: "one machine, one configuration, or one member targeted", run: func(l *lab) {
			last := l.members[l.size-1]
			every := 1
			if l.in == moduleEach {
				every = 0 // only this node
			}
			for _, resource := range []string{"terraform_data.machine", "etcd_member_config"} {
				p := l.Plan("-destroy", "-target="+l.addr(resource, last))
				if p.ExitCode != 2 {
					l.t.Fatalf("exit code %d:\n%s", p.ExitCode, p.Report())
				}
				mustWarnOfEnd(p.Outcome, every)
			}
			mustWarnOfEnd(l.Plan("-destroy", "-target="+l.addr("etcd_member", last)).Outcome, 0)
			mustWarnOfEnd(l.Plan("-destroy").Outcome, 1)
			mustWarnOfEnd(l.Plan("-destroy", "-refresh=false").Outcome, 1)
		}},
		{name: "shrunk", last: true, run: func(l *lab) {
			gone := l.members[l.size/2+1:] // 3 to 2, 5 to 3
			l.members = slices.Clone(l.members[:l.size/2+1])
			l.Drop(gone...)
			p := l.Plan()
			mustWarnOfEnd(p.Outcome, 0)
			if p.ExitCode != 2 {
				l.t.Fatalf("exit code %d:\n%s", p.ExitCode, p.Report())
			}
			l.Apply().MustSucceed()
		}},
		{name: "destroyed", gone: true, run: func(l *lab) {
			destroyed := l.Destroy().MustSucceed()
			mustWarnOfEnd(destroyed, 1)
		}},
		{name: "a machine deleted by hand", gone: true, run: func(l *lab) {
			l.deleteByHand("b")
			l.mustDestroy()
		}},
		{name: "a machine and its configuration deleted by hand", long: true, gone: true, run: func(l *lab) {
			l.Run("state", "rm", l.addr("etcd_member_config", "b")).MustSucceed()
			l.deleteByHand("b")
			l.mustDestroy()
		}},
		{name: "new names for all", not: []layout{counted}, gone: true, run: func(l *lab) {
			l.Drop(l.members...)
			l.Founders = []string{"x", "y", "z"}
			l.Add(l.Founders...)
			l.mustDestroy()
		}},
		{name: "all configurations changed", gone: true, run: func(l *lab) {
			l.trigger(l.members...)
			l.mustDestroy()
		}},
		{name: "a tainted member", long: true, gone: true, run: func(l *lab) {
			l.Run("taint", l.addr("etcd_member", "b")).MustSucceed()
			l.mustDestroy()
		}},
		{name: "tainted configurations", long: true, gone: true, run: func(l *lab) {
			for _, a := range l.addrs("etcd_member_config", l.members...) {
				l.Run("taint", a).MustSucceed()
			}
			l.mustDestroy()
		}},
	})
}

// deleteByHand deletes a machine outside of Terraform.
func (l *lab) deleteByHand(name string) {
	l.t.Helper()
	l.Run("state", "rm", l.addr("terraform_data.machine", name)).MustSucceed()
	l.Lose(name)
}

// mustDestroy destroys everything, directly or with the command in the refusals.
func (l *lab) mustDestroy() {
	l.t.Helper()
	before := l.see()
	if o := l.Destroy(); o.ExitCode != 0 {
		l.mustBeRefused(o, before)
		for _, e := range o.Errors() {
			mustBeComplete(e, l.t)
		}
		l.shell(destroyInstead).MustSucceed()
	}
}
