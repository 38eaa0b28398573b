// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// judge looks at the members after every request and judges each change by what the
// resource that made it could know: a process counts as alive while it works, and if
// it answered the last Status request of that resource. So a fault that follows the
// observation excuses the change, and a fault that it shows does not.
//
// These must not happen:
//   - a change takes the quorum;
//   - a member gets a vote and is not alive, or its failure would take the quorum;
//   - a member is removed that led when it was observed, and others could lead;
//   - a member makes room for its successor while another one has not come back;
//   - a run changes a member that another one added, or that nobody manages.
//
// With a rude run a change may come when its lock has expired. Then the servers check,
// and only the quorum and the ownership of the members are promised.
type judge struct {
	w    *world
	rude bool // see [scene]

	mu sync.Mutex // of what follows; not every request is alone
	// down are the names of processes that do not work. replaced are those whose
	// machines are replaced.
	down, replaced map[string]bool

	before []*pb.Member
	leader *etcdsim.Process
	// owners are the workspaces that added or imported members, by ID.
	owners map[uint64]string
	// sent is who sent the last request to change a member, by ID or peer URL.
	sent     map[any]string
	answered map[[2]string]bool // by who and address
	led      map[string]uint64  // the leader in the last answer, by who
	changes  []string           // "one +a", "one ^a" for a vote, "one -a"
	out      map[string]int     // voters when a member made room, until its successor votes
}

// watch makes a judge look after every request.
func watch(w *world) *judge {
	j := &judge{
		w: w, down: map[string]bool{}, replaced: map[string]bool{}, owners: map[uint64]string{}, before: w.cluster.Members(), leader: w.cluster.Leader(),
		sent: map[any]string{}, answered: map[[2]string]bool{}, led: map[string]uint64{}, out: map[string]int{},
	}
	before := w.network.Before
	w.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		j.mu.Lock()
		defer j.mu.Unlock()
		switch r := c.Request.(type) {
		case *pb.MemberAddRequest:
			j.sent[r.PeerURLs[0]] = whoOf(ctx, c)
		case *pb.MemberPromoteRequest:
			j.sent[r.ID] = whoOf(ctx, c)
		case *pb.MemberRemoveRequest:
			j.sent[r.ID] = whoOf(ctx, c)
		}
		return err
	}
	after := w.network.After
	w.network.After = func(ctx context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if _, ok := c.Request.(*pb.StatusRequest); ok {
			s, _ := answer.(*pb.StatusResponse)
			who, leads := whoOf(ctx, c), err == nil && s.GetLeader() != 0
			j.answered[[2]string{who, c.Address}] = leads
			if leads {
				j.led[who] = s.Leader
			}
		}
		j.look()
		if after != nil {
			err = after(ctx, c, answer, err)
		}
		return err
	}
	return j
}

// whoOf is the run and the resource that make a request.
func whoOf(ctx context.Context, c etcdsim.Call) string {
	return c.Run + " " + etcdsim.ResourceOf(ctx)
}

// nodeOf is the name of the node of a member, which may not have started.
func nodeOf(m *pb.Member) string {
	u, _ := url.Parse(m.PeerURLs[0])
	return strings.TrimSuffix(u.Hostname(), ".example")
}

// set says whether a process works.
func (j *judge) set(name string, down bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.down[name] = down
}

// works reports whether a process works.
func (j *judge) works(name string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.down[name]
}

func (j *judge) alive(m *pb.Member, who string) bool {
	name := nodeOf(m)
	return !j.down[name] || j.answered[[2]string{who, etcdsim.ClientURL(name)}]
}

// count is the number of voters, and how many of them are alive.
func (j *judge) count(list []*pb.Member, who string) (voters, living int) {
	for _, m := range list {
		if !m.IsLearner {
			voters++
			if j.alive(m, who) {
				living++
			}
		}
	}
	return voters, living
}

func find(list []*pb.Member, id uint64) *pb.Member {
	for _, m := range list {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (j *judge) look() {
	now := j.w.cluster.Members()
	for _, m := range now {
		if was := find(j.before, m.ID); was == nil {
			j.owners[m.ID] = workspaceOf(j.sent[m.PeerURLs[0]])
			j.changes = append(j.changes, j.owners[m.ID]+" +"+nodeOf(m))
		} else if was.IsLearner && !m.IsLearner {
			j.promoted(was, j.sent[m.ID], now)
		}
	}
	for _, m := range j.before {
		if find(now, m.ID) == nil {
			j.removed(m, j.sent[m.ID], now)
		}
	}
	j.before, j.leader = now, j.w.cluster.Leader()
}

// workspaceOf is the workspace of a run: "one" of "one.2 etcd_member.a".
func workspaceOf(who string) string {
	name, _, _ := strings.Cut(who, ".")
	return name
}

func (j *judge) wrong(who, format string, args ...any) {
	j.w.Errorf("request %d of %s: %s", j.w.calls, who, fmt.Sprintf(format, args...))
}

func (j *judge) promoted(m *pb.Member, who string, now []*pb.Member) {
	name := nodeOf(m)
	j.changes = append(j.changes, workspaceOf(who)+" ^"+name)
	delete(j.out, name)
	switch voters, living := j.count(j.before, who); {
	case !j.alive(m, who):
		j.wrong(who, "%s was given a vote, and is not alive", name)
	case voters > 1 && 2*living <= voters+1 && !j.rude:
		j.wrong(who, "%s was given a vote, and if it failed %d of %d voters would be alive", name, living, voters+1)
	}
	j.changed(m, who, now)
}

func (j *judge) removed(m *pb.Member, who string, now []*pb.Member) {
	name := nodeOf(m)
	j.changes = append(j.changes, workspaceOf(who)+" -"+name)
	voters, living := j.count(j.before, who)
	others, _ := j.count(now, who)
	known := j.led[who] == 0 || j.led[who] == m.ID // an election after the observation excuses it
	if j.leader != nil && j.leader.ID() == m.ID && known && others > 0 && !j.down[name] && !j.rude {
		j.wrong(who, "%s was removed while it led", name)
	}
	if j.replaced[name] && !m.IsLearner {
		for other, was := range j.out {
			if other != name && living < was && j.alive(m, who) && !j.rude {
				j.wrong(who, "%s makes room before %s has come back", name, other)
			}
		}
		j.out[name] = voters
	}
	j.changed(m, who, now)
}

func (j *judge) changed(m *pb.Member, who string, now []*pb.Member) {
	if owner := j.owners[m.ID]; owner != workspaceOf(who) {
		j.wrong(who, "it changed %s, which belongs to %q", nodeOf(m), owner)
	}
	had, living := j.count(j.before, who)
	if voters, alive := j.count(now, who); 2*living > had && 2*alive <= voters {
		j.wrong(who, "%d of %d voters are alive after the change of %s", alive, voters, nodeOf(m))
	}
}
