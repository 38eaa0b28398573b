// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// obey runs the etcdctl commands that a result prints. It returns their verbs.
func (w *world) obey(r driver.Result) (ran []string) {
	w.Helper()
	for _, d := range r.Diagnostics {
		for line := range strings.Lines(d.Detail) {
			f := strings.Fields(line)
			if !strings.HasPrefix(line, "  etcdctl ") || len(f) < 3 {
				continue
			}
			var err error
			switch verb := strings.Join(f[1:len(f)-1], " "); verb {
			case "member remove":
				var id uint64
				if id, err = strconv.ParseUint(f[3], 16, 64); err == nil && slices.ContainsFunc(w.cluster.Members(), func(m *pb.Member) bool { return m.ID == id }) {
					_, err = w.client("a").MemberRemove(w.Context(), id)
					ran = append(ran, verb)
				}
			case "del":
				_, err = w.client("a").Delete(w.Context(), strings.Trim(f[2], "'"))
				ran = append(ran, verb)
			case "alarm":
				_, err = w.client("a").AlarmDisarm(w.Context(), &clientv3.AlarmMember{})
				ran = append(ran, verb)
			}
			if err != nil {
				w.Fatalf("%s: %v", line, err)
			}
		}
	}
	w.rest(10 * time.Second)
	slices.Sort(ran)
	return slices.Compact(ran)
}

// impatient is a member without a node, for which a creation waits a minute.
func impatient(name, machine string) driver.Resource {
	m := member(name)
	m.Values["timeouts"] = driver.Values{"create": "1m"}
	if machine != "" {
		m.Values["machine_id"] = machine
	}
	return m
}

// taken is a site that manages the members of a cluster without nodes.
func (w *world) taken(names string) *site {
	s := newSite(w)
	for _, p := range w.cluster.Processes() {
		s.fleet.adopt(p)
	}
	s.ws = w.adopt(names)
	s.ws.Machines = s.fleet
	for i, name := range strings.Fields(names) {
		s.ws.Resources[i] = impatient(name, "one")
	}
	s.ok(s.up("machines"))
	return s
}

// deadEnds are states from which each command that is printed leads on.
var deadEnds = map[string]struct {
	names string
	do    func(s *site)
}{
	"F1 an added member never starts, and its block goes": {"a b c", func(s *site) {
		kept := s.ws.Resources
		s.ws.Resources = append(slices.Clone(kept), impatient("d", ""))
		s.fails("add", s.up("add"), "has not started")
		s.ws.Resources = kept
		r := s.up("its block goes")
		s.ok(r)
		s.says("its block goes", r, "etcdctl member remove")
		s.ws.Resources = append(slices.Clone(kept), nodes([]string{"e"}, "one")...)
		s.ws.Resources[4].Values["timeouts"] = driver.Values{"create": "1m"}
		r = s.up("another one")
		s.fails("another one", r, "takes no more learners", "etcdctl member remove")
		s.expect("commands", s.obey(r), "[member remove]")
		s.ok(s.up("another one"))
		s.expect("members", s.list(), "a b c e")
		s.empty("finished")
	}},
	"F1 a replaced member never starts, and its block goes": {"a b c d e", func(s *site) {
		s.fleet.changed = func(name string, runs bool) {
			if name == "b" && !runs {
				s.fleet.set(func() { s.fleet.disks[name].off = true })
			}
		}
		s.ws.Resources[1] = impatient("b", "two")
		s.fails("replace", s.up("replace"), "has not started")
		s.ws.Resources = slices.Delete(s.ws.Resources, 1, 2)
		s.ok(s.up("its block goes"))
		s.ws.Resources[1] = impatient("c", "two")
		_, r := s.ws.Plan(s.Context(), s.start("another one"))
		s.fails("another one", r, "is not active", "another replacement is not over")
		s.expect("commands", s.obey(r), "[del member remove]")
		_, r = s.ws.Plan(s.Context(), s.start("another one"))
		s.ok(r)
	}},
	"F2 a learner was added by hand": {"a b c", func(s *site) {
		added, err := s.client("a").MemberAddAsLearner(s.Context(), []string{etcdsim.PeerURL("d")})
		if err != nil {
			s.Fatal(err)
		}
		s.ws.Resources = append(s.ws.Resources, impatient("d", ""))
		_, r := s.ws.Plan(s.Context(), s.start("before its start"))
		id := fmt.Sprintf("%x", added.Member.ID)
		s.fails("before its start", r, "learner_id = \""+id+"\"", "etcdctl member remove "+id)
		if err := s.cluster.NewProcess("d", release).Start(); err != nil {
			s.Fatal(err)
		}
		s.rest(time.Minute)
		_, r = s.ws.Plan(s.Context(), s.start("after its start"))
		s.fails("after its start", r, "learner_id = \""+id+"\"", "terraform import 'ADDRESS' "+id)
		s.fails("import it as a member", s.take("etcd_member.d", id), "learner_id = \""+id+"\"")
		learner := member("d")
		learner.Type = "etcd_learner"
		s.ws.Resources[3] = learner
		s.fails("import another one", s.take("etcd_learner.d", "nobody"), "Cannot import member nobody")
		for _, by := range []string{id, "d", etcdsim.PeerURL("d")} {
			s.ok(s.take("etcd_learner.d", by))
			s.empty("imported by " + by)
			s.ws.Forget("etcd_learner.d")
		}
		s.ws.Resources[3] = impatient("d", "")
		s.ws.Resources[3].Values["learner_id"] = id
		s.ok(s.up("adopt it"))
		s.expect("members", s.list(), "a b c d")
		s.empty("adopted")
	}},
	"F4 there is no space while a member joins": {"a b c", func(s *site) {
		before := s.network.Before
		s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			if a, ok := c.Request.(*pb.AlarmRequest); ok && c.Run == "quota" {
				a.Action = pb.AlarmRequest_ACTIVATE
			}
			return before(ctx, c)
		}
		s.fleet.changed = func(name string, runs bool) {
			if name == "d" && runs {
				full := &clientv3.AlarmMember{MemberID: s.members["d"].ID(), Alarm: pb.AlarmType_NOSPACE}
				if _, err := s.network.Run("quota").Client(etcdsim.ClientURL("a"), etcdsim.ClientURL("a")).AlarmDisarm(s.Context(), full); err != nil {
					s.Error(err)
				}
			}
		}
		s.ws.Resources = append(s.ws.Resources, nodes([]string{"d"}, "one")...)
		r := s.up("add")
		s.fails("add", r, "NOSPACE", "It is a learner now")
		s.expect("members", s.list(), "(d) a b c")
		s.expect("commands", s.obey(r), "[alarm]")
		s.ok(s.up("add"))
		s.expect("members", s.list(), "a b c d")
		s.empty("added")
	}},
}

func TestDeadEnds(t *testing.T) {
	t.Parallel()
	for name, c := range deadEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, c.names, func(w *world) { c.do(w.taken(c.names)) })
		})
	}
}

// With create_before_destroy a member is created while the machine before still runs it. The
// creation fails before the membership changes, and says which line to remove, also if the
// cluster has no record of the member.
func TestDeadEndOfCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{true, false} {
		simulate(t, 1, "a b c", func(w *world) {
			s := w.taken("a b c")
			if recorded {
				s.ws.Resources = append(s.ws.Resources, nodes([]string{"d"}, "one")...)
				s.ok(s.up("add"))
			}
			last := &s.ws.Resources[len(s.ws.Resources)-1]
			last.CreateBeforeDestroy = true
			s.ok(s.up("write it"))
			last.Values["machine_id"] = "another"
			s.unchanged("replace", func() { s.fails("replace", s.up("replace"), "remove that line from its lifecycle block") })
			last.CreateBeforeDestroy = false
			s.ok(s.up("without it"))
			s.expect("members", s.list(), map[bool]string{true: "a b c d", false: "a b c"}[recorded])
			s.empty("finished")
		})
	}
}

// Names are added while a member is dead, in the plan that replaces it.
func TestGrowthBesideADeadMember(t *testing.T) {
	t.Parallel()
	for _, names := range []string{"a b c d e", "a b c d e f g h"} {
		formed(t, "a b c", func(s *site) {
			s.fleet.stop("c")
			s.rest(time.Minute)
			s.apply("grow", names, "one", names, driver.Replace(machineOf("c")))
			s.empty("grown")
		})
	}
}

// A standby learner that died holds the only place of a learner. A member is not removed
// to be replaced then, because its successor would be refused: the servers are asked
// before. They also tell if they accept more learners.
func TestReplacementFindsAPlace(t *testing.T) {
	t.Parallel()
	for _, places := range []int{1, 2} {
		for _, dead := range []bool{true, false} {
			simulate(t, 1, "", func(w *world) {
				w.network.MaxLearners = places
				s := newSite(w)
				s.apply("form", "a b c", "one", "a b c")
				s.rest(time.Hour)
				s.empty("formed")
				other := driver.New(s, s.provider("a b c"), nodes([]string{"g"}, "one")...)
				other.Machines, other.Resources[1].Type = s.fleet, "etcd_learner"
				_, r := other.Up(s.Context(), s.start("other"))
				s.ok(r)
				if dead {
					s.fleet.stop("g")
				}
				s.rest(time.Minute)
				was := s.ids()
				r = s.try("replace", "a b c", "one", driver.Replace(machineOf("b")))
				if places == 1 {
					s.fails("replace", r, "takes no more learners")
					s.expect("new members", s.fresh(was), "[]")
					s.expect("members", s.list(), "(g) a b c")
					s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1, "g": 1})
					if !dead {
						return // it can be promoted or removed
					}
					s.expect("commands", s.obey(r), "[member remove]")
					r = s.try("replace", "a b c", "one", driver.Replace(machineOf("b")))
				}
				s.ok(r)
				s.expect("new members", s.fresh(was), "[b]")
				s.empty("replaced")
			})
		}
	}
}

// A member that another process plans than its etcd_cluster is warned about: with a
// provider block of its own, or in another state. The warning needs no value in the state,
// and the apply, which reads nothing, does not repeat it.
func TestMemberPlannedWithoutItsCluster(t *testing.T) {
	t.Parallel()
	const words = "is planned without its etcd_cluster"
	found(t, "a b c", func(e *estate) {
		r := e.site.up("plan")
		e.ok(r)
		e.says("no etcd_cluster", r, words)
		e.empty("no etcd_cluster")
		e.ws.Resources[1].Values["timeouts"] = driver.Values{"create": "1m"}
		r = e.site.up("update")
		e.ok(r)
		e.expect("warnings", strings.Count(fmt.Sprint(r.Diagnostics), words), 1)
	})
	formed(t, "a b c", func(s *site) {
		for _, opts := range [][]driver.Option{nil, {driver.Target(memberOf("b"))}, {driver.NoRefresh}, {driver.Replace(machineOf("b"))}} {
			_, r := s.ws.Plan(s.Context(), s.start("plan"), opts...)
			s.ok(r)
			s.expect(fmt.Sprint("warnings with ", opts), strings.Count(fmt.Sprint(r.Diagnostics), words), 0)
		}
		s.apply("roll", "a b c", "two", "a b c")
		r := s.try("grow", "a b c d", "two")
		s.ok(r)
		s.expect("warnings", strings.Count(fmt.Sprint(r.Diagnostics), words), 0)
	})
}
