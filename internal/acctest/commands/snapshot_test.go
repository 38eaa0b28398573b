// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A snapshot is taken under writes while a member is down: etcdutl accepts it, it has what
// was acknowledged before, neither the dead member nor the leader is used for it, and the
// next plan is empty.
func TestAccSnapshot(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.Options{})
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Write("main.tf", acctest.Required+acctest.Access{Endpoints: c.Endpoints()}.ProviderConfig()+`
resource "etcd_snapshot" "this" {
  path = "etcd.db"
}
`)
	down := c.Leader(t)
	down.Kill()
	leader := c.Leader(t)
	c.NewWriter(t, 10*time.Millisecond)
	before, err := c.Client(t).Put(etcdtest.WaitContext(t), "key", "value")
	if err != nil {
		t.Fatal(err)
	}
	w.Apply().MustSucceed().MustBeQuiet()
	path := filepath.Join(w.Dir, "etcd.db")
	revision, state := etcdtest.EtcdutlStatus(t, path), w.State("etcd_snapshot.this")
	if of := state["member_name"]; revision < before.Header.Revision || of == down.Name || of == leader.Name {
		t.Errorf("of %v revision %d was saved, and revision %d was acknowledged before", of, revision, before.Header.Revision)
	}
	if at, err := os.Stat(path); err != nil || at.Mode() != 0o600 {
		t.Errorf("%v, %v", at, err)
	}
	w.Plan().MustBeEmpty()
}
