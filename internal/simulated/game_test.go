// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// step is a command of a game, with what a person does before it, and what happens
// outside of Terraform before and during it. A number of a request of 0 means never.
type step struct {
	// edit is "grow d", "shrink a", "image", "back", "rebuild a", or nothing.
	edit string
	// taint and forget are addresses, outside is what happens before: "lose a", "wipe a",
	// "remove a" (with etcdctl), "no boot" of the next machines.
	taint   []string
	forget  string
	outside string
	opts    []driver.Option
	// mode is "saved" for a plan that is applied after a pause, "two" if the second
	// workspace is applied at the same time, "clone" if another checkout of the first
	// workspace is, or nothing.
	mode  string
	pause time.Duration
	// kill is the request at which the run is killed, freeze the one at which it stands
	// still for longer than its lock lives, lose the number of the write whose answer is
	// lost. At the request fail, something happens to the victim: "off", "freeze",
	// "split" from the other members, "hide" from Terraform, "other" (a member of
	// another cluster answers in its place). It ends after the time back.
	kill, freeze, lose, fail int
	victim, how              string
	back                     time.Duration
	// silence hides all members from Terraform.
	silence bool
}

// game is a cluster with two workspaces: one has the etcd_cluster with its nodes, two has
// members without a node.
type game struct {
	*site
	*oracle
	random *rand.Rand
	two    *driver.Workspace
	theirs []string
	// names, image, rebuilt and after are the configuration of the first workspace.
	names   []string
	image   int
	rebuilt map[string]any
	after   string
	steps   []step

	mu       sync.Mutex // of what follows
	now      step
	armed    bool
	requests int
	writes   int
	killed   bool
	end      context.CancelFunc
	thaw     time.Time
}

// newGame forms a cluster.
func newGame(w *world, seed uint64) *game {
	g := &game{site: newSite(w), random: rand.New(rand.NewPCG(seed, 2)), rebuilt: map[string]any{}}
	g.two = driver.New(w, w.provider("a b c d e f"))
	g.two.Machines = g.fleet
	g.names = strings.Split("abcde"[:3+g.random.IntN(3)], "")
	if g.random.IntN(2) == 0 {
		g.after = "10m"
	}
	if g.random.IntN(4) == 0 {
		g.ws.Parallelism = 1
	}
	w.schedule.Latency = time.Duration(g.random.IntN(2)) * 20 * time.Millisecond
	g.configure()
	g.ok(g.up("one"))
	w.rest(time.Duration(1+g.random.IntN(40)) * time.Minute)
	g.oracle = watch(w, g.fleet, "one")
	w.network.Lax = true // the servers check nothing
	g.listen()
	return g
}

// configure writes the configuration of the first workspace.
func (g *game) configure() {
	g.ws.Resources = clusterOf(strings.Join(g.names, " "), fmt.Sprint(g.image))
	if len(g.rebuilt) > 0 {
		g.set("rebuild", g.rebuilt)
	}
	if g.after != "" {
		g.set("replace_unreachable_after", g.after)
	}
}

// edit changes the configuration of the first workspace.
func (g *game) edit(what string) {
	action, name, _ := strings.Cut(what, " ")
	switch action {
	case "grow":
		g.names = append(g.names, name)
		g.fleet.changed(name, false)
	case "shrink":
		g.names = slices.DeleteFunc(g.names, func(n string) bool { return n == name })
	case "image":
		g.image++
	case "back":
		g.image--
	case "rebuild":
		g.rebuilt[name] = fmt.Sprint(len(g.steps))
	case "theirs":
		g.theirs = nil
		if name != "" {
			g.theirs = []string{"g"}
			g.fleet.changed("g", false)
		}
		g.two.Resources = nodes(g.theirs, name)
	}
	g.configure()
}

// nodes are machines and members without an etcd_cluster.
func nodes(all []string, image string) (out []driver.Resource) {
	for _, name := range all {
		m := member(name)
		m.Values["machine_id"] = driver.Ref{Resource: "machine." + name, Attribute: "id"}
		out = append(out, driver.Resource{Type: "machine", Name: name, Values: driver.Values{"name": name, "image": image}}, m)
	}
	return out
}

// happen does what is outside of Terraform, and to the state, before the command.
func (g *game) happen(s step) {
	what, name, _ := strings.Cut(s.outside, " ")
	switch what {
	case "lose":
		g.fleet.lose(name)
	case "wipe":
		g.fleet.wipe(name)
	case "remove":
		if _, err := g.client(g.other(name)).MemberRemove(g.Context(), g.ids()[name]); err != nil {
			g.Fatal(err)
		}
	case "no":
		for _, name := range g.names {
			g.fleet.broken[name] = true
		}
	}
	if s.forget != "" {
		g.ws.Forget(s.forget)
	}
	for _, address := range s.taint {
		g.ws.Taint(address)
	}
	for _, p := range g.cluster.Processes() {
		if s.silence {
			g.network.Cut("", p.ClientURL)
		}
	}
}

// other is another name of the cluster.
func (g *game) other(name string) string {
	return g.names[(slices.Index(g.names, name)+1)%len(g.names)]
}

// take carries out a step, and judges what is left of it.
func (g *game) take(s step) {
	g.steps = append(g.steps, s)
	g.edit(s.edit)
	g.begin(append(slices.Clone(g.names), g.theirs...))
	g.happen(s)
	ctx, end := context.WithCancel(g.Context())
	defer end()
	g.arm(s, end)
	var r driver.Result
	switch s.mode {
	case "saved":
		var plan *driver.Plan
		if plan, r = g.ws.Plan(ctx, g.start("one"), s.opts...); plan != nil {
			g.rest(s.pause)
			r = g.ws.Apply(ctx, g.start("one"), plan)
		}
	case "two", "clone":
		other, name := g.two, s.mode
		if name == "clone" {
			other = g.ws.Clone()
		}
		var all sync.WaitGroup
		all.Go(func() { _, r = g.ws.Up(ctx, g.start("one"), s.opts...) })
		all.Go(func() { _, _ = other.Up(g.Context(), g.start(name)) })
		all.Wait()
	default:
		_, r = g.ws.Up(ctx, g.start("one"), s.opts...)
	}
	g.disarm(s)
	g.known(g.ws, "one", r)
}

// arm prepares what happens during a command.
func (g *game) arm(s step, end context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now, g.armed, g.requests, g.writes, g.killed, g.end, g.thaw = s, true, 0, 0, false, end, time.Time{}
}

// disarm ends it, as far as it is not a fault that lasts.
func (g *game) disarm(s step) {
	g.mu.Lock()
	g.armed, g.killed = false, false
	g.mu.Unlock()
	for _, p := range g.cluster.Processes() {
		if s.silence {
			g.network.Heal("", p.ClientURL)
		}
	}
	for _, address := range s.taint { // what was refused is withdrawn
		if g.ws.State(address) != nil {
			g.ws.Untaint(address)
		}
	}
	clear(g.fleet.broken)
	g.rest(s.pause)
}

// listen lets faults happen at the requests of the first workspace.
func (g *game) listen() {
	before, after := g.network.Before, g.network.After
	g.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		if !strings.HasPrefix(c.Run, "one.") || !g.armed {
			return err
		}
		g.requests++
		switch g.requests {
		case g.now.fail:
			g.fault(g.now, len(g.steps))
		case g.now.kill:
			g.killed = true
			g.end()
		case g.now.freeze:
			g.thaw = time.Now().Add(2 * claim.LockTTL)
		}
		for err == nil && time.Now().Before(g.thaw) && !changes(c.Request) {
			time.Sleep(time.Until(g.thaw))
			err = g.schedule.Before(ctx, c)
		}
		if g.killed {
			return errKilled
		}
		return err
	}
	g.network.After = func(ctx context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		err = after(ctx, c, answer, err)
		if !g.armed || !changes(c.Request) && !writes(c.Request) {
			return err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.writes++; g.writes == g.now.lose && err == nil {
			return status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return err
	}
}

// changes reports whether a request changes the members or the leader, writes whether
// it changes a key.
func changes(request proto.Message) bool {
	switch request.(type) {
	case *pb.MemberAddRequest, *pb.MemberPromoteRequest, *pb.MemberRemoveRequest, *pb.MoveLeaderRequest:
		return true
	}
	return false
}

func writes(request proto.Message) bool {
	switch request.(type) {
	case *pb.TxnRequest, *pb.PutRequest:
		return true
	}
	return false
}

// fault lets the victim stop, and return after a time.
func (g *game) fault(s step, number int) {
	g.oracle.mu.Lock()
	g.faulty = true
	g.oracle.mu.Unlock()
	undo := g.stop(s.victim, s.how)
	go func() {
		if g.schedule.Clock(fmt.Sprint("fault ", number)).Sleep(g.Context(), s.back) == nil {
			undo()
		}
	}()
}

// stop lets a node stop, and returns what lets it return.
func (g *game) stop(name, how string) (undo func()) {
	p := g.members[name]
	if p == nil || !g.works(name) {
		return func() {}
	}
	switch how {
	case "off":
		m := g.fleet.of(name)
		g.fleet.stop(name)
		return func() { g.fleet.set(func() { m.off = false }) }
	case "hide":
		g.network.Cut("", p.ClientURL)
		return func() { g.network.Heal("", p.ClientURL) }
	case "other":
		g.network.Answer(p.ClientURL, g.stranger())
		return func() { g.network.Answer(p.ClientURL, p) }
	case "freeze":
		p.Freeze()
	default:
		g.cluster.Split(p)
	}
	g.mark(name, true)
	return func() {
		if how == "freeze" {
			p.Thaw()
		} else {
			g.cluster.Heal()
		}
		g.mark(name, false)
	}
}

// stranger is a member of another cluster.
func (g *game) stranger() *etcdsim.Process {
	return g.network.Form(release, "x").Processes()[0]
}

// heal lets everything return, and locks and windows expire.
func (g *game) heal() {
	for _, p := range g.cluster.Processes() {
		g.network.Heal("", p.ClientURL)
	}
	g.network.Lax = false
	g.rest(3 * time.Hour) // every fault is over
}

// converge applies both workspaces until nothing is to do. Then all nodes vote. A machine
// that was wiped, or that never boots, does not start by itself: unless it is replaced
// after a time, a person replaces it, as the warning says.
func (g *game) converge() {
	g.heal()
	g.begin(append(slices.Clone(g.names), g.theirs...))
	var last driver.Result
	done, patience := false, 1
	if g.after != "" {
		patience = 4
	}
	for i := 0; i < 4*len(g.names)+4 && !done; i++ {
		var opts []driver.Option
		if dead := g.dead(); i > patience && len(dead) > 0 {
			opts = append(opts, driver.Replace(machineOf(dead[i%len(dead)])))
		}
		plan, r := g.ws.Up(g.Context(), g.start("one"), opts...)
		_, other := g.two.Up(g.Context(), g.start("two"))
		g.known(g.ws, "one", r)
		g.obey(r)
		done, last = r.Err() == nil && other.Err() == nil && len(plan.Actions()) == 0 && len(g.dead()) == 0, r
		g.rest(15 * time.Minute)
	}
	names := append(slices.Clone(g.names), g.theirs...)
	slices.Sort(names)
	if got := g.list(); !done || got != strings.Join(names, " ") || len(g.dead()) > 0 {
		g.Errorf("it does not converge: members %q of %v, dead %v: %v", got, names, g.dead(), last)
	}
}

// obey imports the members that an error asks for: the state lost them, and the plan builds
// their nodes again.
func (g *game) obey(r driver.Result) {
	for _, d := range r.Diagnostics {
		_, block, asks := strings.Cut(d.Detail, "add this block")
		if name := quoted.FindStringSubmatch(block); asks && name != nil {
			g.ws.Provider = g.provider(strings.Join(g.names, " "))
			g.ok(g.ws.Import(g.Context(), g.start("import"), memberOf(name[1]), name[1]))
			g.ws.Provider = driver.Values{}
		}
	}
}

// dead are the names in the first workspace whose processes do not work.
func (g *game) dead() (out []string) {
	for _, name := range g.names {
		if m := g.fleet.of(name); m == nil || m.state != "" {
			out = append(out, name)
		}
	}
	return out
}

// play plays a game.
func play(t *testing.T, seed uint64) (log []string) {
	simulate(t, seed, "", func(w *world) {
		g := newGame(w, seed)
		defer func() {
			for i, s := range g.steps {
				if t.Failed() {
					t.Logf("step %d: %+v", i, s)
				}
			}
		}()
		for range 3 + g.random.IntN(4) {
			s := g.choose()
			if g.take(s); s.mode == "clone" || g.wrongs > 0 {
				return // two states of one cluster
			}
		}
		g.converge()
		log = w.schedule.Log()
	})
	return log
}
