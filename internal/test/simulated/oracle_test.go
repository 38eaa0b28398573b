// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// oracle looks at the members after every request, and whenever Terraform destroys a
// machine. It judges each change by what the resource that made it could know: a member
// counts as alive while its process works, and if it answered the last question of that
// resource since it took the lock on changes. So a fault that follows that observation
// excuses the change, and a fault that it shows does not.
//
// These must not happen:
//   - a change, or the end of a machine, takes the quorum;
//   - a member gets a vote and is not alive, or its failure would take the quorum;
//   - a member is removed that led when it was observed, and others could lead;
//   - a second voter is replaced while another one has not come back;
//   - a living voter is replaced while another one is dead, or has addresses that it has
//     not started with, since before the command;
//   - a run changes a member that another workspace added, or that nobody manages;
//   - a member that Terraform added is neither in a state nor on record nor reported;
//   - a machine starts without data as a member that has run.
type oracle struct {
	w *world

	mu sync.Mutex // of what follows; not every request is alone
	// down are the names of processes that do not work, wanted those that a
	// configuration has. faulty is true if something failed during the command, ending
	// if it destroys everything, stale if it plans what it knew.
	down, wanted          map[string]bool
	faulty, ending, stale bool

	// ill are the names of processes that have not worked since before the command,
	// unproven those whose peer URLs differ from those in the list since then. dead are
	// those that the plan saw dead, also if they have returned since.
	ill, unproven, dead map[string]bool

	// clusters are those of the workspaces, the present one last.
	clusters []*seen
	// owners are the workspaces that added or imported members, by ID.
	owners map[uint64]string
	// sent is who sent the last request to change a member, by ID or peer URL.
	sent     map[any]string
	answered map[[2]string]bool // by who and address
	led      map[string]uint64  // the leader in the last answer, by who
	out      map[string]int     // voters when a member made room, until it votes again
	ran      map[uint64]bool    // members that have run
	released map[uint64]bool    // members that the operator took out of the state
}

// seen is a cluster as it was after the request before.
type seen struct {
	of     *etcdsim.Cluster
	before []*pb.Member
	leader *etcdsim.Process
}

// watch makes an oracle look after every request. All members belong to the workspace.
func watch(w *world, f *fleet, workspace string) *oracle {
	o := &oracle{
		w: w, down: map[string]bool{}, wanted: map[string]bool{}, owners: map[uint64]string{},
		sent: map[any]string{}, answered: map[[2]string]bool{}, led: map[string]uint64{}, out: map[string]int{}, ran: map[uint64]bool{}, released: map[uint64]bool{},
	}
	o.meet(workspace)
	for _, m := range o.now().before {
		o.ran[m.ID] = true
	}
	f.changed, f.destroying, f.started = func(name string, runs bool) { o.mark(name, !runs) }, o.destroyed, o.started
	before := w.network.Before
	w.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		o.mu.Lock()
		defer o.mu.Unlock()
		switch r := c.Request.(type) {
		case *pb.MemberAddRequest:
			o.sent[r.PeerURLs[0]] = whoOf(c)
		case *pb.MemberPromoteRequest:
			o.sent[r.ID] = whoOf(c)
		case *pb.MemberRemoveRequest:
			o.sent[r.ID] = whoOf(c)
		}
		return err
	}
	after := w.network.After
	w.network.After = func(ctx context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if _, ok := c.Request.(*pb.StatusRequest); ok {
			s, _ := answer.(*pb.StatusResponse)
			who, leads := whoOf(c), err == nil && s.GetLeader() != 0
			o.answered[[2]string{who, c.Address}] = leads
			if leads {
				o.led[who] = s.Leader
			}
		}
		if locks(c.Request) { // what was decided before is decided again
			maps.DeleteFunc(o.answered, func(of [2]string, _ bool) bool { return of[0] == whoOf(c) })
		}
		o.look()
		if after != nil {
			err = after(ctx, c, answer, err)
		}
		return err
	}
	return o
}

// now is the present cluster.
func (o *oracle) now() *seen { return o.clusters[len(o.clusters)-1] }

// meet begins to look at the present cluster of the world.
func (o *oracle) meet(workspace string) {
	if len(o.clusters) > 0 && o.now().of == o.w.cluster {
		return
	}
	clear(o.out)
	s := &seen{of: o.w.cluster, before: o.w.cluster.Members()}
	o.clusters = append(o.clusters, s)
	for _, m := range s.before {
		o.owners[m.ID] = workspace
	}
}

// started judges the start of a member on a machine.
func (o *oracle) started(name string, member uint64, fresh bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.meet("one")
	if fresh && o.ran[member] {
		o.wrong("the machine of "+name, "it starts without the data of its member")
	}
	o.ran[member] = true
}

// whoOf is the run and the resource that make a request.
func whoOf(c etcdsim.Call) string { return c.Run + " " + c.Resource }

// workspaceOf is the workspace of a run: "one" of "one.2 etcd_member.a". A clone is
// another checkout of the first.
func workspaceOf(who string) string {
	name, _, _ := strings.Cut(who, ".")
	return strings.Replace(name, "clone", "one", 1)
}

// nodeOf is the name of the node of a member, which may not have started.
func nodeOf(m *pb.Member) string {
	u, _ := url.Parse(m.PeerURLs[0])
	name, _, _ := strings.Cut(strings.TrimSuffix(u.Hostname(), ".example"), "-") // an address may be new
	return name
}

// locked does something with what the mutex protects.
func (o *oracle) locked(how func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	how()
}

// mark says whether a process works.
func (o *oracle) mark(name string, down bool) { o.locked(func() { o.down[name] = down }) }

// works reports whether a process works.
func (o *oracle) works(name string) (does bool) {
	o.locked(func() { does = !o.down[name] })
	return does
}

// release notes that the operator has taken a member out of the state.
func (o *oracle) release(id uint64) { o.locked(func() { o.released[id] = true }) }

// fails notes that something failed during the command.
func (o *oracle) fails() { o.locked(func() { o.faulty = true }) }

// begin begins a command: these names are in a configuration.
func (o *oracle) begin(wanted []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.meet("one")
	o.wanted, o.ill, o.unproven, o.faulty = map[string]bool{}, maps.Clone(o.down), map[string]bool{}, false
	o.dead, o.stale = maps.Clone(o.down), false
	for _, m := range o.w.cluster.Members() {
		if p := o.w.members[nodeOf(m)]; p != nil && p.ID() == m.ID && !slices.Contains(m.PeerURLs, p.PeerURL) {
			o.unproven[nodeOf(m)] = true
		}
	}
	for _, name := range wanted {
		o.wanted[name] = true
	}
	maps.DeleteFunc(o.out, func(name string, _ int) bool { return !o.wanted[name] })
}

func (o *oracle) alive(m *pb.Member, who string) bool {
	p := o.w.members[nodeOf(m)]
	return p != nil && p.ID() == m.ID && (!o.down[p.Name] || o.answered[[2]string{who, p.ClientURL}])
}

// count is the number of voters, and how many of them are alive.
func (o *oracle) count(list []*pb.Member, who string) (voters, living int) {
	for _, m := range list {
		if !m.IsLearner {
			voters++
			if o.alive(m, who) {
				living++
			}
		}
	}
	return voters, living
}

// pending counts the living voters whose next restart may cut them off.
func (o *oracle) pending(list []*pb.Member, who string) (n int) {
	for _, m := range list {
		if !m.IsLearner && o.unproven[nodeOf(m)] && o.alive(m, who) {
			n++
		}
	}
	return n
}

// rebuilds judges that etcd_cluster has built another node for a living voter. What failed
// during the command may have looked dead.
func (o *oracle) rebuilds(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.now().of.Members()
	votes := slices.ContainsFunc(all, func(m *pb.Member) bool { return !m.IsLearner && nodeOf(m) == name })
	for _, m := range all {
		if at := nodeOf(m); !m.IsLearner && at != name && (o.ill[at] && o.down[at] || o.unproven[at]) && !o.ill[name] && !o.faulty && votes {
			o.wrong("etcd_cluster", "the node of %s is rebuilt beside %s, which is dead or has pending addresses", name, at)
		}
	}
}

// serves reports whether most voters of the present cluster are alive.
func (o *oracle) serves() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	voters, living := o.count(o.w.cluster.Members(), "")
	return 2*living > voters
}

func find(list []*pb.Member, id uint64) *pb.Member {
	for _, m := range list {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (o *oracle) look() {
	for _, s := range o.clusters {
		now := s.of.Members()
		for _, m := range now {
			if p := o.w.members[nodeOf(m)]; p != nil && slices.Contains(m.PeerURLs, p.PeerURL) {
				delete(o.unproven, nodeOf(m)) // a change was withdrawn, or it has started with it
			}
			if was := find(s.before, m.ID); was == nil && len(s.before) == 0 {
				o.owners[m.ID] = "one" // it has just formed
			} else if was == nil {
				o.owners[m.ID] = workspaceOf(o.sent[m.PeerURLs[0]])
			} else if was.IsLearner && !m.IsLearner {
				o.promoted(s, was, o.sent[m.ID], now)
			}
		}
		for _, m := range s.before {
			if find(now, m.ID) == nil {
				o.removed(s, m, o.sent[m.ID], now)
			}
		}
		s.before, s.leader = now, s.of.Leader()
	}
}

func (o *oracle) wrong(who, format string, args ...any) {
	o.w.Errorf("request %d of %s: %s", o.w.calls, who, fmt.Sprintf(format, args...))
}

func (o *oracle) promoted(s *seen, m *pb.Member, who string, now []*pb.Member) {
	name := nodeOf(m)
	delete(o.out, name)
	if strings.HasPrefix(who, "etcdctl") {
		return
	}
	_, alive := o.count(now, who)
	maps.DeleteFunc(o.out, func(_ string, was int) bool { return alive >= was }) // another one made up for it
	switch voters, living := o.count(s.before, who); {
	case !o.alive(m, who):
		o.wrong(who, "%s was given a vote, and is not alive", name)
	case voters > 1 && 2*(living-o.pending(s.before, who)) <= voters+1:
		o.wrong(who, "%s was given a vote, and if it failed %d of %d voters would be alive", name, living, voters+1)
	}
	o.changed(s, m, who, now)
}

func (o *oracle) removed(s *seen, m *pb.Member, who string, now []*pb.Member) {
	if strings.HasPrefix(who, "etcdctl") {
		return
	}
	name := nodeOf(m)
	others, _ := o.count(now, who)
	known := o.led[who] == 0 || o.led[who] == m.ID // an election after the observation excuses it
	if s.leader != nil && s.leader.ID() == m.ID && known && others > 0 && !o.down[name] {
		o.wrong(who, "%s was removed while it led", name)
	}
	o.takesRoom(s, m, who)
	o.changed(s, m, who, now)
}

// takesRoom notes that a voter is replaced.
func (o *oracle) takesRoom(s *seen, m *pb.Member, who string) {
	name := nodeOf(m)
	if !o.wanted[name] || m.IsLearner || o.ending {
		return
	}
	voters, living := o.count(s.before, who)
	leads, asked := o.answered[[2]string{who, strings.Join(m.ClientURLs, "")}]
	alive := o.alive(m, who) && (leads || !asked) // it may have returned since it was asked
	for other, was := range o.out {
		if other != name && living < was && 2*living > voters && alive {
			o.wrong(who, "%s makes room before %s has come back", name, other)
		}
	}
	o.out[name] = voters
	for _, other := range s.before {
		if at := nodeOf(other); 2*living > voters && !other.IsLearner && other.ID != m.ID && alive && (o.ill[at] && !o.alive(other, who) || o.unproven[at]) {
			o.wrong(who, "%s makes room beside %s, which is dead or has pending addresses", name, at)
		}
	}
}

func (o *oracle) changed(s *seen, m *pb.Member, who string, now []*pb.Member) {
	placeholder := strings.Contains(m.PeerURLs[0], ".invalid:") // of a run that was killed
	if owner := o.owners[m.ID]; owner != workspaceOf(who) && !placeholder {
		o.wrong(who, "it changed %s, which belongs to %q", nodeOf(m), owner)
	}
	had, living := o.count(s.before, who)
	if voters, alive := o.count(now, who); 2*living > had && 2*alive <= voters {
		o.wrong(who, "%d of %d voters are alive after the change of %s", alive, voters, nodeOf(m))
	}
}

// destroyed judges the end of a machine by Terraform, which nothing at apply can stop. A
// fault during the command excuses it.
func (o *oracle) destroyed(name string, id uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.meet("one")
	for _, s := range o.clusters {
		s.before = s.of.Members()
		m := find(s.before, id)
		if m == nil || m.IsLearner || o.down[name] || o.faulty || o.ending && o.released[id] {
			continue
		}
		if voters, living := o.count(s.before, ""); 2*living > voters && 2*(living-1) <= voters && (voters > 1 || !o.ending) {
			o.wrong("Terraform", "with the machine of %s %d of %d voters stay", name, living-1, voters)
		}
		if !o.dead[name] && !o.stale {
			o.takesRoom(s, m, "Terraform")
		}
	}
}

// known fails the test if a member that a workspace added is neither in its state, nor on
// record in the cluster, nor named by the result of its last command.
func (o *oracle) known(ws *driver.Workspace, name string, r driver.Result) {
	text := fmt.Sprint(r.Diagnostics, o.records())
	for _, address := range ws.Addresses() {
		text += driver.Attribute(ws.State(address).Value, "id")
	}
	if len(ws.Addresses()) == 0 {
		return // everything was destroyed
	}
	for _, m := range o.w.cluster.Members() {
		if placeholder := strings.Contains(m.PeerURLs[0], ".invalid:"); o.owners[m.ID] == name && !placeholder && !o.released[m.ID] && !strings.Contains(text, membership.MemberID(m.ID).String()) && !strings.Contains(text, m.PeerURLs[0]) {
			o.wrong(name, "%s (%x) is in the cluster, and nothing says so", nodeOf(m), m.ID)
		}
	}
}

// records are the values of the keys in the cluster.
func (o *oracle) records() (out []string) {
	for _, p := range o.w.cluster.Processes() {
		if !o.works(p.Name) {
			continue
		}
		c := o.w.network.Run("test").Client(p.ClientURL, p.ClientURL)
		ctx, end := context.WithTimeout(o.w.Context(), 10*time.Second)
		all, err := c.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithSerializable())
		end()
		if err != nil || o.w.network.Cluster(all.Header.ClusterId) != o.w.cluster {
			continue
		}
		for _, kv := range all.Kvs {
			out = append(out, string(kv.Value))
		}
		return out
	}
	return nil
}
