// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// actions are the first words of the lines of a game: what a person edits, what happens
// outside of Terraform, and what a person types. A line that does not fit the moment does
// nothing, so that a shorter game is a game, too.
var actions map[string]func(g *game, words []string)

func init() { // a map that refers to itself
	actions = map[string]func(g *game, words []string){
		// The world. form must be the first line but for these.
		"parallelism": func(g *game, w []string) { g.ws.Parallelism = map[string]int{"1": 1}[w[0]] },
		"latency":     func(g *game, w []string) { g.schedule.Latency = length(w[0]) },
		"form":        func(g *game, w []string) { g.form(w) },
		"wait":        func(g *game, w []string) { g.rest(length(w[0])) },
		"converge":    func(g *game, _ []string) { g.converge() },

		// Edits of the configurations.
		"add":     edits(func(g *game, name string) { g.add(name, false) }),
		"learner": edits(func(g *game, name string) { g.add(name, true) }),
		"promote": edits(func(g *game, name string) { g.promote(name) }),
		// Limits: the machine of a member that the state has forgotten is destroyed without it,
		// and a restored cluster forms with all names. A warning says how to remove one.
		"drop": edits(func(g *game, name string) {
			if len(g.names) > 1 && !g.forgotten(name) && g.gone == nil {
				g.names = g.without(name)
			}
		}),
		"image":   edits(func(g *game, value string) { g.image = value }),
		"version": edits(func(g *game, value string) { g.version = value }),
		"rebuild": edits(func(g *game, name string) { g.rebuilt[name] = string(rune('a' + len(g.lines)%26)) }),
		"address": edits(func(g *game, name string) { g.address[name] += "-2" }),
		"after":   edits(func(g *game, value string) { g.after = strings.TrimPrefix(value, "none") }),
		"theirs":  edits(func(g *game, value string) { g.setTheirs(strings.TrimPrefix(value, "none")) }),
		"urls":    edits(func(g *game, value string) { g.setURL("http://g.example:" + value) }),
		"day":     edits(func(g *game, _ string) { g.backup.day++ }),
		"restore": func(g *game, names []string) { g.restore(names) },
		"keep":    edits(func(g *game, _ string) { g.gone = nil }),

		// What happens before a command.
		"lose":    outside(func(g *game, name string) { g.fleet.lose(name) }),
		"wipe":    outside(func(g *game, name string) { g.fleet.wipe(name) }),
		"blank":   outside(func(g *game, name string) { g.fleet.wipe(name); g.fleet.of(name).mark = false }),
		"stop":    outside(func(g *game, name string) { g.fleet.stop(name) }),
		"remove":  outside((*game).removeByHand),
		"foreign": func(g *game, w []string) { g.addByHand(w[0]) },
		"vote":    func(g *game, w []string) { g.voteByHand(w[0]) },
		"power":   func(g *game, names []string) { g.loseQuorum(names) },
		"boot": func(g *game, names []string) {
			for _, name := range names {
				g.fleet.start(name)
			}
		},
		"moved":   func(g *game, _ []string) { g.restartMoved() },
		"broken":  func(g *game, _ []string) { g.fault.breaks(g) },
		"silence": func(g *game, _ []string) { g.fault.silence = "cut"; g.restate() },
		"swap":    func(g *game, _ []string) { g.fault.silence = "swap"; g.restate() },
		"ca":      func(g *game, _ []string) { g.fault.silence = "ca" },
		"strange": func(g *game, _ []string) { g.two.Provider = driver.Values{"endpoints": []any{g.stranger().ClientURL}} },
		"at":      func(g *game, w []string) { g.fault.plan(w) },
		"between": func(g *game, w []string) { g.fault.between = append(g.fault.between, w) },
		"open":    func(g *game, _ []string) { g.fault.open(g) },

		// Commands of the first workspace.
		"forget": state(func(g *game, address string) { g.ws.Forget(address); g.release(g.ids()[nodeNamed(address)]) }),
		"taint": state(func(g *game, address string) {
			g.ws.Taint(address)
			g.tainted = append(g.tainted, address)
		}),
		"import": func(g *game, w []string) { g.importMember(w[0], g.command) },
		// The import block of a member that no state has, for the next command.
		"imports": func(g *game, w []string) {
			if g.importable(w[0]) {
				g.ws.Provider = g.provider(strings.Join(g.names, " "))
				g.ws.Imports = append(g.ws.Imports, driver.Import{To: memberOf(w[0]), ID: w[0]})
			}
		},
		// The state as it is, and its return: a backup, or a backend that persists late.
		"persist": func(g *game, _ []string) { state := g.ws.Backup(); g.persisted = &state },
		"older":   func(g *game, _ []string) { g.older() },
		"plan": func(g *game, w []string) {
			g.command(func(ctx context.Context) driver.Result {
				_, r := g.ws.Plan(ctx, g.start("one"), g.options(w)...)
				return r
			})
		},
		"apply": func(g *game, w []string) { g.command(func(ctx context.Context) driver.Result { return g.up(ctx, w) }) },
		"refresh": func(g *game, _ []string) {
			g.command(func(ctx context.Context) driver.Result { return g.ws.Refresh(ctx, g.start("one")) })
		},
		"saved": func(g *game, w []string) {
			g.command(func(ctx context.Context) driver.Result { return g.saved(ctx, w) })
		},
		"two": func(g *game, _ []string) { g.command(func(ctx context.Context) driver.Result { return g.their(ctx) }) },
		"beside": func(g *game, w []string) {
			g.together = true
			g.command(func(ctx context.Context) driver.Result { return g.beside(ctx, g.two, "two", w) })
		},
		"clone": func(g *game, w []string) {
			g.together = true
			g.command(func(ctx context.Context) driver.Result { return g.beside(ctx, g.ws.Clone(), "clone", w) })
		},
		"destroy": func(g *game, _ []string) { g.destroy() },
	}
}

// edits is an edit of the configuration with one word.
func edits(how func(g *game, word string)) func(*game, []string) {
	return func(g *game, words []string) {
		how(g, strings.Join(words, " "))
		g.configure()
	}
}

// outside happens to a node of a healthy cluster only: what it takes away for good would
// otherwise take the quorum.
func outside(how func(g *game, name string)) func(*game, []string) {
	return func(g *game, words []string) {
		if slices.Contains(g.names, words[0]) && len(g.names)-len(g.learners) > 2 && g.healthy() {
			how(g, words[0])
		}
	}
}

// state changes what the state has.
func state(how func(g *game, address string)) func(*game, []string) {
	return func(g *game, words []string) {
		if g.ws.State(words[0]) != nil {
			how(g, words[0])
		}
	}
}

func length(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err) // it is this package's own
	}
	return d
}

// options are those of a command. Limits: -target of a machine takes all machines along, and
// destroys those that are tainted, or whose node is on its way, without a question to the
// provider, also if another one is lost after the plan. That of a name that is gone goes
// without its member. So does -target of a member, with machines that are tainted or replaced
// besides its own, and if another one is lost after the plan. -target of the cluster forgets its
// node, and if it returns, gives it another. A machine whose member no state has goes without a
// question, too, whatever happens since the plan.
func (g *game) options(words []string) (out []driver.Option) {
	for _, word := range words {
		target, targets := strings.CutPrefix(word, "-target=")
		does := true
		switch {
		case strings.HasPrefix(word, "-replace=machine."):
			does = !g.isExposed(strings.TrimPrefix(word, "-replace="))
		case !targets:
		case target == thisCluster:
			does = g.complete()
		case strings.HasPrefix(target, "machine."):
			replaces := strings.Contains(strings.Join(words, " "), "-replace=machine.")
			does = g.complete() && g.settled() && len(g.tainted)+len(g.fault.between) == 0 &&
				(!replaces || g.listed() == g.wantedList() && len(g.names)-len(g.learners) > 2)
		default:
			others := func(of string) bool {
				of = strings.TrimPrefix(of, "-replace=")
				return strings.HasPrefix(of, "machine.") && of != machineOf(nodeNamed(target))
			}
			does = len(g.fault.between) == 0 && !slices.ContainsFunc(slices.Concat(g.tainted, words), others)
		}
		if does {
			out = append(out, driver.Option(word))
		}
	}
	return out
}

// isExposed reports whether the member on a machine is in no state, and something may happen between
// the plan of the command and its apply.
func (g *game) isExposed(machine string) bool {
	name := nodeNamed(machine)
	inState := g.ws.State(memberOf(name)) != nil || g.ws.State(learnerOf(name)) != nil
	return strings.HasPrefix(machine, "machine.") && !inState && (g.together || len(g.fault.between) > 0)
}

// complete reports whether the state has no name that the configuration does not have.
func (g *game) complete() bool {
	return !slices.ContainsFunc(g.ws.Addresses(), func(address string) bool {
		name := nodeNamed(address)
		return name != "" && !slices.Contains(g.names, name)
	})
}

// settled reports whether all members of the state have the nodes of the etcd_cluster.
func (g *game) settled() bool {
	o := g.ws.State(thisCluster)
	return o != nil && !slices.ContainsFunc(g.names, func(name string) bool {
		return nodeIDOf(g.ws.State(memberOf(name))) != driver.Attribute(o.Value, "node", name, "id")
	})
}

// form forms the cluster, and lets the oracle look from then on.
func (g *game) form(names []string) {
	g.names, g.urls = names, etcdsim.PeerURL("g")
	g.configure()
	g.ok(g.site.up("one"))
	g.rest(time.Minute)
	g.oracle = watch(g.world, g.fleet, "one")
	g.begin(g.all())
	g.network.Lax = true // the servers check nothing
	g.fault.listen(g)
}

func learnerOf(name string) string { return `etcd_learner.node["` + name + `"]` }

// add adds a name to the configuration.
func (g *game) add(name string, learner bool) {
	if slices.Contains(g.names, name) {
		return
	}
	if g.ws.State(memberOf(name)) != nil || g.ws.State(learnerOf(name)) != nil {
		learner = g.ws.State(memberOf(name)) == nil // it stays what it is
	}
	g.names = append(g.names, name)
	if delete(g.learners, name); learner {
		g.learners[name] = true
	}
	g.seen(name)
}

// forgotten reports whether a name has a voter that the state does not have.
func (g *game) forgotten(name string) bool {
	m := find(g.cluster.Members(), g.ids()[name])
	return m != nil && !m.IsLearner && g.ws.State(memberOf(name)) == nil && g.ws.State(learnerOf(name)) == nil
}

func (g *game) without(name string) []string {
	return slices.DeleteFunc(slices.Clone(g.names), func(n string) bool { return n == name })
}

// seen says that a new name has no process yet.
func (g *game) seen(name string) {
	if g.fleet.of(name) == nil {
		g.mark(name, true)
	}
}

func (g *game) setTheirs(image string) {
	if g.theirs = image; image == "" {
		g.setURL(etcdsim.PeerURL("g"))
	}
	g.seen("g")
}

// setURL changes the peer URL of g. A machine that is made later listens there.
func (g *game) setURL(url string) {
	g.urls = url
	g.fleet.set(func() { g.fleet.urls["g"] = url })
}

// promote is a moved block from etcd_learner to etcd_member.
func (g *game) promote(name string) {
	if !g.learners[name] || !slices.Contains(g.names, name) {
		return
	}
	from, to := learnerOf(name), memberOf(name)
	if g.ws.State(from) != nil {
		g.command(func(ctx context.Context) driver.Result { return g.ws.Move(ctx, g.start("one"), from, to) })
		if g.ws.State(to) == nil {
			return // it was killed
		}
	}
	delete(g.learners, name)
}

// command runs a command of the first workspace, and judges what is left of it.
func (g *game) command(run func(ctx context.Context) driver.Result) {
	g.commands++
	for _, address := range g.tainted {
		if g.ws.State(address) != nil && g.isExposed(address) {
			g.ws.Untaint(address)
		}
	}
	g.begin(g.all())
	ctx, end := context.WithCancel(g.Context())
	defer end()
	ctx, interrupt := driver.Interruptible(ctx)
	g.fault.arm(g, end, interrupt)
	r := run(ctx)
	g.fault.disarm(g)
	for _, left := range uncheckedLine.FindAllStringSubmatch(fmt.Sprint(r), -1) {
		g.unchecked = append(g.unchecked, left[1])
	}
	g.untaint()
	g.ws.Imports, g.together = nil, false
	g.two.Provider = g.provider("a b c d e f")
	if !g.lost {
		g.known(g.ws, "one", r)
	}
	g.write()
	g.backup.judge(g)
}

// untaint withdraws what the last command has not replaced.
func (g *game) untaint() {
	for _, address := range g.tainted {
		if g.ws.State(address) != nil {
			g.ws.Untaint(address)
		}
	}
	g.tainted = nil
}

func (g *game) up(ctx context.Context, words []string) driver.Result {
	plan, r := g.ws.Plan(ctx, g.start("one"), g.options(words)...)
	if plan == nil {
		return r
	}
	r.Diagnostics = append(r.Diagnostics, g.applies(ctx, plan, words).Diagnostics...)
	return r
}

// applies applies a plan. A cluster that serves is not given up by it.
func (g *game) applies(ctx context.Context, plan *driver.Plan, options []string) driver.Result {
	g.fault.planned(g)
	stale := slices.Contains(options, "-refresh=false")
	g.locked(func() { g.stale = stale }) // it plans what it knew
	served := g.serves() && g.fault.silence != "cut"
	nodes, followed := g.nodeIDs()
	was := driver.Attribute(g.ws.State(thisCluster).Value, "cluster_id")
	r := g.ws.Apply(ctx, g.start("one"), plan)
	if is := driver.Attribute(g.ws.State(thisCluster).Value, "cluster_id"); served && is != was {
		g.wrong("one", "cluster %s serves, and was given up for %s", was, is)
	} else if is == was && !stale {
		g.rebuiltFrom(nodes, followed)
	}
	return r
}

// nodeIDs are the IDs of the nodes in the state, by name, and those that the members have.
func (g *game) nodeIDs() (nodes, followed map[string]string) {
	nodes, followed = map[string]string{}, map[string]string{}
	for _, name := range g.names {
		nodes[name] = driver.Attribute(g.ws.State(thisCluster).Value, "node", name, "id")
		followed[name] = nodeIDOf(g.ws.State(memberOf(name)))
	}
	return nodes, followed
}

// rebuiltFrom judges the nodes that have other IDs than before, but for those that are again
// what their members have.
func (g *game) rebuiltFrom(before, followed map[string]string) {
	nodes, _ := g.nodeIDs()
	for name, id := range nodes {
		if was := before[name]; was != "" && was != id && followed[name] != id {
			g.rebuilds(name)
		}
	}
}

func (g *game) their(ctx context.Context) driver.Result {
	_, r := g.two.Up(ctx, g.start("two"))
	return r
}

// saved applies a plan after a time.
func (g *game) saved(ctx context.Context, words []string) driver.Result {
	plan, r := g.ws.Plan(ctx, g.start("one"), g.options(words[1:])...)
	if plan == nil {
		return r
	}
	g.rest(length(words[0]))
	return g.applies(ctx, plan, words)
}

// beside applies another workspace at the same time.
func (g *game) beside(ctx context.Context, other *driver.Workspace, name string, words []string) (r driver.Result) {
	var all sync.WaitGroup
	g.commands++
	all.Go(func() { r = g.up(ctx, words) })
	all.Go(func() { _, _ = other.Up(g.Context(), g.start(name)) })
	all.Wait()
	return r
}

// destroy destroys the first workspace after the second. What is left is empty, or named.
func (g *game) destroy() {
	g.setTheirs("")
	g.configure()
	g.command(g.their)
	g.lost = true
	g.command(func(ctx context.Context) driver.Result {
		g.ending = true
		for _, m := range g.cluster.Members() {
			if g.forgotten(nodeOf(m)) { // its machine is destroyed without it
				g.release(m.ID)
			}
		}
		plan, r := g.ws.Up(ctx, g.start("one"), driver.Destroy)
		if plan == nil { // its ordinary plan was refused
			_, r = g.ws.Up(ctx, g.start("one"), driver.Destroy, driver.NoRefresh)
		}
		g.two.Up(ctx, g.start("two")) // if it was refused, g is the last one now
		g.ending = false
		if left := g.ws.Addresses(); r.Err() == nil && len(left) > 0 {
			g.wrong("one", "%v is left after the destruction", left)
		}
		return r
	})
}

// importable reports whether a name has a member that no state has.
func (g *game) importable(name string) bool {
	ours := !strings.HasPrefix(g.owners[g.ids()[name]], "etcdctl")
	return ours && g.ws.State(memberOf(name)) == nil && !g.learners[name] && slices.Contains(g.names, name)
}

// older puts the state back that was persisted. What it does not have is not ours any more. Limit:
// it has the machines of today, since what an older one has of another machine leads to none that
// the user data of today fit.
func (g *game) older() {
	now := g.ws.Backup()
	if g.persisted == nil {
		return
	}
	machines, had := g.machineIDs(), g.ws.Addresses()
	if g.ws.Restore(*g.persisted); !slices.Equal(machines, g.machineIDs()) {
		g.ws.Restore(now)
		return
	}
	for _, address := range had {
		if id := g.ids()[nodeNamed(address)]; g.ws.State(address) == nil && id != 0 {
			g.release(id)
		}
	}
}

// machineIDs are the IDs of the machines in the state.
func (g *game) machineIDs() (out []string) {
	for _, address := range g.ws.Addresses() {
		if strings.HasPrefix(address, "machine.") {
			out = append(out, driver.Attribute(g.ws.State(address).Value, "id"))
		}
	}
	return out
}

// importMember imports the member of a name that no state has.
func (g *game) importMember(name string, run func(func(ctx context.Context) driver.Result)) {
	if !g.importable(name) {
		return
	}
	address := memberOf(name)
	run(func(ctx context.Context) driver.Result {
		g.ws.Provider = g.provider(strings.Join(g.names, " "))
		return g.ws.Import(ctx, g.start("import"), address, name)
	})
}

// addByHand adds a learner with etcdctl, at the peer URL of a node that may come later.
func (g *game) addByHand(name string) {
	if slices.Contains(g.names, name) || !g.healthy() {
		return
	}
	g.byHand("add "+name, func(c *clientv3.Client) error {
		_, err := c.MemberAddAsLearner(g.Context(), []string{etcdsim.PeerURL(name)})
		return err
	})
}

// voteByHand promotes a learner with etcdctl.
func (g *game) voteByHand(name string) {
	m := find(g.cluster.Members(), g.ids()[name])
	if m == nil || !m.IsLearner || !g.healthy() {
		return
	}
	g.byHand("promote "+name, func(c *clientv3.Client) error {
		_, err := c.MemberPromote(g.Context(), m.ID)
		g.voted[m.ID] = g.voted[m.ID] || err == nil
		return err
	})
}

// withdrawByHand removes what was added by hand.
func (g *game) withdrawByHand() {
	for _, m := range g.cluster.Members() {
		if !strings.HasPrefix(g.owners[m.ID], "etcdctl") {
			continue
		}
		g.byHand("remove", func(c *clientv3.Client) error { _, err := c.MemberRemove(g.Context(), m.ID); return err })
	}
}

// byHand asks the members one after the other, until one answers.
func (g *game) byHand(what string, do func(c *clientv3.Client) error) {
	for _, name := range slices.Sorted(maps.Keys(g.members)) {
		err := do(g.client(name))
		if err == nil {
			return
		}
		g.Logf("%s at %s: %v", what, name, err)
	}
}

func (g *game) removeByHand(name string) {
	if id := g.ids()[name]; id != 0 && !slices.ContainsFunc(g.names, g.forgotten) { // whose machines go without them
		g.byHand("remove "+name, func(c *clientv3.Client) error { _, err := c.MemberRemove(g.Context(), id); return err })
	}
}
