// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// The configurations of all nodes change at once, without a rollout: no
// command, with or without targets, replaces two living voters.
func TestAccAroundTriggers(t *testing.T) {
	t.Parallel()
	var attempts []attempt
	add := func(name string, long bool, args func(l *lab) []string, not ...layout) {
		attempts = append(attempts, attempt{name: name, long: long, not: not, run: func(l *lab) {
			undo := l.trigger(l.members...)
			e := l.refuse(append([]string{"apply"}, args(l)...)...)
			undo()
			if name == "everything" || long {
				l.replaceOne(e)
			}
		}})
	}
	targets := func(resource string, n int) func(l *lab) []string {
		return func(l *lab) []string { return each("-target", l.addrs(resource, l.members[:n]...)...) }
	}
	add("everything", false, func(*lab) []string { return nil })
	add("without a refresh", true, func(*lab) []string { return []string{"-refresh=false"} })
	add("one operation at a time", true, func(*lab) []string { return []string{"-parallelism=1"} })
	// With one module per node, these are one replacement.
	add("one member targeted", false, targets("etcd_member", 1), moduleEach)
	add("one machine targeted", false, targets("terraform_data.machine", 1), moduleEach)
	add("one machine targeted and replaced", true, func(l *lab) []string {
		return append(targets("terraform_data.machine", 1)(l), each("-replace", l.addr("terraform_data.machine", "a"))...)
	}, moduleEach)
	add("two members targeted", true, targets("etcd_member", 2))
	add("two machines targeted", false, targets("terraform_data.machine", 2))
	add("two configurations targeted", false, targets("etcd_member_config", 2))
	tryAll(t, variants(flat, dynamic), append(attempts, attempt{name: "two replaced", run: func(l *lab) {
		l.refuse(append([]string{"apply"}, each("-replace", l.addrs("etcd_member_config", "a", "b")...)...)...)
	}}, attempt{name: "one changed and another replaced", long: true, run: func(l *lab) {
		undo := l.trigger("a")
		l.refuse("apply", "-replace="+l.addr("etcd_member_config", "b"))
		undo()
	}}, attempt{name: "all changed, in a saved plan", long: true, run: func(l *lab) {
		undo := l.trigger(l.members...)
		before := l.see()
		p := l.Plan()
		l.mustBeRefused(p.Outcome, before)
		undo()
	}}, attempt{name: "two replaced, created before destroyed", run: func(l *lab) {
		l.beside("before_override.tf", "resource \"etcd_member_config\" \"node\" {\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n")
		l.refuse(append([]string{"apply"}, each("-replace", l.addrs("etcd_member_config", "a", "b")...)...)...)
		l.beside("before_override.tf", "")
	}}, attempt{
		name: "two replaced, through a provider each", not: []layout{flat, counted, dynamic}, last: true, run: throughProvidersOfTheirOwn,
	}, backstopAlone("one changed, and its configuration targeted", true, func(l *lab) (args []string, undo func()) {
		return each("-target", l.addr("etcd_member_config", "a")), l.trigger("a")
	}), backstopAlone("one configuration targeted and replaced", false, func(l *lab) (args []string, undo func()) {
		config := l.addr("etcd_member_config", "a")
		return []string{"-target=" + config, "-replace=" + config}, func() {}
	})))
}

// backstopAlone replaces one configuration while neither its machine nor its member
// is in the plan; the provider cannot tell this from any other replacement. The run
// fails and removes no living member. If the provider has no endpoints, it sends no
// requests, and the next apply completes the replacement.
func backstopAlone(name string, long bool, narrow func(l *lab) (args []string, undo func())) attempt {
	return attempt{name: name, long: long, run: func(l *lab) {
		before := l.see()
		args, undo := narrow(l)
		o := l.Apply(args...)
		l.mustSee(before)
		if o.ExitCode != 1 && l.in != dynamic {
			l.t.Errorf("%v: exit code %d, want 1:\n%s", args, o.ExitCode, o.Report())
		}
		undo()
		if l.in == dynamic {
			l.Apply().MustSucceed()
		}
	}}
}

// throughProvidersOfTheirOwn uses a provider block for each node. Each one is a
// process that sees only the changes of its own node: a plan that passes stops
// at apply, with a quorum, and can be continued.
func throughProvidersOfTheirOwn(l *lab) {
	layout := l.Layout
	aliases := ""
	for _, name := range l.members {
		aliases += strings.Replace(l.Read("provider.tf"), "{\n", "{\n  alias = \""+name+"\"\n", 1)
	}
	l.Write("aliases.tf", aliases)
	l.Layout = func() {
		layout()
		main := l.Read("main.tf")
		for _, name := range l.members {
			begin := "module \"" + name + "\" {\n"
			main = substitute(l.t, main, begin, begin+"  providers = { etcd = etcd."+name+" }\n")
		}
		l.Write("main.tf", main)
	}
	l.trigger("a", "b")
	for applies := 0; l.Plan().ExitCode != 0; applies++ {
		if applies == 3 {
			l.t.Fatal("three applies do not lead to an empty plan")
		}
		l.Apply()
		members, err := l.list()
		if err != nil || len(members) < l.size-1 {
			l.t.Fatalf("the members are %v; %v", acctest.Summary(members), err)
		}
	}
}

// The members are not in the state, so no etcd_member of the plan counts the
// replacements.
func TestAccAroundForgottenMembers(t *testing.T) {
	t.Parallel()
	forget := func(l *lab) {
		l.Run(append([]string{"state", "rm"}, l.addrs("etcd_member", l.members...)...)...).MustSucceed()
	}
	join := func(l *lab, joins string) {
		for _, name := range l.members {
			l.Nodes[name].Joins = joins
		}
	}
	removed := "removed {\n  from = etcd_member.node\n  lifecycle {\n    destroy = false\n  }\n}\n"
	tryAll(t, variants(flat), []attempt{
		{name: "dropped from the state", run: func(l *lab) {
			forget(l)
			undo := l.trigger(l.members...)
			e := l.refuse("apply")
			undo()
			l.replaceOne(e)
		}},
		{name: "dropped from the state and the configuration", run: func(l *lab) {
			forget(l)
			join(l, "nothing")
			undo := l.trigger(l.members...)
			l.refuse("apply")
			l.refuse(append([]string{"apply"}, each("-target", l.addrs("terraform_data.machine", "a", "b")...)...)...)
			undo()
			l.refuse(append([]string{"apply"}, each("-replace", l.addrs("etcd_member_config", "a", "b")...)...)...)
			join(l, "")
			l.Apply().MustSucceed()
		}},
		{name: "removed and not destroyed", run: func(l *lab) {
			putBack := l.withoutMembers()
			l.beside("removed.tf", removed)
			undo := l.trigger(l.members...)
			l.refuse("apply")
			undo()
			putBack()
			l.beside("removed.tf", "")
		}},
		{name: "one dropped, the others changed", long: true, run: func(l *lab) {
			l.Run("state", "rm", l.addr("etcd_member", "a")).MustSucceed()
			undo := l.trigger("a", "b")
			l.refuse("apply")
			undo()
			l.Apply().MustSucceed()
		}},
		{name: "one dropped and replaced", run: func(l *lab) {
			l.Run("state", "rm", l.addr("etcd_member", "b")).MustSucceed()
			id := fmt.Sprintf("%x", l.MemberID("b"))
			l.Apply("-replace=" + l.addr("etcd_member_config", "b")).MustSucceed()
			if now := fmt.Sprintf("%x", l.MemberID("b")); now == id {
				l.t.Errorf("b is still %s", id)
			}
		}},
	})
}
