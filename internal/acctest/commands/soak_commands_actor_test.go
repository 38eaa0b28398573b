// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// actor runs the steps of a sequence. After each command it checks whether a
// rule was broken.
type actor struct {
	*lab
	tr *trial
	// now is the configuration, base the last one that was applied completely.
	now, base setup
	texts     map[layout]string
	// known are the client URLs of all members that ever existed.
	known  map[string]bool
	writer *etcdtest.Writer
	watch  *acctest.QuorumWatch
	// below is the number of earlier reports of the watch.
	below int
	// going are the members for which a command has started to destroy the
	// member or the machine.
	going map[string]bool
	// ended: a command removed every voter, as its plan had warned.
	ended bool
	// saved is the saved plan, or "" for none; savedEnd: it removes every
	// voter. cut: the current command was interrupted.
	cut bool
	// excused: the current command may remove every voter.
	excused  bool
	saved    string
	savedEnd bool
	// frozen are the machines whose etcd is stopped.
	frozen map[string]bool
	runs   int
	done   map[string]int
	// used are all names that were ever used, forgotten the members that had a
	// resource dropped from the state.
	used, forgotten map[string]bool
	// tried are the ways out that were already followed, by their error.
	tried map[string]bool
}

// act runs the steps of a sequence on a new cluster and checks the result.
// provider is the path of a provider binary, or "" for the regular build.
func (a *actor) act(tr *trial, s sequence, provider string) {
	begin := time.Now()
	took := func() time.Duration {
		was := begin
		begin = time.Now()
		return begin.Sub(was).Round(100 * time.Millisecond)
	}
	a.form(tr, s, provider)
	tr.Logf("FORMED in %v", took())
	for _, step := range s.steps {
		a.write()
		if !kindOf(step.kind).run(a, step) {
			tr.Logf("NOTHING TO DO: %v", step)
			continue
		}
		tr.Logf("DONE in %v: %v", took(), step)
		a.done[step.kind]++
		if a.ended {
			break
		}
	}
	a.finish()
	tr.Logf("FINISHED in %v, %d commands in all", took(), a.runs)
}

// form forms a cluster.
func (a *actor) form(tr *trial, s sequence, provider string) {
	names := []string{"a", "b", "c", "d", "e"}[:s.size]
	l := &lab{in: s.layout, size: s.size, t: tr, members: names, urls: map[string]string{}}
	*a = actor{
		lab: l, tr: tr, texts: map[layout]string{flat: acctest.FleetText, counted: countedText(tr)}, known: map[string]bool{},
		going: map[string]bool{}, frozen: map[string]bool{}, done: map[string]int{}, used: map[string]bool{}, forgotten: map[string]bool{}, tried: map[string]bool{},
	}
	l.Fleet = acctest.NewFleet(tr, acctest.FleetOptions{Founders: names, Version: s.version, Static: true})
	if provider != "" {
		a.useProvider(provider)
	}
	l.MachineEnv["ETCD_HEARTBEAT_INTERVAL"], l.MachineEnv["ETCD_ELECTION_TIMEOUT"] = "50", "500"
	useLayout(l.Fleet, s.layout)
	if s.layout == moduleEach {
		a.texts[moduleEach] = l.Read("node/main.tf")
	}
	l.Write(l.file("main.tf"), a.texts[s.layout])
	a.now = setup{layout: s.layout, nodes: map[string]acctest.Node{}, founders: names, without: map[string]string{}}
	for _, name := range names {
		n := *l.Nodes[name]
		n.Create, n.Delete = "60s", "45s"
		a.now.nodes[name] = n
		a.known[n.Client] = true
	}
	for key, n := range a.now.nodes {
		l.Nodes[key] = &n
	}
	l.Form()
	a.runs++
	a.base = a.now.clone()
	a.watch = acctest.NewQuorumWatch(tr, l.Fleet)
	a.watch.Follow(a.byName())
	a.writer = etcdtest.NewWriter(tr, l.config(names...), etcdtest.WriterOptions{Interval: 50 * time.Millisecond})
}

// useProvider makes the CLI use another build of the provider.
func (a *actor) useProvider(binary string) {
	text, err := os.ReadFile(a.CLIConfig)
	if err != nil {
		a.TB.Fatal(err)
	}
	was := filepath.Dir(acctest.ProviderBinary(a.TB))
	if err := os.WriteFile(a.CLIConfig, []byte(substitute(a.TB, string(text), was, filepath.Dir(binary))), 0o600); err != nil {
		a.TB.Fatal(err)
	}
}

// cli runs a command and waits for its end.
func (a *actor) cli(args ...string) *acctest.Outcome {
	a.write()
	a.Save()
	before := a.look()
	var o *acctest.Outcome
	if args[0] == "apply" || args[0] == "destroy" {
		o = a.Workspace.Start(args...).Wait()
	} else {
		o = a.Run(args...)
	}
	a.judge(before, o)
	return o
}

// apply runs apply. If it had no targets and succeeded, its configuration
// becomes the one to which undo returns.
func (a *actor) apply(args ...string) *acctest.Outcome {
	o := a.cli(append([]string{"apply"}, args...)...)
	if o.ExitCode == 0 && !slices.ContainsFunc(args, func(s string) bool { return !strings.HasPrefix(s, "-") || strings.HasPrefix(s, "-target") }) {
		a.now.moved = ""
		a.base = a.now.clone()
	}
	return o
}

// scene is the situation before a command.
type scene struct {
	// voters are the running voters that answer, by ID.
	voters map[uint64]string
	// members are the members of the resources in the state.
	members map[string]string
	below   int
}

func (a *actor) look() scene {
	s := scene{voters: map[uint64]string{}, members: map[string]string{}}
	for _, m := range a.list() {
		// A frozen member has failed. A member that starts and exits again and again,
		// for example with an old disk, sometimes has a process but never answers.
		if !m.IsLearner && !a.frozen[m.Name] && a.runsEtcd(m.Name) && a.serves(m) == nil {
			s.voters[m.ID] = m.Name
		}
	}
	entries := a.entries()
	for address, e := range entries {
		s.members[address] = e.member
	}
	for to, from := range a.pending() { // a plan already shows the new address
		s.members[to] = entries[from].member
	}
	_, below := a.watch.Result()
	s.below = len(below)
	return s
}

// runsEtcd reports whether a machine runs an etcd now.
func (a *actor) runsEtcd(name string) bool {
	pid := a.PID(name, "etcd.pid")
	return pid != 0 && slices.ContainsFunc(acctest.Processes(), func(p acctest.Process) bool { return p.PID == pid })
}

// leadsOn matches the text of an error that says what to do.
var leadsOn = regexp.MustCompile(`(?i)apply|plan again|terraform |etcdctl |import`)

// judge checks the result of commands.
func (a *actor) judge(before scene, outcomes ...*acctest.Outcome) {
	a.t.Helper()
	for _, o := range outcomes {
		a.runs++
		command := strings.Join(o.Args, " ")
		for _, word := range broken {
			for _, d := range o.Diagnostics {
				if strings.Contains(strings.ToLower(d.Summary+d.Detail), word) {
					a.tr.find("broken: "+word, "%s: %s", command, d)
				}
			}
			if strings.Contains(strings.ToLower(string(o.Stderr)), word) {
				a.tr.find("broken: "+word, "%s: %s", command, o.Stderr)
			}
		}
		begun := false
		for _, h := range o.Hooks {
			if h.Type != "apply_start" {
				continue
			}
			begun = true
			resource := resourceOf(h.Address)
			if h.Action == "delete" && resource != "etcd_member_config" {
				a.going[before.members[h.Address]] = true
			}
		}
		for _, d := range o.Diagnostics {
			if d.Severity == "error" && strings.Contains(d.Address, "etcd_") && !leadsOn.MatchString(d.Detail) {
				a.tr.find("no way out: "+d.Summary, "%s: the text says nothing of what to do: %s", command, d)
			}
		}
		if begun && (a.excused || warnsOfEnd(o)) {
			a.ended = true
		}
	}
	if a.ended {
		return
	}
	a.checkQuorum(outcomes)
	a.checkVoters(before, outcomes)
}

// checkQuorum reports a violation if the watch has seen less than a quorum.
func (a *actor) checkQuorum(outcomes []*acctest.Outcome) {
	_, below := a.watch.Result()
	if len(below) > a.below {
		a.tr.find("below quorum", "%s: %s", commandsOf(outcomes), strings.Join(below[a.below:], "\n"))
	}
}

const (
	voterRemoved = "a living voter was removed"
	voterStayed  = "a machine went and its voter stayed"
)

// checkVoters reports a violation if configuration, machine and member were not
// removed together: a living voter was removed although no command was to remove it
// or its machine, or its machine was destroyed and it is still a member.
func (a *actor) checkVoters(before scene, outcomes []*acctest.Outcome) {
	now, machines := map[uint64]bool{}, map[string]bool{}
	for _, m := range a.list() {
		now[m.ID] = true
	}
	for _, o := range outcomes {
		for _, h := range o.Hooks {
			if h.Type == "apply_complete" && h.Action == "delete" && strings.Contains(h.Address, "terraform_data.machine") {
				machines[before.members[h.Address]] = true
			}
		}
	}
	for id, name := range before.voters {
		switch {
		case now[id] && machines[name] && !a.cut:
			a.tr.find(voterStayed, "%s: the machine of %s is destroyed, and %x is a member still", commandsOf(outcomes), name, id)
		case !now[id] && !a.going[name]:
			a.tr.find(voterRemoved, "%s: %s (%x) lived, and neither its member nor its machine was to go", commandsOf(outcomes), name, id)
		case !now[id]:
			delete(a.going, name)
		}
	}
}

func commandsOf(outcomes []*acctest.Outcome) string {
	var out []string
	for _, o := range outcomes {
		out = append(out, strings.Join(o.Args, " "))
	}
	return strings.Join(out, "; ")
}

// list returns the members by a linearizable read.
func (a *actor) list() (members []*etcdserverpb.Member) {
	a.t.Helper()
	a.ask(func(ctx context.Context, c *clientv3.Client) error {
		resp, err := c.MemberList(ctx)
		if err == nil {
			members = resp.Members
		}
		return err
	})
	return members
}

// answerTimeout is how long the cluster may take to answer: much longer than an
// election on a busy machine.
const answerTimeout = 2 * time.Minute

// ask asks one member after the other until one answers.
func (a *actor) ask(f func(ctx context.Context, c *clientv3.Client) error) {
	a.t.Helper()
	end := time.Now().Add(answerTimeout)
	for {
		var errs []string
		for _, url := range slices.Sorted(maps.Keys(a.known)) {
			err := a.askOne(url, f)
			if err == nil {
				return
			}
			errs = append(errs, fmt.Sprintf("%s: %v", url, err))
		}
		if time.Now().After(end) {
			a.tr.find("no answer", "nobody answers for %v:\n%s", answerTimeout, strings.Join(errs, "\n"))
		}
	}
}

func (a *actor) askOne(url string, f func(ctx context.Context, c *clientv3.Client) error) error {
	// A client of etcd would wait for a server that does not listen.
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second)
	if err != nil {
		return err
	}
	_ = conn.Close()
	cfg := a.ClientConfig()
	cfg.Endpoints = []string{url}
	client, err := clientv3.New(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return f(ctx, client)
}
