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
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// invent makes the steps of a scenario from a seed. A -target is that of the etcd_cluster: OpenTofu 1.12
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
		line += pick("", "", "", "wait 20m; ",
			"lose "+name+"; ", "stop "+name+"; ", "start "+name+"; ", "wipe "+name+"; ")
		of := pick("machine[", "member[") + pick(names...) + "]"
		one := pick(names...)
		member := " member[" + one + "]"
		imports := "provider " + strings.Join(names, " ") + "; forget" + member + "; %s" + member + " " + one
		line += pick("apply", "apply", "apply", "plan", "refresh; apply", "apply -refresh=false",
			"apply -replace="+of, "apply -replace="+of,
			"apply -target=cluster", "taint "+of+"; apply", "forget "+of+"; apply", "plan -destroy",
			fmt.Sprintf(imports, "import")+"; apply",
			fmt.Sprintf(imports, "imports")+"; apply -replace="+of+"; imports",
			"persist; apply -replace="+of+"; older; refresh; apply",
			"rename machine.node machine.vm; rename machine.vm machine.node; apply -refresh=false")
		lines = append(lines, line)
	}
	lines = append(lines, pick("plan", "destroy", "destroy -refresh=false"))
	return strings.Split(strings.Join(lines, "; "), "; ")
}

// outcome is what comes of a command.
type outcome struct {
	text  string
	first []string // machines that are destroyed before the removal of their members begins
}

// perform runs the steps of a scenario with what runs its commands, and returns what came of each.
func perform(t *testing.T, seed uint64, steps []string, e executor) (out []outcome) {
	dir := t.TempDir()
	simulate(t, seed, "", func(w *world) {
		s := newRunner(w)
		s.vars["dir"] = dir
		for _, step := range steps {
			step = s.filled(step)
			verb, rest, _ := strings.Cut(step, " ")
			switch {
			case (verb == "lose" || verb == "wipe") && s.fleet.of(rest) == nil: // its machine was refused
			case !slices.Contains(typed, verb):
				s.run(step)
			default:
				o := enter(s.site, e, verb, addresses(rest))
				o.text = step + "\n" + o.text
				out = append(out, o)
			}
		}
	})
	return out
}

// enter carries out a command.
func enter(s *site, e executor, command string, words []string) outcome {
	before, begin := e.dependencies(s), len(s.schedule.Log())
	actions, r := e.execute(s, command, words...)
	log := s.schedule.Log()[begin:]
	s.rest(time.Minute)
	members := ""
	if command != "destroy" && s.cluster != nil { // which voter is the last one depends on the order
		members = s.list()
	}
	asked := askedIn(log)
	if command == "destroy" || slices.Contains(words, "-destroy") {
		for at, on := range before {
			if len(on) == 0 && at != thisCluster { // it is asked at any time
				asked = nil
			}
		}
	}
	first := firstIn(log, actions)
	return outcome{fmt.Sprintf(
		"  plan %s\n  errors %q\n  members %s\n  machines before their members %s\n  asked %s\n  dependencies %s",
		actions, errorsIn(r), members, first, asked, e.dependencies(s)), first}
}

var (
	planCall  = regexp.MustCompile(`(one\.[0-9]+) (etcd_(?:cluster|member|learner))\b.* (?:plan|PlanResourceChange) #`)
	applyCall = regexp.MustCompile(` (machine|etcd_\w+)\S*\["(\w+)"\].* (?:apply|ApplyResourceChange) #`)
)

// askedIn are the types of the resources that processes were asked to plan, in their order.
func askedIn(log []string) (out []string) {
	of := ""
	for _, line := range log {
		if call := planCall.FindStringSubmatch(line); call == nil {
			continue
		} else if call[1] != of {
			of = call[1]
			out = append(out, call[2])
		} else if !strings.HasSuffix(out[len(out)-1], call[2]) {
			out[len(out)-1] += " then " + call[2]
		}
	}
	return out
}

// firstIn are the machines that are destroyed before the removal of their members begins, of those
// that a plan destroys with their members.
func firstIn(log, actions []string) (out []string) {
	goes := map[string]int{}
	for _, a := range actions {
		if strings.HasPrefix(a, "delete ") || strings.Contains(a, "replace ") {
			goes[nodeNamed(a)]++
		}
	}
	for _, line := range log {
		call := applyCall.FindStringSubmatch(line)
		if call == nil || goes[call[2]] != 2 {
			continue
		}
		if goes[call[2]] = 0; call[1] == "machine" {
			out = append(out, call[2])
		}
	}
	slices.Sort(out)
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
	for _, c := range scenariosIn(t, "clis.txt") {
		all[c.Name] = c.Steps
	}
	for seed := uint64(0); etcdtest.Full() && len(all) < 60; seed++ {
		all[fmt.Sprint("seed ", seed)] = invent(seed)
	}
	for name, sequence := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, cli := range []string{"terraform", filepath.Join(etcdtest.ModuleRoot(t), "bin", "tofu")} {
				t.Run(filepath.Base(cli), func(t *testing.T) {
					path, err := exec.LookPath(cli)
					if err != nil {
						t.Skipf("no %s: %v", filepath.Base(cli), err)
					}
					want := perform(t, 1, sequence, &driven{cli: coreOf(t, path)})
					for i, got := range perform(t, 1, sequence, newCLI(t, path, want)) {
						if t.Log(want[i].text); got.text != want[i].text {
							t.Errorf("the driver:\n%s\n%s:\n%s", want[i].text, filepath.Base(cli), got.text)
						}
					}
				})
			}
		})
	}
}

// coreOf is the core of a CLI.
func coreOf(t *testing.T, cli string) driver.CLI {
	version := exec.CommandContext(t.Context(), cli, "version", "-json")
	version.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1")
	out, err := version.Output()
	must.Succeed(t, err)
	var v struct {
		Version string `json:"terraform_version"`
	}
	must.Succeed(t, json.Unmarshal(out, &v))
	switch {
	case filepath.Base(cli) == "tofu":
		return driver.OpenTofu
	case regexp.MustCompile(`^1\.1[01]\.`).MatchString(v.Version):
		return driver.Terraform111
	}
	return driver.Terraform
}

// executor carries out commands.
type executor interface {
	// execute carries out a command. It returns what was planned, unless the plan was refused, and
	// the diagnostics.
	execute(s *site, command string, args ...string) (actions []string, r driver.Result)
	// dependencies are those in the state, by address.
	dependencies(s *site) map[string][]string
}

// typed are the steps that an executor carries out. "persist" copies the state, and "older" puts
// the copy back.
var typed = strings.Fields("apply plan carry destroy refresh taint forget rename import persist older")

// refusal is the result of a command without -json that fails: its errors are not compared.
var refusal = driver.Result{Diagnostics: []driver.Diagnostic{{Summary: "failed"}}}

// driven is the executor of the driver.
type driven struct {
	cli   driver.CLI
	saved *driver.Plan
	copy  driver.Backup
}

func (d *driven) execute(s *site, command string, args ...string) (actions []string, r driver.Result) {
	s.ws.CLI = d.cli
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
		d.saved = plan
	case "carry":
		if d.saved == nil {
			return nil, driver.Result{Diagnostics: []driver.Diagnostic{{Summary: "Cannot apply incomplete plan"}}}
		}
		if r = s.ws.Apply(ctx, start, d.saved); !slices.Contains(errorsIn(r), "Saved plan is stale") {
			plan = d.saved
		}
	case "destroy":
		plan, r = s.ws.Up(ctx, start, append(opts, driver.Destroy)...)
	case "refresh":
		r = s.ws.Refresh(ctx, start)
	case "persist":
		d.copy = s.ws.Backup()
	case "older":
		s.ws.Restore(d.copy)
	case "rename":
		if len(s.ws.Instances(args[0])) == 0 {
			return nil, refusal
		}
		s.ws.Rename(args[0], args[1])
	case "import":
		if r = s.ws.Import(ctx, start, args[0], args[1]); r.Err() != nil {
			return nil, refusal
		}
		r = driver.Result{}
	default:
		edit := map[string]func(string){"taint": s.ws.Taint, "forget": s.ws.Forget}[command]
		for _, at := range args {
			if len(s.ws.Instances(at)) == 0 {
				return nil, refusal
			}
			edit(at)
		}
	}
	return plan.Actions(), r
}

func (*driven) dependencies(s *site) map[string][]string {
	out := map[string][]string{}
	for _, at := range s.ws.Addresses() {
		out[at] = s.ws.State(at).Dependencies
	}
	return out
}

// cli is the executor of a real CLI, which runs outside of the bubble.
type cli struct {
	*bridge
	dir       *acctest.Workspace
	providers []*bridged
	copy      string    // of the state
	follows   []outcome // of its commands, by the driver
}

// newCLI starts the providers for a CLI, outside of the bubble. Where the driver has destroyed a
// machine before its member, the CLI may.
func newCLI(t *testing.T, path string, follows []outcome) *cli {
	c := &cli{follows: follows, dir: acctest.NewWorkspace(t, acctest.WorkspaceOptions{CLI: path, Served: true})}
	c.bridge = newBridge(t, c.dir)
	run := backend.NewRun()
	run.Getenv = func(string) string { return "" }
	etcd := &bridged{bridge: c.bridge, ProviderServer: provider.Server(provider.New("test", &connection.Pool{}, run))}
	machine := &bridged{bridge: c.bridge, ProviderServer: driver.MachineProvider(nil)}
	c.providers = []*bridged{etcd, machine}
	for _, p := range c.providers {
		all, err := p.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
		must.Succeed(t, err)
		p.schemas = all.ResourceSchemas
	}
	served := map[string]tfprotov6.ProviderServer{sourceOf + "etcd": etcd, sourceOf + "machine": machine}
	via := func(to net.Addr) net.Addr { return c.relay.via(t, to) }
	c.dir.Env = append(c.dir.Env, acctest.Serve(t, served, via))
	return c
}

// sourceOf begins the sources of the providers.
const sourceOf = "terraform-provider-etcd/"

// commands are those of a CLI.
var commands = map[string]string{
	"apply": "apply -json -input=false -auto-approve", "destroy": "destroy -json -input=false -auto-approve",
	"plan": "plan -json -input=false -out=saved", "carry": "apply -json -input=false saved",
	"refresh": "apply -refresh-only -json -input=false -auto-approve",
	"taint":   "taint", "forget": "state rm", "rename": "state mv", "import": "import -input=false",
}

func (c *cli) execute(s *site, command string, args ...string) (actions []string, r driver.Result) {
	for i, start := range []driver.Start{s.start("one"), func(context.Context) (*driver.Run, error) {
		return &driver.Run{Name: "machines", Server: driver.MachineProvider(s.fleet)}, nil
	}} {
		c.providers[i].w, c.providers[i].start = s.world, start
		defer c.providers[i].end()
	}
	c.first = map[string]bool{}
	for _, name := range c.follows[0].first {
		c.first[name] = true
	}
	c.follows = c.follows[1:]
	const state = "terraform.tfstate"
	switch command {
	case "persist":
		c.copy = c.dir.Read(state)
		return nil, r
	case "older":
		c.dir.Write(state, c.copy)
		return nil, r
	}
	c.dir.Write("main.tf.json", configuration(s))
	o := c.run(append(strings.Fields(commands[command]), args...)...)
	if o.ExitCode == 0 || slices.ContainsFunc(o.Hooks, func(h acctest.Hook) bool { return h.Type == "apply_start" }) {
		actions = plannedIn(o.Stdout)
	}
	for _, d := range o.Diagnostics {
		r.Diagnostics = append(r.Diagnostics, driver.Diagnostic{
			Address: cmp.Or(d.Address, "provider"), Warning: d.Severity == "warning",
			Summary: d.Summary, Detail: d.Detail,
		})
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
				Resource  struct{ Addr string }
				Action    string
				Importing *struct{}
			}
		}
		err := json.Unmarshal(line, &l)
		action := l.Change.Action
		if l.Change.Importing != nil {
			action = strings.TrimSuffix("import and "+action, " and noop")
		}
		if err == nil && l.Type == "planned_change" && action != "move" { // a move is not compared
			out = append(out, action+" "+l.Change.Resource.Addr)
		}
	}
	slices.Sort(out)
	return out
}

func (c *cli) dependencies(s *site) map[string][]string {
	out := map[string][]string{}
	text, err := os.ReadFile(filepath.Join(c.dir.Dir, "terraform.tfstate"))
	if os.IsNotExist(err) {
		return out
	}
	var state struct {
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Key          string `json:"index_key"`
				Deposed      string
				Dependencies []string
			}
		}
	}
	s.must(err, json.Unmarshal(text, &state))
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			at := r.Type + "." + r.Name
			if i.Key != "" {
				at += fmt.Sprintf("[%q]", i.Key)
			}
			if i.Deposed != "" {
				at += " (deposed)"
			}
			slices.Sort(i.Dependencies)
			out[at] = i.Dependencies
		}
	}
	return out
}
