// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// Every action and list has a description, and so has each of its arguments.
func TestSchemas(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		c := w.call("schemas", nil)
		defer c.run.Close()
		schemas := map[string]*tfprotov6.Schema{}
		for name, s := range c.schemas.ActionSchemas {
			schemas["action "+name] = s.Schema
		}
		for name, s := range c.schemas.ListResourceSchemas {
			schemas["list "+name] = s
		}
		var names []string
		for name, s := range schemas {
			names = append(names, name)
			undescribed := func(a *tfprotov6.SchemaAttribute) bool { return a.Description == "" }
			if s.Block.Description == "" || slices.ContainsFunc(s.Block.Attributes, undescribed) {
				t.Errorf("%s is not described", name)
			}
		}
		slices.Sort(names)
		w.expect("actions and lists", names, "[action etcd_defragment list etcd_cluster list etcd_learner list etcd_member]")
	})
}

// The lists hold the members that etcdctl lists, each with its identity, and with the
// resource if requested.
func TestLists(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c", func(w *world) {
		w.startLearner("d")
		var voters, learners []string
		for _, m := range w.cluster.Members() {
			line := fmt.Sprintf("%s (%x) %x", m.Name, m.ID, m.ID)
			if m.IsLearner {
				learners = append(learners, line)
			} else {
				voters = append(voters, line)
			}
		}
		slices.Sort(voters)
		list := func(what, typ string, limit int64, include bool, want []string, says string) {
			w.Helper()
			c := w.call(what, w.provider("a b c"))
			defer c.run.Close()
			var got, diags []string
			for _, r := range c.list(typ, limit, include) {
				diags = append(diags, said(r.Diagnostics))
				if r.Identity == nil {
					continue
				}
				id, err := r.Identity.IdentityData.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"cluster_id": tftypes.String, "member_id": tftypes.String}})
				w.must(err)
				got = append(got, r.DisplayName+" "+driver.Attribute(id, "member_id"))
				if (r.Resource != nil) != include {
					t.Errorf("%s: the resource is there: %v", what, !include)
				}
			}
			w.expect(what, strings.Join(got, ", "), strings.Join(want, ", "))
			w.expect(what, strings.Join(diags, ""), says)
		}
		list("voters", "etcd_member", 0, true, voters, "")
		list("two voters", "etcd_member", 2, false, voters[:2], "")
		list("learners", "etcd_learner", 0, false, learners, "")
		w.members["b"].PowerOff()
		w.members["c"].PowerOff()
		list("without a quorum", "etcd_member", 0, false, voters, "(The list may be behind)")
		w.members["a"].PowerOff()
		list("nobody answers", "etcd_member", 0, false, nil, "Cannot list members")
	})
}
