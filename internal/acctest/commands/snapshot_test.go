// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A snapshot is taken under writes while a member is down: etcdutl accepts it, it has what
// was acknowledged before, neither the dead member nor the leader is used for it, and the
// next plan is empty. (With ETCD_TEST_FULL=1 on each version.)
func TestAccSnapshot(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V37) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			w := configuration(t, acctest.Access{Endpoints: c.Endpoints()}, "resource \"etcd_snapshot\" \"this\" {\n  path = \"etcd.db\"\n}\n")
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
			of := fmt.Sprint(state["member_name"])
			if revision < before.Header.Revision || of == down.Name || of == leader.Name {
				t.Errorf("of %s revision %d was saved, and revision %d was acknowledged before", of, revision, before.Header.Revision)
			}
			member := slices.IndexFunc(c.Members(), func(p *etcdtest.Process) bool { return p.Name == of })
			if id := fmt.Sprintf("%x", c.MemberID(t, c.Members()[member])); state["member_id"] != id || state["cluster_id"] != c.ID(t) || !strings.HasPrefix(fmt.Sprint(state["version"]), string(v)+".") {
				t.Errorf("the state is %v, and %s is member %s of cluster %s", state, of, id, c.ID(t))
			}
			if at, err := os.Stat(path); err != nil || at.Mode() != 0o600 {
				t.Errorf("%v, %v", at, err)
			}
			w.Plan().MustBeEmpty()
		})
	}
}
