// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// userData adds user data to the machines of a fleet, as in the cloud examples.
// It is part of the machine, so that a plan prints it.
const userData = `
resource "terraform_data" "machine" {
  triggers_replace = etcd_member_config.node[each.key].id
  input = {
    dir = "${var.machines}/${coalesce(each.value.name, each.key)}"
    sh  = var.machine_sh
    user_data = base64gzip(provider::etcd::cloud_config(etcd_member_config.node[each.key], {
      etcd = { url = "https://releases.example.com/etcd.tar.gz", sha256 = "0000000000000000000000000000000000000000000000000000000000000000" }
    }))
  }
}

# As in the examples.
resource "etcd_member" "node" {
  timeouts = null
}
`

// printed is the human-readable output of a plan.
type printed struct {
	tb    testing.TB
	name  string
	lines []string
}

func printPlan(f *acctest.Fleet, name string, args ...string) printed {
	f.TB.Helper()
	f.Save()
	o := f.Run(append([]string{"plan", "-no-color", "-input=false"}, args...)...).MustSucceed()
	p := printed{f.TB, name, strings.Split(strings.TrimRight(string(o.Stdout)+string(o.Stderr), "\n"), "\n")}
	f.TB.Logf("%s: %d lines", name, len(p.lines))
	return p
}

// mustBeShorterThan fails the test if there are limit lines or more.
func (p printed) mustBeShorterThan(limit int) {
	p.tb.Helper()
	if len(p.lines) >= limit {
		p.tb.Errorf("%s: the plan has %d lines, want fewer than %d:\n%s", p.name, len(p.lines), limit, strings.Join(p.lines, "\n"))
	}
}

// mustShow fails the test unless lines match the expressions, in this order.
func (p printed) mustShow(expressions ...string) {
	p.tb.Helper()
	rest := p.lines
	for _, e := range expressions {
		i := slices.IndexFunc(rest, regexp.MustCompile(e).MatchString)
		if i < 0 {
			p.tb.Errorf("%s: no line matches %q where it should:\n%s", p.name, e, strings.Join(p.lines, "\n"))
			return
		}
		rest = rest[i+1:]
	}
}

// A plan is readable: it shows names, addresses, initial and new members, and
// the next member of a rollout, but no long text per node.
func TestAccPlansAreReadable(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e"}
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: names, Static: true, Mirror: true})
	f.Write("user_data_override.tf", userData)

	p := printPlan(f, "five new nodes")
	p.mustBeShorterThan(400)
	for _, name := range names {
		p.mustShow(`# etcd_member_config\.node\["`+name+`"\] will be created`, regexp.QuoteMeta(f.Nodes[name].Client), `\+ founder += true`,
			`\+ name += "`+name+`"`, regexp.QuoteMeta(f.Nodes[name].Peer))
	}
	f.Rollout("one")
	printPlan(f, "five new nodes, with a rollout").mustBeShorterThan(420)
	f.Form()

	p = printPlan(f, "no change")
	p.mustShow(`^No changes\.`)
	for _, line := range p.lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.Contains(line, "Warning") {
			t.Errorf("an unchanged cluster: the plan prints %q", line)
		}
	}

	f.Want("two")
	p = printPlan(f, "one node is replaced")
	p.mustBeShorterThan(150)
	p.mustShow(`# etcd_member\.node\["a"\] must be replaced`, `# etcd_member_config\.node\["a"\] must be replaced`, `~ founder += true -> false`, `~ triggers_replace += "one" -> "two"`,
		`~ effective = `, `~ "a" = "one" -> "two"`, `~ pending +=`, `\+ "b"`, `\+ "c"`, `\+ "d"`, `\+ "e"`, `Rollout: a is next`, "b, c, d, e")
	for _, line := range p.lines {
		if strings.Contains(line, "join_script") {
			t.Errorf("one node is replaced: the same join script is printed: %.80s", line)
		}
	}

	f.Want("one")
	f.Add("f")
	p = printPlan(f, "one node joins")
	p.mustBeShorterThan(150)
	p.mustShow(`# etcd_member_config\.node\["f"\] will be created`, regexp.QuoteMeta(f.Nodes["f"].Client), `\+ founder += false`, regexp.QuoteMeta(f.Nodes["f"].Peer))
	f.Drop("f", "e")
	printPlan(f, "one node is removed").mustBeShorterThan(155)
	f.Add("e")
	printPlan(f, "everything is destroyed", "-destroy").mustBeShorterThan(600)
}
