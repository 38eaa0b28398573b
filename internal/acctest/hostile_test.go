// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A name that no machine could start with is refused at plan. A member that
// bears one is imported, shown and removed all the same.
func TestAccOddName(t *testing.T) {
	t.Parallel()
	const odd = "node(1)"
	c := start(t, 1, etcdtest.Options{Names: []string{odd}})
	there := Access{Endpoints: c.Endpoints()}
	url := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	for _, resource := range []string{
		member("etcd_member", "new(2)", url), member("etcd_learner", "../x", url),
		fmt.Sprintf("resource \"etcd_member_config\" \"x\" {\n  name = \"$${IFS}\"\n  peer_urls = [%q]\n}\n", url),
	} {
		configuration(t, there, resource).Run("plan", "-json", "-input=false").MustSay("Invalid member name")
	}

	m := c.Member(odd)
	w := configuration(t, there, fmt.Sprintf("import {\n  to = etcd_member.x\n  id = %q\n}\nresource \"etcd_member\" \"x\" {\n  name = %q\n  peer_urls = [%q]\n}\n"+
		"data \"etcd_cluster\" \"this\" {}\n", odd, odd, m.PeerURL()))
	w.Apply().MustSucceed()
	if got := w.State("etcd_member.x"); got["name"] != odd || got["role"] != "voter" {
		t.Errorf("imported: %v", got)
	}
	if plan := w.Plan(); plan.ExitCode != 0 {
		t.Errorf("the plan is not empty:\n%s", plan)
	}
	w.Destroy().MustSucceed()
}

// The name of a member reaches a terminal in characters that can be printed, on
// one line, whatever it is.
func TestAccNameOnATerminal(t *testing.T) {
	t.Parallel()
	const hostile = "m0\x1b[2J\x1b[1;1H::error::Apply complete!"
	c := start(t, 1, etcdtest.Options{Names: []string{hostile}})
	w := configuration(t, Access{Endpoints: c.Endpoints()}, member("etcd_member", "x", c.Member(hostile).PeerURL()))
	out := w.Apply().MustSay("Cannot add member x")
	if text := out.Summary + out.Detail; strings.ContainsAny(text, "\x1b") || !strings.Contains(text, `m0\x1b[2J`) {
		t.Errorf("%q", text)
	}
	human := w.Run("apply", "-no-color", "-input=false", "-auto-approve")
	for line := range strings.Lines(string(human.Stdout) + string(human.Stderr)) {
		if strings.Contains(line, "\x1b") || strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("on the terminal: %q", line)
		}
	}
}
