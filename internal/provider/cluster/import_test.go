// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func listedAs(id membership.MemberID, name string) membership.Member {
	return membership.Member{ID: id, Name: name, PeerURLs: []string{"http://" + id.String() + ":2380"}, ClientURLs: []string{"http://" + id.String() + ":2379"}}
}

func TestNamedMembers(t *testing.T) {
	unstarted := membership.Member{ID: 3, PeerURLs: []string{"http://h:2380"}}
	var diags diag.Diagnostics
	named, unnamed := namedMembers(membership.Snapshot{Members: []membership.Member{listedAs(1, "a"), listedAs(2, "b=c"), unstarted}}, &diags)
	if len(named) != 1 || named["a"].ID != 1 || len(unnamed) != 2 || diags.HasError() {
		t.Errorf("named %v, unnamed %v, %v", named, unnamed, diags)
	}
	if got := notImported(unnamed).Detail; !strings.Contains(got, "(http://h:2380)") || !strings.Contains(got, "etcdctl member remove "+unnamed[0].ID.String()) {
		t.Error(got)
	}
	namedMembers(membership.Snapshot{Members: []membership.Member{listedAs(1, "a"), listedAs(2, "a")}}, &diags)
	if !diags.HasError() {
		t.Error("two members of one name can be imported")
	}
}

func TestImportBlocks(t *testing.T) {
	learner := listedAs(0xb, "b")
	learner.Learner = true
	got := importBlocks(membership.Snapshot{ClusterID: 0xc1, Members: []membership.Member{listedAs(0xa, "a"), learner, {ID: 0xd}}})
	want := "  import {\n    to = etcd_cluster.this\n    id = \"" + membership.ClusterID(0xc1).String() + "\"\n  }\n\n" +
		"  import {\n    to = etcd_member.node[\"a\"]\n    id = \"" + membership.MemberID(0xa).String() + "\"\n  }\n\n" +
		"  import {\n    to = etcd_learner.node[\"b\"]\n    id = \"" + membership.MemberID(0xb).String() + "\"\n  }"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Only the record of a node that still owns the member gives its ID.
func TestNodeOwned(t *testing.T) {
	id := membership.MemberID(0xa)
	record := func(owner string, state port.RecordState) port.Record {
		return port.Record{Owner: owner, MemberID: id.String(), State: state}
	}
	for want, r := range map[string]port.Record{"node-1": record("node-1", port.Announced), "": record("name:a", port.Announced)} {
		if got := nodeOwned([]port.Record{r, record("node-2", port.Removed)}, id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
