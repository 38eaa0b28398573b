// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
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
