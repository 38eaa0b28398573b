// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// machine is a virtual machine. Its user data are the environment of a node in JSON, and
// it starts the node's member by the rules of the join script, again and again. Without
// user data the member joins whoever is there.
type machine struct {
	id, name string
	given    map[string]string // its arguments
	env      map[string]string
	process  *etcdsim.Process // with its data; nil before the first start
	mark     bool             // tells of a start, and outlives the data
	off      bool
	gone     bool
	crashed  []uint64       // the members that it did not start as
	state    rules.Decision // the last one, "" while the member runs
}

// fleet implements [driver.Machines].
type fleet struct {
	w *world
	// version is the etcd of an image, [release] without one.
	version func(image string) etcdsim.Version
	// broken are names whose next machines never boot, keep are those whose data disks
	// outlive their machines, soldOut are those that the cloud makes no machine for.
	broken, keep, soldOut map[string]bool
	// never is how many members of a name its machines do not start as: their processes
	// crash.
	never map[string]int
	// changed is called when a member has started or ended, or may have, destroying
	// before Terraform destroys the machine that ran a member.
	changed    func(name string, runs bool)
	destroying func(name string, member uint64)
	// started is called when a member has started, fresh without data.
	started func(name string, member uint64, fresh bool)
	// acts is called before a machine is made or destroyed.
	acts func()

	mu sync.Mutex // of what follows
	// urls are the peer URLs of machines without user data that are not the usual ones.
	urls     map[string]string
	machines map[string]*machine
	made     map[string]int
	disks    map[string]*machine // the last machine of a name
}

func newFleet(w *world) *fleet {
	return &fleet{
		w: w, version: func(string) etcdsim.Version { return release }, broken: map[string]bool{}, keep: map[string]bool{}, soldOut: map[string]bool{}, never: map[string]int{},
		changed: func(string, bool) {}, destroying: func(string, uint64) {}, started: func(string, uint64, bool) {}, acts: func() {},
		urls: map[string]string{}, machines: map[string]*machine{}, made: map[string]int{}, disks: map[string]*machine{},
	}
}

// Create implements [driver.Machines].
func (f *fleet) Create(_ context.Context, values map[string]string) (string, error) {
	f.acts()
	m := &machine{name: values["name"], given: values, state: rules.Wait}
	if data := values["user_data"]; data == "" {
		m.env = environment(m.name, "a b c d e f g", true)
		f.set(func() { m.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = cmp.Or(f.urls[m.name], etcdsim.PeerURL(m.name)) })
		if f.w.cluster != nil {
			var peers []string
			for _, o := range f.w.cluster.Members() {
				peers = append(peers, o.PeerURLs...)
			}
			m.env["ETCD_JOIN_PEERS"] = strings.Join(peers, ",")
		}
	} else if err := json.Unmarshal([]byte(data), &m.env); err != nil {
		return "", fmt.Errorf("user data: %w", err)
	}
	if f.soldOut[m.name] {
		return "", errors.New("no machine is left")
	}
	f.mu.Lock()
	f.made[m.name]++
	id := fmt.Sprint(m.name, "-", f.made[m.name])
	old := f.disks[m.name]
	if old != nil && old.id == id { // adopted
		f.machines[id] = old
		f.mu.Unlock()
		return id, nil
	}
	if old != nil && f.keep[m.name] {
		m.process, m.mark = old.process, old.mark
	}
	m.id, m.off = id, f.broken[m.name]
	f.machines[id], f.disks[m.name] = m, m
	f.mu.Unlock()
	if old != nil {
		f.end(old) // it has the same addresses
	}
	v := f.version(values["image"])
	if values["version"] != "" {
		v = etcdsim.Version(values["version"])
	}
	go f.run(m, v)
	return id, nil
}

// adopt makes the machine of a process that runs, for the first one that is created.
func (f *fleet) adopt(p *etcdsim.Process) {
	m := &machine{id: p.Name + "-1", name: p.Name, env: environment(p.Name, "a b c d e f g", true), process: p, mark: true}
	f.set(func() { f.disks[p.Name] = m })
	go f.run(m, p.Version)
}

// Destroy implements [driver.Machines].
func (f *fleet) Destroy(ctx context.Context, id string) error {
	f.mu.Lock()
	m := f.machines[id]
	delete(f.machines, id)
	last := m != nil && f.disks[m.name] == m
	f.mu.Unlock()
	if last {
		f.acts()
		if etcdsim.ResourceOf(ctx) != "" && m.process != nil {
			f.destroying(m.name, m.process.ID())
		}
		f.set(func() { m.gone = true })
		f.end(m)
	}
	return nil
}

// Exists implements [driver.Machines].
func (f *fleet) Exists(_ context.Context, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.machines[id] != nil
}

// Values implements [driver.Machines].
func (f *fleet) Values(_ context.Context, id string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.machines[id].given
}

// byHand makes a new cluster on the machines of these names, as an operator does who restores a
// snapshot there. The first one has a window of ten minutes.
func (f *fleet) byHand(names ...string) {
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name+"="+f.of(name).env["ETCD_INITIAL_ADVERTISE_PEER_URLS"])
	}
	now := time.Now().Unix()
	for i, name := range names {
		m := f.of(name)
		f.end(m)
		f.set(func() {
			m.env = maps.Clone(m.env)
			m.env["ETCD_INITIAL_CLUSTER_STATE"], m.env["ETCD_INITIAL_CLUSTER_TOKEN"] = "new", "by hand"
			m.env["ETCD_INITIAL_CLUSTER"], m.env["ETCD_JOIN_BOOTSTRAP_WINDOW"] = strings.Join(pairs, ","), ""
			if i == 0 {
				m.env["ETCD_JOIN_BOOTSTRAP_WINDOW"] = fmt.Sprintf("%d-%d", now, now+600)
			}
			m.process, m.mark, m.off = nil, false, false
		})
	}
}

// of is the last machine of a name.
func (f *fleet) of(name string) *machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.disks[name]
}

// lose destroys a machine outside of Terraform.
func (f *fleet) lose(name string) { _ = f.Destroy(context.Background(), f.of(name).id) }

// stop switches a machine off. start switches it on again.
func (f *fleet) stop(name string) {
	if m := f.of(name); m != nil {
		f.set(func() { m.off = true })
		f.end(m)
	}
}

func (f *fleet) start(name string) {
	if m := f.of(name); m != nil {
		f.set(func() { m.off = false })
	}
}

// wipe ends the member of a machine, and removes its data.
func (f *fleet) wipe(name string) {
	m := f.of(name)
	f.end(m)
	if m.process != nil {
		m.process.Wipe()
	}
}

func (f *fleet) end(m *machine) {
	if m.process != nil {
		m.process.PowerOff()
	}
	f.changed(m.name, false)
}

func (f *fleet) set(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

// run starts the member of a machine whenever it does not run, with a growing pause.
func (f *fleet) run(m *machine, v etcdsim.Version) {
	clock, basis := f.w.schedule.Clock("machine "+m.id), ""
	pause := time.Second
	if m.state == "" {
		f.ended(m)
	}
	for clock.Sleep(f.w.Context(), pause) == nil && f.of(m.name) == m && !m.gone && m.state != rules.Never {
		if m.off {
			pause = min(pause*5/4, 20*time.Second)
			continue
		}
		var d rules.Decision
		round := f.ask(m, basis)
		d, basis = round.Decide()
		f.set(func() { m.state = d })
		if d == rules.Wait || d == rules.Never || f.boot(m, d, round, v) != nil {
			pause = min(pause*5/4, 20*time.Second)
			continue
		}
		f.set(func() { m.state = "" })
		f.started(m.name, m.process.ID(), d != rules.Resume)
		f.changed(m.name, true)
		f.ended(m)
		pause = time.Second
	}
}

// ended waits for the end of the member of a machine.
func (f *fleet) ended(m *machine) {
	select {
	case <-m.process.Done():
		if f.of(m.name) == m {
			f.set(func() { m.state = rules.Wait })
			f.changed(m.name, false)
		}
	case <-f.w.Context().Done():
	}
}

// boot carries out a decision to start.
func (f *fleet) boot(m *machine, d rules.Decision, round rules.Machine, v etcdsim.Version) error {
	if d == rules.Resume {
		m.process.Version = v
		return m.process.Start()
	}
	var c *etcdsim.Cluster
	var err error
	if d == rules.Found {
		var initial map[string][]string
		if initial, err = membership.ParseInitialCluster(m.env["ETCD_INITIAL_CLUSTER"]); err == nil {
			c, err = f.w.network.Static(m.env["ETCD_INITIAL_CLUSTER_TOKEN"], initial)
		}
	} else {
		for _, a := range round.Answers {
			if len(a.Members) > 0 { // all are of one cluster
				c = f.w.network.Cluster(a.Cluster)
			}
		}
	}
	if err != nil {
		return err
	}
	if f.crashes(m, c) {
		return errKilled
	}
	p := c.NewProcess(m.name, v)
	p.PeerURL, p.ClientURL = round.PeerURL, m.env["ETCD_ADVERTISE_CLIENT_URLS"]
	f.set(func() { m.process, m.mark, f.w.cluster, f.w.members[m.name] = p, true, c, p })
	if d == rules.Found {
		return p.StartNew()
	}
	return p.Start()
}

// crashes reports whether a machine does not start as the member that is listed for it.
func (f *fleet) crashes(m *machine, c *etcdsim.Cluster) bool {
	for _, o := range c.Members() {
		if nodeOf(o) == m.name && !slices.Contains(m.crashed, o.ID) && len(m.crashed) < f.never[m.name] {
			m.crashed = append(m.crashed, o.ID)
		}
	}
	return slices.ContainsFunc(c.Members(), func(o *pb.Member) bool { return slices.Contains(m.crashed, o.ID) })
}

// ask asks the peers of a machine, and those that they name.
func (f *fleet) ask(m *machine, before string) rules.Machine {
	own := m.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"]
	initial, _ := membership.ParseInitialCluster(m.env["ETCD_INITIAL_CLUSTER"])
	peers := strings.FieldsFunc(m.env["ETCD_JOIN_PEERS"], func(r rune) bool { return r == ',' })
	for _, name := range slices.Sorted(maps.Keys(initial)) {
		peers = append(peers, initial[name]...)
	}
	peers = slices.DeleteFunc(peers, func(url string) bool { return url == own })
	out := rules.Machine{
		Node: m.name, PeerURL: own, Peers: peers,
		Initial: m.env["ETCD_INITIAL_CLUSTER_STATE"] == "new", Window: m.window(),
		Mark: m.mark, Answers: map[string]rules.Answer{}, Before: before,
	}
	if m.process != nil {
		out.Data, out.Cluster = m.process.ID(), m.process.ClusterID()
	}
	asked := map[string]bool{own: true}
	for todo := slices.Clone(peers); len(todo) > 0; todo = todo[1:] {
		if asked[todo[0]] {
			continue
		}
		asked[todo[0]] = true
		cluster, members, ok := f.w.network.Peers(m.process, todo[0])
		if !ok {
			continue
		}
		a := rules.Answer{Cluster: cluster}
		for _, o := range members {
			a.Members = append(a.Members, rules.Member{
				ID: o.ID, Name: o.Name, PeerURL: o.PeerURLs[0], Learner: o.IsLearner, Started: len(o.ClientURLs) > 0,
			})
			todo = append(todo, o.PeerURLs[0])
		}
		out.Answers[todo[0]] = a
	}
	return out
}

// window reports whether ETCD_JOIN_BOOTSTRAP_WINDOW is open.
func (m *machine) window() bool {
	from, until, ok := strings.Cut(m.env["ETCD_JOIN_BOOTSTRAP_WINDOW"], "-")
	begin, err := strconv.ParseInt(from, 10, 64)
	end, err2 := strconv.ParseInt(until, 10, 64)
	now := time.Now().Unix()
	return ok && err == nil && err2 == nil && begin <= now && now <= end
}

// environment is the environment of a node: of an initial member of the names initial,
// the first of which has a window of ten minutes, or of one that joins those names.
func environment(name, initial string, joins bool) map[string]string {
	env := map[string]string{"ETCD_NAME": name, "ETCD_INITIAL_ADVERTISE_PEER_URLS": etcdsim.PeerURL(name), "ETCD_ADVERTISE_CLIENT_URLS": etcdsim.ClientURL(name)}
	var peers, pairs []string
	for _, other := range strings.Fields(initial) {
		peers, pairs = append(peers, etcdsim.PeerURL(other)), append(pairs, other+"="+etcdsim.PeerURL(other))
	}
	if joins {
		env["ETCD_INITIAL_CLUSTER_STATE"], env["ETCD_JOIN_PEERS"] = "existing", strings.Join(peers, ",")
		return env
	}
	env["ETCD_INITIAL_CLUSTER_STATE"], env["ETCD_INITIAL_CLUSTER"], env["ETCD_INITIAL_CLUSTER_TOKEN"] = "new", strings.Join(pairs, ","), "token"
	if strings.HasPrefix(initial, name) {
		now := time.Now().Unix()
		env["ETCD_JOIN_BOOTSTRAP_WINDOW"] = fmt.Sprintf("%d-%d", now, now+600)
	}
	return env
}

// add makes a machine.
func (f *fleet) add(name string, env map[string]string) {
	text, err := json.Marshal(env)
	if err == nil {
		_, err = f.Create(f.w.Context(), map[string]string{"name": name, "user_data": string(text)})
	}
	must.Succeed(f.w, err)
}
