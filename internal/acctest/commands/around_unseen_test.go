// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The members live, but the provider reaches none of them. It then counts
// configurations.
func TestAccAroundUnseenCluster(t *testing.T) {
	t.Parallel()
	tryAll(t, slices.DeleteFunc(variants(flat), func(v variant) bool { return v.layout == dynamic }), []attempt{
		{name: "unreachable", run: func(l *lab) {
			block := l.Read("provider.tf")
			nobody := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(l.t))
			var ways strings.Builder
			for _, url := range l.urls {
				fmt.Fprintf(&ways, "    %q = %q\n", url, nobody)
			}
			l.Write("provider.tf", fmt.Sprintf("provider \"etcd\" {\n  endpoints = [%q]\n  address_map = {\n%s  }\n}\n", nobody, ways.String()))
			two := each("-replace", l.addrs("etcd_member_config", "a", "b")...)
			l.refuse(append([]string{"apply"}, two...)...)
			l.refuse(append([]string{"apply", "-refresh=false"}, two...)...)
			undo := l.trigger(l.members...)
			l.refuse("apply")
			l.refuse(append([]string{"apply"}, each("-target", l.addrs("terraform_data.machine", "a", "b")...)...)...)
			undo()
			if p := l.Plan("-replace=" + l.addr("etcd_member_config", "a")); p.ExitCode != 2 {
				l.t.Errorf("one replacement: exit code %d, want 2:\n%s", p.ExitCode, p.Report())
			}
			l.Write("provider.tf", block)
		}},
		{name: "no endpoints in the provider, nor in the members", run: func(l *lab) {
			block := l.Read("provider.tf")
			l.Write("provider.tf", "provider \"etcd\" {}\n")
			undo := l.trigger(l.members...)
			before := l.see()
			// There is more than one reason: nothing says where the cluster is.
			l.mustBeRefused(l.Apply(), before)
			l.mustBeRefused(l.Apply(each("-target", l.addrs("etcd_member_config", "a", "b")...)...), before)
			undo()
			l.Write("provider.tf", block)
		}},
	})
}

// A living voter is not replaced while another one is unreachable. The
// unreachable one can be replaced.
func TestAccAroundSilentVoter(t *testing.T) {
	t.Parallel()
	silence := func(name string, harm, heal func(l *lab)) attempt {
		return attempt{name: name, run: func(l *lab) {
			harm(l)
			alive := slices.DeleteFunc(slices.Clone(l.members), func(s string) bool { return s == "c" })
			l.Leader(alive...)
			var e acctest.Diagnostic
			for _, name := range alive[:2] {
				e = l.refuse("apply", "-replace="+l.addr("etcd_member_config", name))
			}
			undo := l.trigger("a", "c")
			l.refuse("apply")
			undo()
			if heal != nil {
				heal(l)
				l.Apply("-replace=" + l.addr("etcd_member_config", "a")).MustSucceed()
				return
			}
			// The refusal names the member to replace first.
			for _, c := range commandsIn(e) {
				if strings.Contains(c, "-replace=") && l.meant(e, "etcd_member_config") != l.addr("etcd_member_config", "c") {
					l.t.Errorf("%q is not for c:\n%s", c, e)
				}
			}
			l.Apply("-replace=" + l.addr("etcd_member_config", "c")).MustSucceed()
		}}
	}
	tryAll(t, variants(flat), []attempt{
		silence("killed", func(l *lab) { l.Crash("c") }, nil),
		silence("frozen", func(l *lab) { l.Signal("c", syscall.SIGSTOP) }, func(l *lab) { l.Signal("c", syscall.SIGCONT) }),
		silence("frozen and replaced", func(l *lab) { l.Signal("c", syscall.SIGSTOP) }, nil),
	})
}
