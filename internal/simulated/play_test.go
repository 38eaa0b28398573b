// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
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

// scene is a cluster, the workspaces of Terraform that manage its members, and what
// happens while they are applied. The number 0 of a request means never.
type scene struct {
	// voters are the names of the first members, one letter each.
	voters string
	// plans are the changes in each workspace: "+d" adds d, "-a" removes a, "!b"
	// replaces the machine of b, "a" only manages a, "=f" is a member at the
	// address of f.
	plans []string
	// victim is a node that stops at a request, or when the new node asked answers
	// its first question, and returns after a time. how is "off", "freeze", "split"
	// from the other members, or "hide" from Terraform.
	victim, how string
	stop        int
	asked       string
	back        time.Duration
	// kill is the request of the first workspace at which it is killed, freeze the
	// one at which it stands still for longer than its lock lives, lose the
	// number of the write whose answer is lost.
	kill, freeze, lose int
	// rude lets it also stand still between the check of its lock and the change.
	// Then the servers check what they are asked to do.
	rude    bool
	latency time.Duration

	// dead are the nodes that have ended before.
	dead string
	// destroy destroys everything. Nothing returns then.
	destroy bool
	// fails and never are how many workspaces fail at first, and permanently.
	fails, never int
}

// quiet reports whether nothing happens in a scene.
func (s scene) quiet() bool {
	return s.stop == 0 && s.asked == "" && s.kill+s.freeze+s.lose == 0 && s.dead == "" || s.fails > 0
}

// play is a scene that is played.
type play struct {
	scene
	*world
	*judge
	fleet  *fleet
	spaces []*driver.Workspace

	mu       sync.Mutex
	requests int // of the first workspace
	writes   int
	killed   bool
	end      context.CancelFunc
	thaw     time.Time
}

var names = []string{"one", "two"}

// play carries out the plans of a scene, all workspaces at the same time. Then
// everything that stopped returns, and each workspace is applied again: the members are
// then those of the plans, and another plan is empty. It returns the number of requests
// of the first workspace, and the changes.
func (s scene) play(t *testing.T, seed uint64) (requests int, changes []string) {
	simulate(t, seed, strings.Join(strings.Split(s.voters, ""), " "), func(w *world) {
		p := &play{scene: s, world: w, fleet: newFleet(w)}
		w.schedule.Latency = s.latency
		p.prepare()
		p.judge.rude, w.network.Lax = s.rude, !s.rude
		p.arm()
		want := p.edit()
		ctx, end := context.WithCancel(w.Context())
		defer end()
		p.end = end
		for _, name := range strings.Split(s.dead, "") {
			if m := w.members[name]; m != nil {
				p.fleet.stop(name)
			}
		}
		var options []driver.Option
		if s.destroy {
			options = []driver.Option{driver.Destroy, driver.NoRefresh}
		}
		refused := make([]bool, len(p.spaces))
		var all sync.WaitGroup
		for i, ws := range p.spaces {
			on := w.Context()
			if i == 0 {
				on = ctx
			}
			all.Go(func() {
				if _, r := ws.Up(on, p.start(names[i]), options...); r.Err() != nil {
					refused[i] = true
					t.Logf("%s fails: %v", names[i], r.Err())
				}
			})
		}
		all.Wait()
		if n := trues(refused); s.quiet() && n != s.fails {
			t.Errorf("nothing happened, and %d workspaces fail", n)
		}
		requests, changes = p.requests, p.changes
		if !s.destroy {
			p.recover()
			p.converge(want)
		}
	})
	return requests, changes
}

// prepare makes workspaces that manage the members.
func (p *play) prepare() {
	p.judge = watch(p.world)
	p.fleet.changed = func(name string, runs bool) { p.set(name, !runs) }
	for _, m := range p.cluster.Processes() {
		p.fleet.adopt(m)
	}
	for i, plan := range p.plans {
		ws := driver.New(p, p.provider("a b c d e f g"))
		ws.Machines = p.fleet
		var mine []string
		for _, change := range strings.Fields(plan) {
			if name := strings.TrimLeft(change, "-!"); name[0] != '+' && name[0] != '=' {
				mine = append(mine, name)
			}
		}
		ws.Resources = nodes(mine, "1")
		p.spaces = append(p.spaces, ws)
		manage := ws.Resources
		ws.Resources = slices.DeleteFunc(slices.Clone(manage), func(r driver.Resource) bool { return r.Type != "machine" })
		_, r := ws.Up(p.Context(), p.start("make"))
		p.ok(r)
		ws.Resources = manage
		for _, name := range mine {
			p.ok(ws.Import(p.Context(), p.start("import"), "etcd_member."+name, name))
		}
		_, r = ws.Up(p.Context(), p.start(names[i]))
		p.ok(r)
	}
}

func nodes(all []string, image string) (out []driver.Resource) {
	for _, name := range all {
		m := member(name)
		m.Values["machine_id"] = driver.Ref{Resource: "machine." + name, Attribute: "id"}
		out = append(out, driver.Resource{Type: "machine", Name: name, Values: driver.Values{"name": name, "image": image}}, m)
	}
	return out
}

// edit changes the configurations, and returns the members that they describe.
func (p *play) edit() string {
	left := map[string]bool{}
	for _, m := range p.before {
		left[nodeOf(m)] = true
	}
	for i, plan := range p.plans {
		var out []driver.Resource
		for _, change := range strings.Fields(plan) {
			name := strings.TrimLeft(change, "+-!")
			if m := p.members[name]; m != nil {
				p.owners[m.ID()] = names[i]
			}
			image := "1"
			switch change[0] {
			case '-':
				delete(left, name)
				continue
			case '!':
				image = "2"
				p.replaced[name] = true
			case '=': // whoever comes second is refused, and the process has the wrong name for a vote
				delete(left, name[1:])
				left["("+name[1:]+")"] = true
				other := member("x")
				other.Values["peer_urls"] = member(change[1:]).Values["peer_urls"]
				out = append(out, other)
				continue
			case '+':
				left[name], p.down[name] = true, true
			}
			out = append(out, nodes([]string{name}, image)...)
		}
		p.spaces[i].Resources = out
	}
	var want []string
	for name := range left {
		want = append(want, name)
	}
	slices.Sort(want)
	return strings.Join(want, " ")
}

// arm prepares what happens at which request.
func (p *play) arm() {
	before := p.network.Before
	p.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		if workspaceOf(c.Run) != names[0] || c.Run == "" || p.end == nil {
			return err
		}
		p.requests++
		if _, ok := c.Request.(*pb.StatusRequest); ok && p.stop == 0 && p.asked != "" && c.Address == etcdsim.ClientURL(p.asked) && p.works(p.asked) {
			p.stop = p.requests
		}
		switch p.requests {
		case p.stop:
			p.fail(true)
			go func() {
				if p.schedule.Clock("fault").Sleep(p.Context(), p.back) == nil {
					p.fail(false)
				}
			}()
		case p.kill:
			p.killed = true
			p.end()
		case p.freeze:
			p.thaw = time.Now().Add(2 * claim.LockTTL)
		}
		for err == nil && time.Now().Before(p.thaw) && (p.scene.rude || !changes(c.Request)) {
			time.Sleep(time.Until(p.thaw))
			err = p.schedule.Before(ctx, c)
		}
		if p.killed {
			return errKilled
		}
		return err
	}
	after := p.network.After
	p.network.After = func(ctx context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		err = after(ctx, c, answer, err)
		switch c.Request.(type) {
		case *pb.MemberAddRequest, *pb.MemberPromoteRequest, *pb.MemberRemoveRequest, *pb.TxnRequest, *pb.PutRequest:
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.writes++; p.writes == p.lose && err == nil {
				return status.Error(codes.Unavailable, "error reading from server: EOF")
			}
		}
		return err
	}
}

// changes reports whether a request changes the members or the leader.
func changes(request proto.Message) bool {
	switch request.(type) {
	case *pb.MemberAddRequest, *pb.MemberPromoteRequest, *pb.MemberRemoveRequest, *pb.MoveLeaderRequest:
		return true
	}
	return false
}

// fail makes the victim stop, or return.
func (p *play) fail(stop bool) {
	m := p.members[p.victim]
	if m == nil || p.works(p.victim) != stop && p.how != "hide" {
		return
	}
	switch {
	case p.how == "off" && stop:
		p.fleet.stop(p.victim)
		return
	case p.how == "off":
		p.fleet.start(p.victim)
		return
	case p.how == "freeze" && stop:
		m.Freeze()
	case p.how == "freeze":
		m.Thaw()
	case p.how == "split" && stop:
		p.cluster.Split(m)
	case p.how == "split":
		p.cluster.Heal()
	case stop:
		p.network.Cut("", m.ClientURL)
		return
	default:
		p.network.Heal("", m.ClientURL)
		return
	}
	p.set(p.victim, stop)
}

// recover lets everything return, and locks expire.
func (p *play) recover() {
	p.fail(false)
	for _, name := range strings.Split(p.dead, "") {
		p.fleet.start(name)
	}
	p.end, p.killed, p.network.Lax = nil, false, false
	time.Sleep(2*claim.LockTTL + 10*time.Second)
}

// converge applies each workspace again.
func (p *play) converge(want string) {
	var refused []error
	for i, ws := range p.spaces {
		if _, r := ws.Up(p.Context(), p.start(names[i])); r.Err() != nil {
			refused = append(refused, fmt.Errorf("%s: %w", names[i], r.Err()))
		}
	}
	if len(refused) != p.never {
		p.Errorf("workspaces do not converge: %v", refused)
	}
	if got := p.list(); got != want {
		p.Errorf("the members are %q, not %q", got, want)
	}
	for i, ws := range p.spaces {
		if plan, r := ws.Plan(p.Context(), p.start(names[i])); p.never == 0 && (r.Err() != nil || len(plan.Actions()) > 0) {
			p.Errorf("the next plan of %s is not empty: %v %v", names[i], r, plan.Actions())
		}
	}
}

func trues(of []bool) (n int) {
	for _, is := range of {
		if is {
			n++
		}
	}
	return n
}
