// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

const rolloutTakes = "Rollout does not know what members have"

// leadOut runs the first command of a diagnostic that begins with prefix, on
// the rollout, after applying edit to it.
func leadOut(f *acctest.Fleet, d acctest.Diagnostic, prefix string, edit func(string) string) {
	f.TB.Helper()
	for _, c := range commandsIn(d) {
		if !strings.HasPrefix(c, prefix) {
			continue
		}
		if edit != nil {
			c = edit(c)
		}
		args, _ := shellWords(f.TB, fillIn(c, d.Address))
		if args[0] == "import" {
			args = append([]string{"import", "-input=false"}, args[1:]...)
		}
		f.Run(args...).MustSucceed()
		return
	}
	f.TB.Fatalf("no command begins with %q:\n%s", prefix, d)
}

// A rollout over members that it does not know changes no member, whatever the
// cause, and the commands that it prints solve this.
func TestAccRolloutIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	f.Form()
	before := f.PIDs("a", "b", "c")
	const rollout = "etcd_rollout.this"
	refused := func(args ...string) acctest.Diagnostic {
		t.Helper()
		e := f.Plan(args...).MustSay(rolloutTakes)
		e.MustContain(t, e.Summary, "members a, b, c already", "Nothing has been changed")
		mustBeComplete(e, t)
		return e
	}
	forget := func() { t.Helper(); f.Run("state", "rm", rollout).MustSucceed() }
	rolling := func(args ...string) { t.Helper(); f.Plan(args...).MustDo(acctest.Rolled("a")) }

	t.Log("members that are older than the rollout, with what it says")
	f.Rollout("1")
	refused("-refresh=false")
	refused("-target=" + rollout)
	leadOut(f, refused(), "terraform import", nil)
	f.Plan().MustBeEmpty()

	t.Log("the same with an import block")
	forget()
	f.Write("import.tf", "import {\n  to = etcd_rollout.this\n  id = jsonencode({ for name in keys(var.nodes) : name => var.want })\n}\n")
	mustImport(f.Plan(), 1)
	f.Apply().MustSucceed().MustBeQuiet()
	f.Write("import.tf", "")
	rolled2 := func() { t.Helper(); f.Want("2"); rolling() }
	rolled2()

	t.Log("the state is lost, and something else is wanted")
	forget()
	refused("-refresh=false")
	leadOut(f, refused(), "terraform import", func(c string) string { return strings.ReplaceAll(c, `:"2"`, `:"1"`) })
	rolling()

	t.Log("another address")
	text := f.Read("rollout.tf")
	f.Write("rollout.tf", strings.ReplaceAll(text, `"etcd_rollout" "this"`, `"etcd_rollout" "other"`))
	override := f.Read("rollout_override.tf")
	main := f.Read("main.tf")
	for _, file := range []string{"rollout_override.tf", "main.tf"} {
		f.Write(file, strings.ReplaceAll(f.Read(file), rollout, "etcd_rollout.other"))
	}
	refused()
	f.Write("rollout.tf", text)
	f.Write("rollout_override.tf", override)
	f.Write("main.tf", main)

	t.Log("tainted")
	f.Run("taint", rollout).MustSucceed()
	leadOut(f, refused(), "terraform untaint", nil)
	rolling()

	t.Log("replaced")
	for _, args := range [][]string{{"-replace=" + rollout}, {"-replace=" + rollout, "-refresh=false"}} {
		e := f.Plan(args...).MustSay("A rollout cannot be replaced")
		mustBeComplete(e, t)
	}
	f.Want("1")
	f.Apply().MustSucceed()

	t.Log("a member comes to a rollout that exists")
	f.Write("rollout.tf", strings.Replace(text, "name => var.want }", "name => var.want if name != \"b\" }", 1))
	f.Write("rollout_override.tf", "resource \"etcd_member_config\" \"node\" {\n  triggers_replace = lookup(etcd_rollout.this.effective, each.key, \"1\")\n}\n")
	f.Write("main.tf", strings.ReplaceAll(main, "etcd_rollout.this.effective[each.key]", `lookup(etcd_rollout.this.effective, each.key, "")`))
	f.Apply().MustSucceed()
	f.Write("rollout.tf", text)
	f.Want("2")
	e := f.Plan().MustSay(rolloutTakes)
	e.MustContain(t, e.Summary, "the member b already")
	mustBeComplete(e, t)
	leadOut(f, e, "terraform state rm", nil)
	leadOut(f, e, "terraform import", func(c string) string { return strings.ReplaceAll(c, `:"2"`, `:"1"`) })
	f.Write("rollout_override.tf", override)
	f.Write("main.tf", main)
	rolling()

	t.Log("and the cluster cannot be observed")
	if now := f.PIDs("a", "b", "c"); !maps.Equal(now, before) {
		t.Errorf("processes were %v and are %v", before, now)
	}
	forget()
	f.Crash("a", "b", "c")
	for _, e := range f.Plan().MustFail().Errors() {
		if !strings.Contains(e.Detail, "configuration") {
			t.Errorf("unexpected %s", e)
		}
	}
	f.Plan("-refresh=false").MustFail()
}
