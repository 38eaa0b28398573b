// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// destroy destroys all members, while Terraform reaches only some, with a statement which
// members are gone for good. It returns what stays in the state.
func (w *world) destroy(ws *driver.Workspace, reached, stated string) (left string, r driver.Result) {
	w.Helper()
	w.env["ETCD_CLUSTER_LOST"] = stated
	for name, p := range w.members {
		if !strings.Contains(reached, name) {
			w.network.Cut("", p.ClientURL)
		}
	}
	_, r = ws.Up(w.Context(), w.start("destroy"), driver.Destroy)
	for _, address := range ws.Addresses() {
		left += strings.TrimPrefix(address, "etcd_member.")
	}
	return left, r
}

// Members are forgotten only if those that are neither proven nor stated to be gone are
// fewer than a quorum. What the runner does not reach may serve: a survivor without a
// leader may be on the runner's side of a split. An answer contradicts the statement.
func TestForgetOnlyWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ voters, off, split, reached, stated, says string }{
		{"a b c", "", "", "", "b,c", "ETCD_CLUSTER_LOST=ID:a,b,c terraform destroy"},
		{"a b c", "", "a", "a", "b", "ETCD_CLUSTER_LOST=ID:b,c terraform destroy"},
		{"a b c d e", "d e", "a", "a", "d,e", "ETCD_CLUSTER_LOST=ID:b,c,d,e terraform destroy"},
		{"a b c", "b c", "", "a", "a,b,c", "ETCD_CLUSTER_LOST states that a is gone for good"},
		{"a b c", "b c", "", "a", "b,c", ""},
		{"a b c", "a b c", "", "", "a,b,c", ""},
	} {
		simulate(t, 1, c.voters, func(w *world) {
			ws := w.adopt(c.voters)
			id := driver.Attribute(ws.State("etcd_member.a").Value, "cluster_id")
			for _, name := range strings.Fields(c.off) {
				w.members[name].PowerOff()
			}
			if c.split != "" {
				w.cluster.Split(w.members[c.split])
			}
			time.Sleep(10 * time.Second)
			left, r := w.destroy(ws, c.reached, id+":"+c.stated)
			if c.says == "" {
				w.ok(r)
				w.expect(fmt.Sprintf("%+v: left", c), left, "")
				return
			}
			w.expect(fmt.Sprintf("%+v: left", c), left, strings.ReplaceAll(c.voters, " ", ""))
			says := strings.Replace(c.says, "ID:", id+":", 1)
			if !strings.Contains(fmt.Sprint(r.Diagnostics), says) {
				w.Errorf("%+v: %v", c, r.Diagnostics)
			}
		})
	}
}
