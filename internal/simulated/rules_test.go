// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

func machineOf(name string) string { return `machine.node["` + name + `"]` }
func memberOf(name string) string  { return `etcd_member.node["` + name + `"]` }

// formed runs f with a cluster that has formed, after all windows.
func formed(t *testing.T, names string, f func(s *site)) {
	t.Helper()
	simulate(t, 1, "", func(w *world) {
		w.network.MaxLearners = 2 // one is a standby learner
		s := newSite(w)
		s.apply("form", names, "one", names)
		s.rest(time.Hour)
		s.empty("formed")
		f(s)
	})
}

// silence hides all members from Terraform.
func (s *site) silence() {
	for _, p := range s.cluster.Processes() {
		s.network.Cut("", p.ClientURL)
	}
}

func (s *site) hear() {
	for _, p := range s.cluster.Processes() {
		s.network.Heal("", p.ClientURL)
	}
}

// fresh are the names whose members are not those of before.
func (s *site) fresh(before map[string]uint64) (out []string) {
	for name, id := range s.ids() {
		if before[name] != id {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// says fails the test unless a result has the words, also in a warning.
func (s *site) says(what string, r driver.Result, words string) {
	s.Helper()
	if !strings.Contains(fmt.Sprint(r.Diagnostics), words) {
		s.Errorf("%s: %v, want %q", what, r.Diagnostics, words)
	}
}

// killedWhileAdding lets a run be killed that adds a member, after it has recorded its ID.
func (s *site) killedWhileAdding(name string) {
	s.Helper()
	ctx, end := context.WithCancel(s.Context())
	defer end()
	killed := false
	s.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error {
		if _, puts := call.Request.(*pb.TxnRequest); puts && strings.Contains(s.list(), etcdsim.PeerURL(name)) {
			killed = true
		}
		if killed && strings.HasPrefix(call.Run, "killed.") {
			end()
			return errKilled
		}
		return err
	}
	s.fleet.broken[name] = true
	s.ws.Resources = clusterOf("a b c "+name, "one")
	_, r := s.ws.Up(ctx, s.start("killed"))
	s.rest(time.Hour)
	if r.Err() == nil || !killed {
		s.Fatalf("it was not killed: %v, members %s", r, s.list())
	}
}

// strangers is the ID of the cluster of a process.
func (s *site) strangers(p *etcdsim.Process) uint64 {
	list, err := s.network.Run("test").Client(p.ClientURL, p.ClientURL).MemberList(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return list.Header.ClusterId
}

// TestRules shows the rules of safety.md.
func TestRules(t *testing.T) { tell(t, "rules.txt") }
