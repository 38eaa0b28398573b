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

// fault is what fails during the next command of the first directory.
type fault struct {
	// silence is what all addresses do for Terraform: in a "silence" they do not answer, with a
	// "stranger" they answer for another cluster, with the "wrong-ca" their certificate does not
	// fit. "" is nothing.
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

// arm lets the faults happen from now on.
func (f *fault) arm(s *runner, end, interrupt func()) {
	for _, p := range s.processes() {
		switch f.silence {
		case "silence":
			s.network.Cut("", p.ClientURL)
		case "stranger":
			s.network.Answer(p.ClientURL, s.stranger())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.killed, f.requests, f.writes, f.end, f.interrupt, f.thaw = true, false, 0, 0, end, interrupt, time.Time{}
}

// disarm ends them, as far as they are not faults of nodes, which last.
func (f *fault) disarm(s *runner) {
	f.mu.Lock()
	f.armed, f.killed, f.next, f.lose, f.between = false, false, nil, 0, nil
	f.mu.Unlock()
	f.open(s)
	clear(s.fleet.broken)
	s.ws.Failing = nil
}

// open ends the silence.
func (f *fault) open(s *runner) {
	for _, p := range s.processes() {
		switch f.silence {
		case "silence":
			s.network.Heal("", p.ClientURL)
		case "stranger":
			s.network.Answer(p.ClientURL, s.answersAt(p.ClientURL))
		}
	}
	f.silence = ""
}

// nodeFaults are what happens to nodes for a time.
var nodeFaults = []string{"off", "stuck", "split", "hidden", "other"}

// returns are the steps that are no fault.
var returns = []string{"hear", "start", "wait", "restart-g"}

// planned lets happen what happens between a plan and its apply.
func (f *fault) planned(s *runner) {
	for _, words := range f.between {
		if slices.Contains(nodeFaults, words[0]) {
			f.happen(s, words)
			continue
		}
		if !slices.Contains(returns, words[0]) {
			s.oracle.fails()
		}
		s.run(strings.Join(words, " "))
	}
	f.between = nil
}

// faultSteps are the steps of a judged scenario that let something happen during the next command.
var faultSteps map[string]step

func init() { // steps run steps
	faultSteps = map[string]step{
		"at": {
			"REQUEST|lock FAULT",
			"at that request of the next command, or when it takes the lock: kill, interrupt, freeze, lose (its " +
				"answer), or a fault of nodes with a duration: off, stuck, split, hidden, other",
			func(s *runner, rest string) { s.fault.plan(strings.Fields(rest)) },
		},
		"between": {
			"STEP|FAULT", "the step, or the fault of nodes, between the plan and the apply of the next command",
			func(s *runner, rest string) { s.fault.between = append(s.fault.between, strings.Fields(rest)) },
		},
		"during": {
			"silence|stranger|wrong-ca",
			"during the next command no address answers, another cluster answers, or no certificate fits",
			func(s *runner, what string) {
				if s.fault.silence = what; what != "wrong-ca" {
					s.restate()
				}
			},
		},
		"provisioner-fails": {
			"ADDRESSES", "the provisioners of these resources fail if the next command creates them",
			func(s *runner, rest string) {
				s.ws.Failing = map[string]bool{}
				for _, at := range addresses(rest) {
					s.ws.Failing[at] = true
				}
			},
		},
		"silence": {
			"", "no address answers Terraform, until \"hear\"",
			func(s *runner, _ string) { s.silence() },
		},
		"hear": {
			"", "the addresses answer Terraform again",
			func(s *runner, _ string) {
				if s.oracle != nil {
					s.fault.open(s)
				} else {
					s.hear()
				}
			},
		},
	}
}

// listen lets faults happen at the requests of the first directory.
func (f *fault) listen(s *runner) {
	before, after := s.network.Before, s.network.After
	s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		if !strings.HasPrefix(c.Run, "one.") || !f.armed {
			return err
		}
		f.requests++
		f.happen(s, f.next[f.requests])
		if locks(c.Request) {
			f.happen(s, f.next[0])
			delete(f.next, 0)
		}
		for err == nil && time.Now().Before(f.thaw) && !changes(c.Request) {
			time.Sleep(time.Until(f.thaw))
			err = s.schedule.Before(ctx, c)
		}
		switch {
		case f.killed:
			return errKilled
		case err == nil && f.silence == "wrong-ca":
			return connection.AttemptError(c.Address, x509.UnknownAuthorityError{})
		}
		return err
	}
	s.network.After = func(ctx context.Context, c etcdsim.Call, answer proto.Message, err error) error {
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

func (f *fault) happen(s *runner, what []string) {
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
		s.oracle.fails()
		for _, name := range strings.Split(what[1], ",") {
			undo, number := s.hit(what[0], name), len(s.steps)
			go func() {
				if s.schedule.Clock(fmt.Sprint("fault ", number, f.requests, name)).Sleep(s.Context(),
					length(what[2])) == nil {
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
func (s *runner) hit(how, name string) (undo func()) {
	p := s.members[name]
	if p == nil || !s.oracle.works(name) {
		return func() {}
	}
	switch how {
	case "off":
		m := s.fleet.of(name)
		s.fleet.stop(name)
		return func() { s.fleet.set(func() { m.off = false }) }
	case "hidden":
		s.network.Cut("", p.ClientURL)
		return func() { s.network.Heal("", p.ClientURL) }
	case "other":
		s.network.Answer(p.ClientURL, s.stranger())
		return func() { s.network.Answer(p.ClientURL, s.answersAt(p.ClientURL)) }
	case "stuck":
		p.Freeze()
	default:
		s.cluster.Isolate(p)
	}
	cluster := s.cluster
	s.oracle.mark(name, true)
	return func() {
		if how == "stuck" {
			p.Thaw()
		} else {
			cluster.Rejoin(p)
		}
		s.oracle.mark(name, false)
	}
}

// stranger is a member of another cluster, which has more revisions.
func (s *runner) stranger() *etcdsim.Process {
	if s.other == nil {
		s.other = s.network.Form(release, "x").Processes()[0]
		c := s.network.Run("test").Client(s.other.ClientURL, s.other.ClientURL)
		for range 100 {
			_, err := c.Put(s.Context(), "x", "")
			s.must(err)
		}
	}
	return s.other
}

// processes are those of all clusters of the scenario.
func (s *runner) processes() (out []*etcdsim.Process) {
	for _, s := range s.oracle.clusters {
		out = append(out, s.of.Processes()...)
	}
	return out
}

// answersAt is the process that runs at a client URL, or the last one that did.
func (s *runner) answersAt(url string) (out *etcdsim.Process) {
	for _, p := range s.processes() {
		if p.ClientURL == url && (out == nil || p == s.members[p.Name]) {
			out = p
		}
	}
	return out
}
