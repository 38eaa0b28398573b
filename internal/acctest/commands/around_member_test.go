// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Configuration, machine and member are replaced together or not at all.
func TestAccAroundOneOfThree(t *testing.T) {
	t.Parallel()
	tryAll(t, variants(flat), []attempt{
		{name: "member replaced", run: func(l *lab) {
			e := l.refuse("apply", "-replace="+l.addr("etcd_member", "b"))
			l.refuse("apply", "-replace="+l.addr("etcd_member", "b"), "-refresh=false")
			l.replaceOne(e)
		}},
		{name: "member replaced and targeted", long: true, run: func(l *lab) {
			l.refuse("apply", "-replace="+l.addr("etcd_member", "b"), "-target="+l.addr("etcd_member", "b"))
		}},
		{name: "two members replaced", long: true, run: func(l *lab) {
			l.refuseAll(append([]string{"apply"}, each("-replace", l.addrs("etcd_member", "a", "b")...)...)...)
		}},
		{name: "member tainted", run: func(l *lab) {
			l.Run("taint", l.addr("etcd_member", "b")).MustSucceed()
			e := l.refuse("apply")
			l.mustRefuseLate("-refresh=false")
			l.follow(e, "terraform untaint", "etcd_member").MustSucceed()
		}},
		{name: "member and machine replaced", long: true, run: func(l *lab) {
			l.refuse("apply", "-replace="+l.addr("etcd_member", "b"), "-replace="+l.addr("terraform_data.machine", "b"))
		}},
		{name: "machine replaced", run: func(l *lab) {
			e := l.refuse("apply", "-replace="+l.addr("terraform_data.machine", "b"))
			if etcdtest.Full() {
				l.replaceOne(e)
			}
		}},
		{name: "machine tainted", long: true, run: func(l *lab) {
			l.Run("taint", l.addr("terraform_data.machine", "b")).MustSucceed()
			commands := commandsIn(l.refuse("apply"))
			machine := strings.TrimSpace(string(l.shell(commands[0]).MustSucceed().Stdout))
			l.shell(strings.ReplaceAll(commands[1], "MACHINE", machine)).MustSucceed()
		}},
		{name: "member destroyed and applied again", run: func(l *lab) {
			l.Destroy("-target=" + l.addr("etcd_member", "b")).MustSucceed()
			l.WaitList("a", slices.DeleteFunc(slices.Clone(l.members), func(s string) bool { return s == "b" })...)
			e := l.refuse("apply")
			l.refuse("apply", "-refresh=false")
			l.replaceOne(e)
		}},
		{name: "configuration kept by the member", run: func(l *lab) {
			l.beside("ignoring_override.tf", "resource \"etcd_member\" \"node\" {\n  lifecycle {\n    ignore_changes = [config]\n  }\n}\n")
			l.refuse("apply", "-replace="+l.addr("etcd_member_config", "b"))
			l.beside("ignoring_override.tf", "resource \"etcd_member\" \"node\" {\n  lifecycle {\n    ignore_changes = [config, machine_id]\n  }\n}\n")
			e := l.refuse("apply", "-replace="+l.addr("etcd_member_config", "b"))
			l.beside("ignoring_override.tf", "")
			l.replaceOne(e)
		}},
		{name: "configuration hard-coded in the member", run: func(l *lab) {
			var ids strings.Builder
			for _, name := range l.members {
				fmt.Fprintf(&ids, "    %s = { id = %q, name = %q, peer_urls = [%q] }\n", name, l.idOf("etcd_member_config", name), name, l.Nodes[name].Peer)
			}
			l.beside("hard_override.tf", "resource \"etcd_member\" \"node\" {\n  config = {\n"+ids.String()+"  }[each.key]\n}\n")
			l.refuse("apply", "-replace="+l.addr("etcd_member_config", "b"))
			l.beside("hard_override.tf", "")
		}},
		{name: "machines dropped from the state", run: func(l *lab) {
			state := l.Read("terraform.tfstate")
			l.Run(append([]string{"state", "rm"}, l.addrs("terraform_data.machine", l.members...)...)...).MustSucceed()
			l.refuseAll("apply")
			l.Write("terraform.tfstate", state)
		}},
		{name: "machine updated in place", last: true, run: inPlace},
		{name: "machine left alone", long: true, last: true, run: leftAlone},
	})
}

// idOf returns the ID of a node's resource in the state.
func (l *lab) idOf(resource, name string) string {
	l.t.Helper()
	a := l.addr(resource, name)
	text := string(l.Run("state", "show", "-no-color", a).MustSucceed().Stdout)
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(line, "="); found && strings.TrimSpace(key) == "id" {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	l.t.Fatalf("%s has no id:\n%s", a, text)
	return ""
}

// mustRefuseLate applies with these arguments. It fails the test unless the
// apply fails, at plan or later, and changes nothing.
func (l *lab) mustRefuseLate(args ...string) {
	l.t.Helper()
	before := l.see()
	o := l.Apply(args...).MustFail()
	l.mustSee(before)
	for _, e := range o.Errors() {
		if len(commandsIn(e)) == 0 {
			l.t.Errorf("%v: no command leads on:\n%s", args, e)
		}
	}
}

// inPlace uses machines that accept new user data while they run, as in some clouds: a
// configuration is replaced, and the machine keeps the identity of the old one.
func inPlace(l *lab) {
	more := ""
	if l.in == dynamic {
		more = "    peer = each.value.peer\n    client = each.value.client\n"
	}
	l.beside("machine_override.tf", "resource \"terraform_data\" \"machine\" {\n  input = {\n"+
		"    dir = \"${var.machines}/${coalesce(each.value.name, each.key)}\"\n    sh  = var.machine_sh\n"+more+
		"    config = etcd_member_config.node[each.key].id\n  }\n  lifecycle {\n    ignore_changes = [triggers_replace]\n  }\n}\n")
	before := l.see()
	l.Apply().MustSucceed()
	l.mustSee(before)
	l.Plan().MustBeEmpty()

	e := l.refuse("apply", "-replace="+l.addr("etcd_member_config", "b"))
	undo := l.trigger("b")
	l.refuse("apply")
	l.refuse("apply", "-target="+l.addr("etcd_member", "b"))
	undo()
	// An override cannot add the replace_triggered_by that the text names. The
	// previous triggers of the machine have the same effect.
	l.beside("machine_override.tf", "")
	l.replaceOne(e)
}

// leftAlone uses machines that never change when their configurations do.
func leftAlone(l *lab) {
	l.beside("alone_override.tf", "resource \"terraform_data\" \"machine\" {\n  lifecycle {\n    ignore_changes = all\n  }\n}\n")
	e := l.refuse("apply", "-replace="+l.addr("etcd_member_config", "b"))
	undo := l.trigger("b")
	l.refuse("apply")
	undo()
	l.beside("alone_override.tf", "")
	l.replaceOne(e)
}

// A promoted learner cannot be demoted, and a learner that becomes a member
// through another block keeps its identity.
func TestAccAroundLearners(t *testing.T) {
	t.Parallel()
	learner := func(l *lab, promote bool) {
		l.Add("x")
		l.Nodes["x"].Joins, l.Nodes["x"].Promote = "learner", promote
		l.Apply().MustSucceed()
	}
	moved := func(l *lab, from, to string) {
		l.Write("moved.tf", "moved {\n  from = "+l.addr(from, "x")+"\n  to   = "+l.addr(to, "x")+"\n}\n")
	}
	tryAll(t, variants(flat), []attempt{
		{name: "demoted", not: []layout{counted}, last: true, run: func(l *lab) {
			learner(l, true)
			l.members = append(slices.Clone(l.members), "x")
			l.mustVote(l.members...)
			l.Nodes["x"].Promote = false
			e := l.refuse("apply")
			l.refuse("apply", "-refresh=false")
			l.replaceOne(e) // this makes it a learner again
			members, err := l.list()
			if got := acctest.Summary(members); err != nil || !slices.Contains(got, "x (learner)") {
				l.t.Fatalf("the members are %v, and x should be a learner; %v", got, err)
			}
			l.Plan().MustBeEmpty()
			l.Nodes["x"].Promote = true
			l.Apply().MustSucceed()
		}},
		{name: "another block", not: []layout{counted}, last: true, run: func(l *lab) {
			learner(l, false)
			l.Nodes["x"].Joins = "member"
			l.refuseAll("apply")
			moved(l, "etcd_learner", "etcd_member")
			l.Plan().MustDo(map[string]string{l.addr("etcd_member", "x"): "update"})
			l.Apply().MustSucceed()
			l.members = append(slices.Clone(l.members), "x")
		}},
		{name: "another block for a voter", not: []layout{counted}, last: true, run: func(l *lab) {
			l.Nodes["b"].Joins, l.Nodes["b"].Promote = "learner", true
			l.refuseAll("apply")
			l.Write("moved.tf", "moved {\n  from = "+l.addr("etcd_member", "b")+"\n  to   = "+l.addr("etcd_learner", "b")+"\n}\n")
			before := l.see()
			l.Apply().MustSucceed()
			l.mustSee(before)
		}},
	})
}

// Without machine_id Terraform does not order the machine and its member.
func TestAccAroundNoMachine(t *testing.T) {
	t.Parallel()
	tryAll(t, variants(flat), []attempt{{name: "machine_id forgotten", run: func(l *lab) {
		l.beside("forgotten_override.tf", "resource \"etcd_member\" \"node\" {\n  machine_id = null\n}\n")
		p := l.Plan()
		if p.ExitCode == 1 {
			l.t.Fatalf("the plan fails:\n%s", p.Report())
		}
		for _, name := range l.members {
			n := 0
			for _, w := range p.Warnings() {
				if strings.Contains(w.Summary+w.Detail, withoutMachine) && strings.Contains(w.Summary, "ember "+name+" ") {
					n++
				}
			}
			if n != 1 {
				l.t.Errorf("%d warnings about %s, want 1:\n%s", n, name, p.Report())
			}
		}
		l.beside("forgotten_override.tf", "")
	}}})
}
