// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// fault is what fails during the next command of the first workspace.
type fault struct {
	// silence is what all addresses do for Terraform: "cut" are silent, "swap" answer for
	// another cluster, "ca" have a certificate that does not fit. "" is nothing.
	silence string
	// next are "kill", "interrupt", "freeze" for longer than the lock lives, or the fault
	// of nodes with their names and a duration, by the request at which they happen, 0 for
	// the one that takes the lock on changes. lose is the write whose answer is lost.
	next map[int][]string
	lose int
	// between is what happens between the plan and its apply.
	between [][]string

	mu               sync.Mutex // of what follows
	armed, killed    bool
	requests, writes int
	end, interrupt   func()
	thaw             time.Time
}

// plan reads the words of at: a request, or "lock", and what happens then.
func (f *fault) plan(words []string) {
	n, err := strconv.Atoi(strings.Replace(words[0], "lock", "0", 1))
	if err != nil {
		panic(err) // it is this package's own
	}
	if words[1] == "lose" {
		f.lose = n
		return
	}
	if f.next == nil {
		f.next = map[int][]string{}
	}
	f.next[n] = words[1:]
}

// breaks lets the machines that are made next not boot.
func (f *fault) breaks(g *game) {
	for _, name := range g.names {
		g.fleet.broken[name] = true
	}
}

// arm lets the faults happen from now on.
func (f *fault) arm(g *game, end, interrupt func()) {
	for _, p := range g.processes() {
		switch f.silence {
		case "cut":
			g.network.Cut("", p.ClientURL)
		case "swap":
			g.network.Answer(p.ClientURL, g.stranger())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.killed, f.requests, f.writes, f.end, f.interrupt, f.thaw = true, false, 0, 0, end, interrupt, time.Time{}
}

// disarm ends them, as far as they are not faults of nodes, which last.
func (f *fault) disarm(g *game) {
	f.mu.Lock()
	f.armed, f.killed, f.next, f.lose, f.between = false, false, nil, 0, nil
	f.mu.Unlock()
	f.open(g)
	clear(g.fleet.broken)
}

// open ends the silence.
func (f *fault) open(g *game) {
	for _, p := range g.processes() {
		switch f.silence {
		case "cut":
			g.network.Heal("", p.ClientURL)
		case "swap":
			g.network.Answer(p.ClientURL, g.answersAt(p.ClientURL))
		}
	}
	f.silence = ""
}

// returns are the actions that are no fault.
var returns = map[string]bool{"open": true, "boot": true, "wait": true, "moved": true}

// planned lets happen what happens between a plan and its apply.
func (f *fault) planned(g *game) {
	for _, words := range f.between {
		if act := actions[words[0]]; act == nil {
			f.happen(g, words)
		} else {
			if !returns[words[0]] {
				g.fails()
			}
			act(g, words[1:])
		}
	}
	f.between = nil
}

// listen lets faults happen at the requests of the first workspace.
func (f *fault) listen(g *game) {
	before, after := g.network.Before, g.network.After
	g.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		if !strings.HasPrefix(c.Run, "one.") || !f.armed {
			return err
		}
		f.requests++
		f.happen(g, f.next[f.requests])
		if locks(c.Request) {
			f.happen(g, f.next[0])
			delete(f.next, 0)
		}
		for err == nil && time.Now().Before(f.thaw) && !changes(c.Request) {
			time.Sleep(time.Until(f.thaw))
			err = g.schedule.Before(ctx, c)
		}
		switch {
		case f.killed:
			return errKilled
		case err == nil && f.silence == "ca":
			return connection.AttemptError(c.Address, x509.UnknownAuthorityError{})
		}
		return err
	}
	g.network.After = func(ctx context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		err = after(ctx, c, answer, err)
		if !f.armed || !strings.HasPrefix(c.Run, "one.") || !changes(c.Request) && !writes(c.Request) {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.writes++; f.writes == f.lose && err == nil {
			return status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return err
	}
}

func (f *fault) happen(g *game, what []string) {
	if len(what) == 0 {
		return
	}
	switch what[0] {
	case "kill":
		f.killed = true
		f.end()
	case "interrupt":
		f.interrupt()
	case "freeze":
		f.thaw = time.Now().Add(2 * claim.LockTTL)
	default:
		g.fails()
		for _, name := range strings.Split(what[1], ",") {
			undo, number := g.hit(what[0], name), len(g.lines)
			go func() {
				if g.schedule.Clock(fmt.Sprint("fault ", number, f.requests, name)).Sleep(g.Context(), length(what[2])) == nil {
					undo()
				}
			}()
		}
	}
}

// changes reports whether a request changes the members or the leader, writes whether
// it changes a key.
func changes(request proto.Message) bool {
	switch request.(type) {
	case *pb.MemberAddRequest, *pb.MemberPromoteRequest, *pb.MemberRemoveRequest, *pb.MemberUpdateRequest, *pb.MoveLeaderRequest:
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

// locks reports whether a request takes the lock on changes of the membership.
func locks(request proto.Message) bool {
	txn, ok := request.(*pb.TxnRequest)
	return ok && slices.ContainsFunc(txn.Compare, func(c *pb.Compare) bool {
		return bytes.HasSuffix(c.Key, []byte("/lock")) && c.Target == pb.Compare_CREATE && c.GetCreateRevision() == 0
	})
}

// hit lets a node fail, and returns what lets it return: "off", "hidden" from Terraform,
// "other" (a member of another cluster answers in its place), "stuck", or "split" from the
// other members.
func (g *game) hit(how, name string) (undo func()) {
	p := g.members[name]
	if p == nil || !g.works(name) {
		return func() {}
	}
	switch how {
	case "off":
		m := g.fleet.of(name)
		g.fleet.stop(name)
		return func() { g.fleet.set(func() { m.off = false }) }
	case "hidden":
		g.network.Cut("", p.ClientURL)
		return func() { g.network.Heal("", p.ClientURL) }
	case "other":
		g.network.Answer(p.ClientURL, g.stranger())
		return func() { g.network.Answer(p.ClientURL, g.answersAt(p.ClientURL)) }
	case "stuck":
		p.Freeze()
	default:
		g.cluster.Split(p)
	}
	cluster := g.cluster
	g.mark(name, true)
	return func() {
		if how == "stuck" {
			p.Thaw()
		} else {
			cluster.Heal()
		}
		g.mark(name, false)
	}
}

// stranger is a member of another cluster, which has more revisions.
func (g *game) stranger() *etcdsim.Process {
	if g.other == nil {
		g.other = g.network.Form(release, "x").Processes()[0]
		c := g.network.Run("test").Client(g.other.ClientURL, g.other.ClientURL)
		for range 100 {
			_, err := c.Put(g.Context(), "x", "")
			g.must(err)
		}
	}
	return g.other
}

// processes are those of all clusters of the game.
func (g *game) processes() (out []*etcdsim.Process) {
	for _, s := range g.clusters {
		out = append(out, s.of.Processes()...)
	}
	return out
}

// answersAt is the process that runs at a client URL, or the last one that did.
func (g *game) answersAt(url string) (out *etcdsim.Process) {
	for _, p := range g.processes() {
		if p.ClientURL == url && (out == nil || p == g.members[p.Name]) {
			out = p
		}
	}
	return out
}
