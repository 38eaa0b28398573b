// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// forger is a user who may write every key but may not change the membership:
// an application with "readwrite" on everything.
type forger struct {
	t      *testing.T
	client *clientv3.Client
	prefix string // <metadata prefix><cluster ID>/
}

func newForger(t *testing.T, b *secured) *forger {
	t.Helper()
	for _, command := range [][]string{
		{"role", "add", "app"}, {"role", "grant-permission", "app", "--prefix=true", "readwrite", ""},
		{"user", "add", "app:app-pw"}, {"user", "grant-role", "app", "app"},
	} {
		b.etcdctl(command...)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: b.Endpoints(), Username: "app", Password: "app-pw", DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	got, err := client.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.MemberRemove(t.Context(), got.Members[0].ID); err == nil {
		t.Fatal("the forger may remove members, so this tests nothing")
	}
	return &forger{t: t, client: client, prefix: fmt.Sprintf("/_terraform/etcd/%x/", got.Header.ClusterId)}
}

func (f *forger) put(key, value string, opts ...clientv3.OpOption) {
	f.t.Helper()
	if _, err := f.client.Put(f.t.Context(), f.prefix+key, value, opts...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *forger) get(key string) string {
	f.t.Helper()
	got, err := f.client.Get(f.t.Context(), f.prefix+key)
	if err != nil || len(got.Kvs) != 1 {
		f.t.Fatalf("%s: %v, %v", key, got, err)
	}
	return string(got.Kvs[0].Value)
}

func (f *forger) del(key string) {
	f.t.Helper()
	if _, err := f.client.Delete(f.t.Context(), f.prefix+key); err != nil {
		f.t.Fatal(err)
	}
}

// record writes the record that the provider would write for an added member.
func (f *forger) record(owner, name, peerURL string, id uint64, state string) {
	f.put("members/"+owner, fmt.Sprintf(`{"format":1,"owner":%q,"name":%q,"peer_urls":[%q],"member_id":"%x","state":%q,"started":true}`, owner, name, peerURL, id, state))
}

const besieged = `
resource "etcd_member_config" "new" {
  name      = "new"
  peer_urls = ["http://127.0.0.9:2380"]
}
resource "etcd_member_config" "pending" {
  for_each  = { one = ["http://127.0.0.11:2380"], two = ["http://127.0.0.12:2380"], three = ["http://127.0.0.13:2380"], dynamic = null }
  name      = each.key
  peer_urls = each.value
}
resource "etcd_member_config" "c" {
  name        = "infra3"
  peer_urls   = [%[1]q]
  client_urls = [%[2]q]
}
resource "terraform_data" "machine" {
  triggers_replace = etcd_member_config.c.id
}
resource "etcd_member" "c" {
  config     = etcd_member_config.c
  machine_id = terraform_data.machine.id
}
`

const newLearner = `
resource "etcd_learner" "new" {
  config     = etcd_member_config.new
  machine_id = "new"
  wait_until = "announced"
  timeouts   = { create = "10s" }
}
`

// Records, locks and turns are hints. Whatever a user without permission for
// the membership writes there, no member is removed or dropped from the state,
// and blocked changes continue when the key is gone.
func TestAccForgedMetadata(t *testing.T) {
	t.Parallel()
	b := newSecured(t, logins["password"], etcdtest.V36, 3)
	f := newForger(t, b)
	c, other := b.Member("infra3"), b.Member("infra2")
	ids := map[string]uint64{}
	got, err := f.client.MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range got.Members {
		ids[m.Name] = m.ID
	}
	config := fmt.Sprintf(besieged, c.PeerURL(), c.ClientURL())
	b.as("terraform")
	b.Write("main.tf", config)
	b.Write("import.tf", acctest.ImportBlock("etcd_member.c", "infra3")+acctest.ImportBlock("etcd_member_config.c", "infra3"))
	b.Apply().MustSucceed()
	b.Write("import.tf", "")
	b.Plan().MustBeEmpty()
	owner := func(address string) string {
		t.Helper()
		id, _ := b.State(address)["id"].(string)
		if id == "" {
			t.Fatalf("%s has no ID", address)
		}
		return id
	}
	still := func(what string) {
		t.Helper()
		if n := b.members(); n != 3 {
			t.Fatalf("%s: %d members", what, n)
		}
	}

	// Records of configurations without a member: as for the configuration, as
	// in the list, and with the configuration's name.
	pending := func(name string) string { return owner(fmt.Sprintf("etcd_member_config.pending[%q]", name)) }
	f.record(pending("one"), "one", "http://127.0.0.11:2380", ids["infra3"], "announced")
	f.record(pending("two"), "infra3", c.PeerURL(), ids["infra3"], "announced")
	f.record(pending("three"), "three", c.PeerURL(), ids["infra3"], "announced")
	f.record(pending("dynamic"), "dynamic", c.PeerURL(), ids["infra3"], "announced")
	said := fmt.Sprint(b.Destroy("-target=etcd_member_config.pending").MustSucceed().Warnings())
	if n := strings.Count(said, "The record of member "); n != 4 {
		t.Errorf("%d records are said to be wrong:\n%s", n, said)
	}
	still("no member")

	// Records of the configuration of a living member.
	mine := owner("etcd_member_config.c")
	own := f.get("members/" + mine)
	for what, forge := range map[string]func(){
		"as another's": func() { f.record(mine, "infra2", other.PeerURL(), ids["infra2"], "announced") },
		"as removed":   func() { f.record(mine, "infra3", c.PeerURL(), ids["infra3"], "removed") },
		"as junk":      func() { f.put("members/"+mine, "junk") },
	} {
		forge()
		o := b.Apply("-target=etcd_member.c").MustSucceed()
		if i := slices.IndexFunc(o.Hooks, func(h acctest.Hook) bool { return h.Type == "apply_start" }); i >= 0 {
			t.Errorf("%s: %v", what, o.Hooks[i])
		}
		still(what)
	}
	f.put("members/"+mine, own)

	// An unreadable record blocks the changes that depend on it until it is gone.
	key := "members/" + owner("etcd_member_config.new")
	f.put(key, "junk")
	e := b.Destroy("-target=etcd_member_config.new").MustFail().Errors()[0]
	if !strings.Contains(e.Detail, f.prefix+key) {
		t.Errorf("no word of the key: %s", e)
	}
	f.del(key)
	b.Destroy("-target=etcd_member_config.new").MustSucceed()
	still("junk")

	// A lock that never expires, and one that is kept alive.
	b.Write("main.tf", config+newLearner)
	f.put("lock", "app")
	locked := b.Apply()
	e = locked.MustSay("Cannot add member new")
	e.MustContain(t, e.Summary, "app", "\n\n  etcdctl del "+f.prefix+"lock")
	lease, err := f.client.Grant(t.Context(), 600)
	if err != nil {
		t.Fatal(err)
	}
	f.put("lock", "app", clientv3.WithLease(lease.ID))
	alive, stop := context.WithCancel(t.Context())
	defer stop()
	if _, err := f.client.KeepAlive(alive, lease.ID); err != nil {
		t.Fatal(err)
	}
	held := b.Apply()
	if e := held.MustSay("Cannot add member new"); !strings.Contains(e.Detail, "app") {
		t.Errorf("after %v: %s", held.Took, e)
	}
	still("a lock")
	stop()
	f.del("lock")

	// A turn that never ends blocks only the replacement of living members.
	f.put("turns/ghost", `{"format":1,"voters":99,"since":"2026-11-22T00:00:00Z","by":"app"}`)
	b.Apply().MustSucceed()
	b.Destroy("-target=etcd_learner.new").MustSucceed()
	b.Write("main.tf", config)
	e = b.Plan("-replace=etcd_member_config.c").MustFail().Errors()[0]
	e.MustContain(t, e.Summary, "ghost", "\n\n  etcdctl del "+f.prefix+"turns/ghost")
	f.del("turns/ghost")
	if p := b.Plan("-replace=etcd_member_config.c"); p.ExitCode != 2 {
		t.Errorf("without the turn: exit code %d", p.ExitCode)
	}
	still("a turn")
}
