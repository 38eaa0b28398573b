// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// A learner that is moved to etcd_member is promoted, and the record goes with it.
func TestMovedLearner(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"with a node": false, "with a name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found(t, "a b c", func(e *estate) {
				e.ws.Resources = append(e.ws.Resources, nodesOf("d", "a b c")...)
				last := len(e.ws.Resources) - 1
				if named {
					e.ws.Provider = e.provider("a b c")
					e.ws.Resources[last].Values = member("d").Values
					e.ws.Resources[last].After = []string{"machine.d"}
				}
				e.ws.Resources[last].Type = "etcd_learner"
				e.up()
				e.settled("(d) a b c")
				e.ok(e.ws.Move(e.Context(), e.start("moved"), "etcd_learner.d", "etcd_member.d"))
				e.ws.Resources[last].Type = "etcd_member"
				e.up()
				e.settled("a b c d")
				keys := e.keys()
				if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, "learner:") }) {
					t.Errorf("the record is still that of the learner: %v", keys)
				}
				e.ws.Resources = e.ws.Resources[:last-1]
				e.up()
				e.settled("a b c")
			})
		})
	}
}

// A query lists the cluster and each of its members with what an import needs. A cluster
// that does not answer is not an empty list.
func TestQuery(t *testing.T) {
	t.Parallel()
	found(t, "a b c", func(e *estate) {
		e.ws.Resources = append(e.ws.Resources, nodesOf("d", "a b c")...)
		e.ws.Resources[len(e.ws.Resources)-1].Type = "etcd_learner"
		e.up()
		for typ, want := range map[string]string{"etcd_cluster": "cluster " + e.clusterID(), "etcd_member": "a (ID) b (ID) c (ID)", "etcd_learner": "d (ID)"} {
			var names []string
			for _, r := range e.query(typ) {
				if len(r.Diagnostics) > 0 || r.Identity == nil || r.Resource == nil {
					t.Errorf("%s: %+v", typ, r)
				}
				names = append(names, r.DisplayName)
			}
			for _, m := range e.cluster.Members() {
				want = strings.Replace(want, m.Name+" (ID)", fmt.Sprintf("%s (%x)", m.Name, m.ID), 1)
			}
			slices.Sort(names)
			e.expect(typ, strings.Join(names, " "), want)
		}
		for _, p := range e.cluster.Processes() {
			p.PowerOff()
		}
		for _, typ := range []string{"etcd_cluster", "etcd_member", "etcd_learner"} {
			got := e.query(typ)
			if len(got) != 1 || !strings.Contains(fmt.Sprint(driver.ResultOf(typ, got[0].Diagnostics).Err()), "connection refused") {
				t.Errorf("%s without an answer: %+v", typ, got)
			}
		}
	})
}

// query is terraform query for one type.
func (e *estate) query(typ string) []tfprotov6.ListResourceResult {
	e.Helper()
	p := e.process("query "+typ, e.provider("a b c"))
	defer p.Close()
	ctx, err := p.Context(e.Context(), typ, "list")
	e.must(err)
	server, ok := p.Server.(tfprotov6.ListResourceServer)
	if !ok {
		e.Fatal("the provider has no lists")
	}
	stream, err := server.ListResource(ctx, &tfprotov6.ListResourceRequest{TypeName: typ, Config: p.value(p.schemas.ListResourceSchemas[typ], driver.Values{}), IncludeResource: true})
	e.must(err)
	return slices.Collect(stream.Results)
}
