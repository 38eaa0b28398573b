// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// fill writes and compacts, so that there is space to free.
func fill(t *testing.T, b *etcdtest.Cluster) {
	t.Helper()
	client := b.Client(t)
	value := strings.Repeat("x", 64<<10)
	var revision int64
	for i := range 40 {
		resp, err := client.Put(t.Context(), fmt.Sprint("key", i%4), value)
		if err != nil {
			t.Fatal(err)
		}
		revision = resp.Header.Revision
	}
	if _, err := client.Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
}

// One after the other, the leader last; the databases are smaller afterwards.
func TestDefragment(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			fill(t, b)
			b.AddLearner(t, "learner1")
			leader := b.Leader(t)
			var order, want []string
			for _, p := range b.Members() {
				if p != leader {
					order = append(order, p.Name)
				}
			}
			want = append(want, "Leaving out "+called("learner1")+": it is a learner, .*")
			for i, name := range append(order, leader.Name) {
				want = append(want, fmt.Sprintf("Defragmenting %s, %d left after it\\.", called(name), 2-i), "Defragmented "+called(name)+" in .*: its database went from .* MiB to .*B\\.")
			}
			f := newTerraform(t, b.Endpoints(), nil)
			f.run("etcd_defragment", map[string]tftypes.Value{"members": set(order[0], "learner1")}).mustTell().mustSay(
				"error: Cannot defragment the members: " + called("learner1") + " is a learner, and etcd lets none be defragmented while it runs\\. Nothing was changed\\. .*")
			f.run("etcd_defragment", nil).mustPlan().mustSay().mustTell(want...)
			for _, p := range b.Members() {
				status, err := p.Client(t).Status(t.Context(), p.ClientURL())
				if err != nil || status.DbSize > 1<<20 {
					t.Errorf("%s: %d bytes, %v", p.Name, status.DbSize, err)
				}
			}
		})
	}
}

// No member is defragmented while another is down, if the cluster would stop,
// or after a member whose defragmentation failed.
func TestDefragmentRefused(t *testing.T) {
	t.Parallel()
	t.Run("one of three is down", func(t *testing.T) {
		t.Parallel()
		b := etcdtest.Start(t, 3, etcdtest.Options{})
		b.Member("infra2").Kill()
		b.Leader(t)
		newTerraform(t, b.Endpoints(), nil).run("etcd_defragment", map[string]tftypes.Value{"members": set("infra1")}).mustTell().mustSay(
			"error: Cannot defragment the members: A member does not answer while it is defragmented, so every other one must be healthy\\. " + called("infra2") + " does not answer .*")
	})
	t.Run("one that dies at it", func(t *testing.T) {
		t.Parallel()
		b := etcdtest.Start(t, 3, etcdtest.Options{})
		leader := b.Leader(t)
		var followers []*etcdtest.Process
		for _, p := range b.Members() {
			if p != leader {
				followers = append(followers, p)
			}
		}
		first, second := followers[0], followers[1]
		o := newTerraform(t, b.Endpoints(), nil).run("etcd_defragment", nil, func(word string) {
			if strings.HasPrefix(word, "Defragmenting "+second.Name) {
				second.Kill()
			}
		})
		o.mustTell("Defragmenting "+called(first.Name)+", 2 left after it\\.", "Defragmented "+called(first.Name)+".*", "Defragmenting "+called(second.Name)+", 1 left after it\\.")
		o.mustSay("error: Cannot defragment the members: " + called(second.Name) + " failed: .*\\. " + first.Name + " was before it, " + leader.Name + " was not touched\\. .*")
	})
	t.Run("two voters", func(t *testing.T) {
		t.Parallel()
		b := etcdtest.Start(t, 2, etcdtest.Options{})
		f := newTerraform(t, b.Endpoints(), nil)
		f.run("etcd_defragment", nil).mustTell().mustSay(
			"error: Cannot defragment the members: While infra. " + hex + " is defragmented it does not answer: 1 of 2 voters would be left; quorum is 2, so the cluster would stop for that time\\. .*allow_interruption = true\\.")
		if o := f.run("etcd_defragment", map[string]tftypes.Value{"allow_interruption": yes()}).mustSay(); len(o.progress) != 4 {
			t.Errorf("told %q", o.progress)
		}
	})
}

// Under the alarm NOSPACE no lock can be taken: defragmentation works anyway, and
// after it and a disarm there is space again.
func TestDefragmentWhenFull(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{QuotaBytes: 4 << 20})
	client := b.Client(t)
	var err error
	var revision int64
	for err == nil {
		resp, putErr := client.Put(t.Context(), "key", strings.Repeat("x", 32<<10))
		if err = putErr; err == nil {
			revision = resp.Header.Revision
		}
	}
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("the database never filled: %v", err)
	}
	if _, err := client.Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	newTerraform(t, b.Endpoints(), nil).run("etcd_defragment", map[string]tftypes.Value{"allow_interruption": yes()}).mustSay()
	if _, err := b.Etcdctl("alarm", "disarm"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), "key", "y"); err != nil {
		t.Errorf("a write afterwards: %v", err)
	}
}

// Defragmentation works with a password, and no output contains it.
func TestWithPassword(t *testing.T) {
	t.Parallel()
	const password = "swordfish-1618033988"
	b := etcdtest.Start(t, 3, etcdtest.Options{Password: password})
	f := newTerraform(t, b.Endpoints(), map[string]tftypes.Value{"username": text("root"), "password": text(password)})
	o := f.run("etcd_defragment", nil).mustSay()
	if said := strings.Join(o.progress, "\n"); strings.Contains(said, password) || said == "" {
		t.Errorf("told:\n%s", said)
	}
	newTerraform(t, b.Endpoints(), nil).run("etcd_defragment", nil).mustSay("error: Cannot defragment the members: .*")
}

// listed returns the display name, the identity and the name of each list result.
func (f *terraform) listed(name string, limit int64, include bool) (out []string, diags []string) {
	f.t.Helper()
	identities, err := f.server.GetResourceIdentitySchemas(f.t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		f.t.Fatal(err)
	}
	stream, err := f.lists.ListResource(f.t.Context(), &tfprotov6.ListResourceRequest{
		TypeName: name, Config: f.object(f.schemas.ListResourceSchemas[name], nil), Limit: limit, IncludeResource: include,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for r := range stream.Results {
		diags = append(diags, lines(r.Diagnostics)...)
		if r.Identity == nil {
			continue
		}
		v, err := r.Identity.IdentityData.Unmarshal(identities.IdentitySchemas[name].ValueType())
		if err != nil {
			f.t.Fatal(err)
		}
		line := r.DisplayName + " " + values(f.t, v, "cluster_id", "member_id")
		if r.Resource != nil {
			v, err := r.Resource.Unmarshal(f.schemas.ResourceSchemas[name].ValueType())
			if err != nil {
				f.t.Fatal(err)
			}
			line += " " + values(f.t, v, "cluster_id", "id", "name", "role")
		}
		out = append(out, line)
	}
	return out, diags
}

func values(t *testing.T, v tftypes.Value, names ...string) string {
	t.Helper()
	all := map[string]tftypes.Value{}
	if err := v.As(&all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		s := ""
		if err := all[name].As(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// The lists hold the members that etcdctl lists, each with its identity, and
// with the resource if requested.
func TestLists(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	b.AddLearner(t, "learner1")
	var list struct {
		Header struct {
			ClusterID uint64 `json:"cluster_id"`
		}
		Members []struct {
			ID        uint64
			Name      string
			IsLearner bool
		}
	}
	out, err := b.Etcdctl("member", "list", "-w", "json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	var voters, learners, withResource []string
	for _, m := range list.Members {
		line := fmt.Sprintf("%s (%x) %x %x", m.Name, m.ID, list.Header.ClusterID, m.ID)
		if m.IsLearner {
			learners = append(learners, line)
			continue
		}
		voters = append(voters, line)
		withResource = append(withResource, fmt.Sprintf("%s %x %x %s voter", line, list.Header.ClusterID, m.ID, m.Name))
	}
	slices.Sort(voters)
	slices.Sort(withResource)
	f := newTerraform(t, b.Endpoints(), nil)
	for _, c := range []struct {
		name    string
		limit   int64
		include bool
		want    []string
	}{
		{"etcd_member", 0, false, voters},
		{"etcd_member", 2, false, voters[:2]},
		{"etcd_member", 0, true, withResource},
		{"etcd_learner", 0, false, learners},
	} {
		if got, diags := f.listed(c.name, c.limit, c.include); !slices.Equal(got, c.want) || len(diags) > 0 {
			t.Errorf("%s, limit %d:\n%s\nwant\n%s\n%s", c.name, c.limit, strings.Join(got, "\n"), strings.Join(c.want, "\n"), diags)
		}
	}
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()
	if got, diags := newTerraform(t, b.Endpoints(), nil).listed("etcd_member", 0, false); !slices.Equal(got, voters) || len(diags) != 1 || !strings.HasPrefix(diags[0], "warning: The list may be behind: ") {
		t.Errorf("without a quorum:\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(voters, "\n"), diags)
	}
	gone := newTerraform(t, []string{"http://127.0.0.1:1"}, nil)
	if got, diags := gone.listed("etcd_member", 0, false); len(got) > 0 || len(diags) != 1 || !strings.HasPrefix(diags[0], "error: Cannot list members: The cluster does not answer.") {
		t.Errorf("nobody answers: %v, %v", got, diags)
	}
}
