// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The sequences. A line is a step: edits and faults, and then a command. A name in an
// address is that of a node.
var sequences = map[string]string{
	"life": `nodes a b c; apply
		grow d; apply
		apply -replace=machine.a
		apply -replace=machine.a -replace=machine.b
		image; apply
		destroy`,
	"a machine is lost": `nodes a b c; apply
		lose b; plan
		refresh
		apply
		lose c; shrink c; apply
		lose a; destroy`,
	"a machine is off": `nodes a b c; apply
		stop b; apply -replace=machine.a
		plan -destroy
		apply -replace=machine.b
		stop c; shrink c; apply -refresh=false
		plan`,
	"a member is wiped": `nodes a b c d; apply
		wipe a; plan
		apply -replace=etcd_member.b
		taint machine.a; apply
		image; plan -target=machine.b
		apply -target=etcd_cluster.this
		apply`,
	"the state forgets": `nodes a b c; apply
		forget etcd_member.a; plan
		apply
		forget machine.b; plan
		taint etcd_cluster.this; plan
		destroy -target=etcd_member.c`,
	"quorum is lost": `nodes a b c; apply
		stop a; stop b; plan
		apply -replace=machine.a
		start b; rest 10m; apply -replace=machine.a
		shrink b; image; apply`,
}

// invent makes a sequence from a seed. A -target is that of the etcd_cluster: OpenTofu 1.12
// carries out nothing of a plan that does not change the target itself.
func invent(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 3))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	names := strings.Fields("a b c d")[:3+random.IntN(2)]
	lines := []string{"nodes " + strings.Join(names, " ") + "; apply"}
	for range 4 {
		name, line := pick(names...), ""
		switch random.IntN(6) {
		case 0:
			names = append(names, string(rune('a'+len(lines)+4)))
			line += "grow " + names[len(names)-1] + "; "
		case 1:
			if gone := pick(names...); len(names) > 2 {
				names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == gone })
				line += "shrink " + gone + "; "
			}
		case 2:
			line += "image; "
		}
		line += pick("", "", "", "rest 20m; ", "lose "+name+"; ", "stop "+name+"; ", "start "+name+"; ", "wipe "+name+"; ")
		of := pick("machine.", "etcd_member.") + pick(names...)
		line += pick("apply", "apply", "apply", "plan", "refresh; apply", "apply -refresh=false", "apply -replace="+of, "apply -replace="+of,
			"apply -target=etcd_cluster.this", "taint "+of+"; apply", "forget "+of+"; apply", "plan -destroy")
		lines = append(lines, line)
	}
	return strings.Join(append(lines, pick("plan", "destroy", "destroy -refresh=false")), "\n")
}

// full is an address: machine.a is machine.node["a"].
func full(word string) string {
	for _, typ := range []string{"machine.", "etcd_member."} {
		if before, name, ok := strings.Cut(word, typ); ok {
			return before + typ + `node["` + name + `"]`
		}
	}
	return word
}

// perform plays a sequence with a hand, and returns what came of each command.
func perform(t *testing.T, seed uint64, sequence string, h hand) (out []string) {
	simulate(t, seed, "", func(w *world) {
		s := newSite(w)
		var names []string
		image := 0
		for line := range strings.Lines(sequence) {
			for phrase := range strings.SplitSeq(line, ";") {
				words := strings.Fields(phrase)
				verb, args := words[0], words[1:]
				if (verb == "lose" || verb == "wipe") && s.fleet.of(args[0]) == nil {
					continue // its machine was refused
				}
				switch verb {
				case "nodes":
					names = args
				case "grow":
					names = append(names, args...)
				case "shrink":
					names = slices.DeleteFunc(names, func(n string) bool { return n == args[0] })
				case "image":
					image++
				case "lose":
					s.fleet.lose(args[0])
				case "stop":
					s.fleet.stop(args[0])
				case "start":
					s.fleet.start(args[0])
				case "wipe":
					s.fleet.wipe(args[0])
				case "rest":
					d, err := time.ParseDuration(args[0])
					w.must(err)
					w.rest(d)
				default:
					for i := range args {
						args[i] = full(args[i])
					}
					s.ws.Resources = clusterOf(strings.Join(names, " "), fmt.Sprint(image))
					actions, r := h(s, verb, args...)
					w.rest(time.Minute)
					members := ""
					if verb != "destroy" && s.cluster != nil { // which voter is the last one depends on the order
						members = s.list()
					}
					out = append(out, fmt.Sprintf("%s\n  plan %s\n  errors %q\n  members %s", strings.TrimSpace(line), actions, errorsIn(r), members))
				}
			}
		}
	})
	return out
}

// errorsIn are the summaries of the errors, each once: which resource reports what follows
// from two depends on their order, and which of them says that it is one.
func errorsIn(r driver.Result) (out []string) {
	for _, d := range r.Diagnostics {
		if !d.Warning {
			out = append(out, d.Summary)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// The driver and the real CLIs plan, refuse and do the same.
func TestCLIsAgree(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("no /proc, which tells when the CLI waits")
	}
	all := maps.Clone(sequences)
	for seed := uint64(0); etcdtest.Full() && len(all) < 60; seed++ {
		all[fmt.Sprint("seed ", seed)] = invent(seed)
	}
	for name, sequence := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := perform(t, 1, sequence, driven)
			t.Log(strings.Join(want, "\n"))
			for _, cli := range []string{"terraform", filepath.Join(etcdtest.ModuleRoot(t), "bin", "tofu")} {
				t.Run(filepath.Base(cli), func(t *testing.T) {
					path, err := exec.LookPath(cli)
					if err != nil {
						t.Skipf("no %s: %v", filepath.Base(cli), err)
					}
					for i, got := range perform(t, 1, sequence, newCLI(t, path).do) {
						if got != want[i] {
							t.Errorf("the driver:\n%s\n%s:\n%s", want[i], filepath.Base(cli), got)
						}
					}
				})
			}
		})
	}
}
