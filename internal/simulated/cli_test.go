// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// invent makes a sequence from a seed. A -target is that of the etcd_cluster: OpenTofu 1.12
// carries out nothing of a plan that does not change the target itself.
func invent(seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, 3))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	names := strings.Fields("a b c d")[:3+random.IntN(2)]
	lines := []string{"nodes " + strings.Join(names, " ") + "; apply"}
	for i := range 4 {
		name, line := pick(names...), ""
		switch random.IntN(6) {
		case 0:
			names = append(names, string(rune('e'+i)))
			line += "nodes " + strings.Join(names, " ") + "; "
		case 1:
			if gone := pick(names...); len(names) > 2 {
				names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == gone })
				line += "nodes " + strings.Join(names, " ") + "; "
			}
		case 2:
			line += fmt.Sprint("image ", i, "; ")
		}
		line += pick("", "", "", "wait 20m; ", "lose "+name+"; ", "stop "+name+"; ", "start "+name+"; ", "wipe "+name+"; ")
		of := pick("machine[", "member[") + pick(names...) + "]"
		line += pick("apply", "apply", "apply", "plan", "refresh; apply", "apply -refresh=false", "apply -replace="+of, "apply -replace="+of,
			"apply -target=cluster", "taint "+of+"; apply", "forget "+of+"; apply", "plan -destroy")
		lines = append(lines, line)
	}
	return append(lines, pick("plan", "destroy", "destroy -refresh=false"))
}

// perform plays a sequence with a hand, and returns what came of each command.
func perform(t *testing.T, seed uint64, sequence []string, h hand) (out []string) {
	dir := t.TempDir()
	simulate(t, seed, "", func(w *world) {
		s := newScript(w)
		s.vars["dir"] = dir
		for _, line := range sequence {
			for phrase := range strings.SplitSeq(line, "; ") {
				verb, rest, _ := strings.Cut(phrase, " ")
				switch {
				case (verb == "lose" || verb == "wipe") && s.fleet.of(rest) == nil: // its machine was refused
				case commands[verb] == "":
					s.play(phrase)
				default:
					actions, r := h(s.site, verb, addresses(rest)...)
					w.rest(time.Minute)
					members := ""
					if verb != "destroy" && s.cluster != nil { // which voter is the last one depends on the order
						members = s.list()
					}
					out = append(out, fmt.Sprintf("%s\n  plan %s\n  errors %q\n  members %s", line, actions, errorsIn(r), members))
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
	all := map[string][]string{}
	for _, c := range casesIn(t, "clis.txt") {
		all[c.name] = c.lines
	}
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

// hand types a command. It returns what was planned, unless the plan was refused, and
// the diagnostics.
type hand func(s *site, command string, args ...string) (actions []string, r driver.Result)

// refusal is the result of a command without -json that fails: its errors are not compared.
var refusal = driver.Result{Diagnostics: []driver.Diagnostic{{Summary: "failed"}}}

// driven is the hand of the driver.
func driven(s *site, command string, args ...string) (actions []string, r driver.Result) {
	var plan *driver.Plan
	var opts []driver.Option
	for _, o := range args {
		opts = append(opts, driver.Option(o))
	}
	ctx, start := s.Context(), s.start("one")
	switch command {
	case "apply":
		plan, r = s.ws.Up(ctx, start, opts...)
	case "plan":
		plan, r = s.ws.Plan(ctx, start, opts...)
	case "destroy":
		plan, r = s.ws.Up(ctx, start, append(opts, driver.Destroy)...)
	case "refresh":
		r = s.ws.Refresh(ctx, start)
	default:
		edit := map[string]func(string){"taint": s.ws.Taint, "forget": s.ws.Forget}[command]
		if s.ws.State(args[0]) == nil {
			return nil, refusal
		}
		edit(args[0])
	}
	return plan.Actions(), r
}

// cli is the hand of a real CLI, which runs outside of the bubble.
type cli struct {
	*bridge
	dir       *acctest.Workspace
	providers []*bridged
}

// newCLI starts the providers for a CLI, outside of the bubble.
func newCLI(t *testing.T, path string) *cli {
	c := &cli{dir: acctest.NewWorkspace(t, acctest.WorkspaceOptions{CLI: path, Served: true})}
	c.bridge = newBridge(t, c.dir)
	run := backend.NewRun()
	run.Getenv = func(string) string { return "" }
	etcd := &bridged{bridge: c.bridge, ProviderServer: provider.Server(provider.New("test", &connection.Pool{}, run))}
	machine := &bridged{bridge: c.bridge, ProviderServer: driver.MachineProvider(nil)}
	c.providers = []*bridged{etcd, machine}
	c.dir.Env = append(c.dir.Env, acctest.Serve(t, map[string]tfprotov6.ProviderServer{sourceOf + "etcd": etcd, sourceOf + "machine": machine}))
	return c
}

// sourceOf begins the sources of the providers.
const sourceOf = "terraform-provider-etcd/"

// commands are the lines that a hand types, and what it types.
var commands = map[string]string{
	"apply": "apply -json -input=false -auto-approve", "plan": "plan -json -input=false", "destroy": "destroy -json -input=false -auto-approve",
	"refresh": "apply -refresh-only -json -input=false -auto-approve", "taint": "taint", "forget": "state rm",
}

func (c *cli) do(s *site, command string, args ...string) (actions []string, r driver.Result) {
	for i, start := range []driver.Start{s.start("one"), func(context.Context) (*driver.Run, error) {
		return &driver.Run{Name: "machines", Server: driver.MachineProvider(s.fleet)}, nil
	}} {
		c.providers[i].w, c.providers[i].start = s.world, start
		defer c.providers[i].end()
	}
	c.dir.Write("main.tf.json", configuration(s))
	o := c.run(append(strings.Fields(commands[command]), args...)...)
	if o.ExitCode == 0 || slices.ContainsFunc(o.Hooks, func(h acctest.Hook) bool { return h.Type == "apply_start" }) {
		actions = plannedIn(o.Stdout)
	}
	for _, d := range o.Diagnostics {
		r.Diagnostics = append(r.Diagnostics, driver.Diagnostic{Address: cmp.Or(d.Address, "provider"), Warning: d.Severity == "warning", Summary: d.Summary, Detail: d.Detail})
	}
	if o.ExitCode != 0 && r.Err() == nil {
		r = refusal
	}
	return actions, r
}

// plannedIn are the actions of a plan in what the CLI prints.
func plannedIn(output []byte) (out []string) {
	for line := range bytes.Lines(output) {
		var l struct {
			Type   string
			Change struct {
				Resource struct{ Addr string }
				Action   string
			}
		}
		if json.Unmarshal(line, &l) == nil && l.Type == "planned_change" {
			out = append(out, l.Change.Action+" "+l.Change.Resource.Addr)
		}
	}
	slices.Sort(out)
	return out
}

// configuration is the configuration of a site in JSON.
func configuration(s *site) string {
	types := map[string]any{}
	for _, r := range s.ws.Resources {
		name, key, instance := strings.Cut(strings.TrimSuffix(r.Name, `"]`), `["`)
		ofType, ok := types[r.Type].(map[string]any)
		if !ok {
			ofType = map[string]any{}
			types[r.Type] = ofType
		}
		block, ok := ofType[name].(map[string]any)
		if !ok {
			block = map[string]any{}
			ofType[name] = block
		}
		values, _ := expression(r.Values).(map[string]any)
		if instance {
			text, err := json.Marshal(values)
			s.must(err, json.Unmarshal(ofKey(text, key), &values))
			keys, _ := block["for_each"].(string)
			block["for_each"] = fmt.Sprintf(`${toset([%q])}`, key)
			if keys != "" {
				block["for_each"] = strings.Replace(keys, "]", fmt.Sprintf(", %q]", key), 1)
			}
		}
		for argument, v := range values {
			if was, ok := block[argument]; ok && !reflect.DeepEqual(was, v) {
				s.Fatalf("%s of the instances of %s.%s differ by more than their keys: %v and %v", argument, r.Type, name, was, v)
			}
			block[argument] = v
		}
		block["depends_on"] = append([]string{}, r.After...)
		block["lifecycle"] = map[string]any{"create_before_destroy": r.CreateBeforeDestroy, "replace_triggered_by": triggers(r, key)}
	}
	source := func(name string) any { return map[string]any{"source": sourceOf + name} }
	text, err := json.MarshalIndent(map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{"etcd": source("etcd"), "machine": source("machine")}},
		"provider":  map[string]any{"etcd": expression(s.ws.Provider)}, "resource": types,
	}, "", "  ")
	s.must(err)
	return string(text)
}

func triggers(r driver.Resource, key string) []string {
	out := []string{}
	for _, ref := range r.ReplacedBy {
		resource := strings.ReplaceAll(ref.Resource, `["`+key+`"]`, "[each.key]")
		out = append(out, strings.TrimSuffix(resource+"."+ref.Attribute, "."))
	}
	return out
}

// ofKey replaces a key by each.key in expressions in JSON.
func ofKey(text []byte, key string) []byte {
	return []byte(strings.NewReplacer(`[\"`+key+`\"]`, "[each.key]", ".node."+key, ".node[each.key]", `:"`+key+`"`, `:"${each.key}"`).Replace(string(text)))
}

// expression is a value in JSON syntax.
func expression(value any) any {
	switch v := value.(type) {
	case driver.Ref:
		return "${" + v.Resource + "." + v.Attribute + "}"
	case driver.JSON:
		return "${jsonencode(" + v.Resource + "." + v.Attribute + ")}"
	case driver.Values:
		return expression(map[string]any(v))
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			out[name] = expression(item)
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, expression(item))
		}
		return out
	}
	return value
}
