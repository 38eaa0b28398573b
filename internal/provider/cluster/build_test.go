// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
)

func peerOf(host string) []string   { return []string{"https://" + host + ":2380"} }
func clientOf(host string) []string { return []string{"https://" + host + ":2379"} }

func TestURLsOfMember(t *testing.T) {
	for name, tt := range map[string]struct {
		member       member
		peer, client []string
	}{
		"address":       {member{Address: types.StringValue("10.0.0.1")}, peerOf("10.0.0.1"), clientOf("10.0.0.1")},
		"IPv6":          {member{Address: types.StringValue("fd00::1")}, peerOf("[fd00::1]"), clientOf("[fd00::1]")},
		"refused":       {member{Address: types.StringValue("10.0.0.1:2380")}, []string{}, nil},
		"peer URLs":     {member{PeerURLs: attribute.SetOf([]string{"http://a:12380"})}, []string{"http://a:12380"}, []string{"http://a:2379"}},
		"both":          {member{PeerURLs: attribute.SetOf(peerOf("a")), ClientURLs: attribute.SetOf(clientOf("b"))}, peerOf("a"), clientOf("b")},
		"machine knows": {member{}, nil, nil},
		"unknown":       {member{Address: types.StringUnknown()}, []string{unknownURL}, []string{unknownURL}},
		"unknown set":   {member{PeerURLs: types.SetUnknown(types.StringType)}, []string{unknownURL}, []string{unknownURL}},
	} {
		peer, client := tt.member.urls()
		if !reflect.DeepEqual(peer, tt.peer) || !reflect.DeepEqual(client, tt.client) {
			t.Errorf("%s: %q, %q", name, peer, client)
		}
	}
}

func TestToListen(t *testing.T) {
	for advertised, want := range map[string]string{
		"https://10.0.0.1:2380": "https://10.0.0.1:2380", "https://[fd00::1]:2380": "https://[fd00::1]:2380",
		"https://a.example:2380": "https://0.0.0.0:2380", "http://localhost:2379": "http://localhost:2379",
	} {
		if got := toListen([]string{advertised}); !reflect.DeepEqual(got, []string{want}) {
			t.Errorf("%s: %q, want %s", advertised, got, want)
		}
	}
	if got := toListen([]string{"https://a:2380", "https://b:2380"}); len(got) != 1 {
		t.Errorf("two host names on one port: %q, want one wildcard", got)
	}
}

// TestBuild builds the first initial member, another one and a later node.
func TestBuild(t *testing.T) {
	now := time.Unix(1000, 0)
	formed := map[string]string{"ETCD_INITIAL_CLUSTER": "a=https://a:2380,b=https://b:2380", "ETCD_INITIAL_CLUSTER_TOKEN": "t"}
	for name, tt := range map[string]struct {
		initial []string
		state   string
		window  string
		formed  bool
	}{
		"first initial member": {[]string{"a", "b"}, "new", "1000-1900", true},
		"initial member":       {[]string{"0", "a"}, "new", "", true},
		"later node":           {nil, "existing", "", false},
	} {
		var diags diag.Diagnostics
		b := builder{
			run: &backend.Run{Random: strings.NewReader("12345678")}, now: now, window: 15 * time.Minute, members: 2, formation: formation{initial: tt.initial, variables: maps.Clone(formed), clusterID: "abc"},
			peers: map[string][]string{"a": peerOf("a"), "b": peerOf("b")}, endpoints: map[string][]string{"a": clientOf("a"), "b": clientOf("b")},
			others: append(peerOf("a"), peerOf("old")...),
		}
		v := membership.NodeValues{PeerURLs: peerOf("a"), ClientURLs: clientOf("a"), Version: "3.6.16", Revision: map[string]string{"image": "x"}, Rebuild: "1"}
		n := b.build(t.Context(), "a", v, []string{"node-0"}, &diags)
		env, s := attribute.TextsByKey(n.Environment), startOf(n, &diags)
		if diags.HasError() {
			t.Fatalf("%s: %v", name, diags)
		}
		want := map[string]string{
			"ETCD_NAME": "a", "ETCD_JOIN_PEERS": "https://b:2380,https://old:2380", "ETCD_INITIAL_ADVERTISE_PEER_URLS": "https://a:2380",
			"ETCD_LISTEN_PEER_URLS": "https://0.0.0.0:2380", "ETCD_ADVERTISE_CLIENT_URLS": "https://a:2379", "ETCD_LISTEN_CLIENT_URLS": "https://0.0.0.0:2379",
			"ETCD_INITIAL_CLUSTER_STATE": tt.state, nodeVariable: n.ID.ValueString(),
		}
		if tt.formed {
			maps.Copy(want, formed)
		}
		if tt.window != "" {
			want[joinscript.WindowVariable] = tt.window
		}
		if !reflect.DeepEqual(env, want) {
			t.Errorf("%s: the environment is\n%v, want\n%v", name, env, want)
		}
		if n.ID.ValueString() != "node-3132333435363738" || (s.WindowEnd != "") != (tt.window != "") || s.Initial != tt.formed || s.InitialMembers != 2 {
			t.Errorf("%s: %v, start %+v", name, n.ID, s)
		}
		back := model{Node: types.MapNull(types.StringType)}
		back.setNodes(t.Context(), map[string]node.Node{"a": n}, clientOf("a"), &diags)
		in := back.inState(t.Context(), &diags)
		if diags.HasError() || len(in) != 1 || !reflect.DeepEqual(in[0].NodeValues, v) || !reflect.DeepEqual(in[0].Replaces, []string{"node-0"}) {
			t.Errorf("%s: the state has %+v (%v), want %+v", name, in, diags, v)
		}
		if got := back.clientURLs(); !reflect.DeepEqual(got, clientOf("a")) {
			t.Errorf("%s: endpoints %q", name, got)
		}
	}
}

// TestLaterNodeDoesNotRegister checks the environment of a node that joins a cluster
// that a discovery token formed: etcd's own variables would register it.
func TestLaterNodeDoesNotRegister(t *testing.T) {
	b := builder{run: &backend.Run{Random: strings.NewReader("12345678")}, formation: formation{discovery: &bootstrap.Bootstrap{}, variables: map[string]string{
		"ETCD_DISCOVERY_TOKEN": "t", "ETCD_DISCOVERY_ENDPOINTS": "https://r:2379", "ETCD_DISCOVERY_CACERT": "/ca", "ETCD_OTHER": "x",
	}}}
	var diags diag.Diagnostics
	n := b.build(t.Context(), "d", membership.NodeValues{}, nil, &diags)
	want := map[string]string{
		"ETCD_NAME": "d", "ETCD_JOIN_DISCOVERY_TOKEN": "t", "ETCD_JOIN_DISCOVERY_ENDPOINTS": "https://r:2379", "ETCD_DISCOVERY_CACERT": "/ca",
		"ETCD_INITIAL_CLUSTER_STATE": "existing", nodeVariable: n.ID.ValueString(),
	}
	if env := attribute.TextsByKey(n.Environment); diags.HasError() || !reflect.DeepEqual(env, want) {
		t.Errorf("the environment is\n%v, want\n%v (%v)", env, want, diags)
	}
	if s := startOf(n, &diags); !n.PeerURLs.IsNull() || clientURLs(n) != nil || s.Peers != nil {
		t.Errorf("URLs that only the machines know: %v, %q, peers %q", n.PeerURLs, clientURLs(n), s.Peers)
	}
}

func TestFormation(t *testing.T) {
	members := map[string]member{}
	for _, name := range []string{"c", "a", "b"} {
		members[name] = member{PeerURLs: attribute.SetOf(peerOf(name)), ClientURLs: attribute.SetOf(clientOf(name)), Learner: types.BoolValue(name == "c")}
	}
	all, diags := types.MapValueFrom(t.Context(), memberType(), members)
	m := model{Discovery: types.ObjectNull(nil), Members: all}
	want, initial, _ := m.wants(t.Context(), &diags)
	f := m.formationOf(t.Context(), want, initial, "t", &diags)
	if diags.HasError() || !reflect.DeepEqual(f.initial, []string{"a", "b"}) || len(f.clusterID) == 0 {
		t.Fatalf("%+v (%v), want a and b with a cluster ID", f, diags)
	}
	if got := f.variables["ETCD_INITIAL_CLUSTER"]; got != "a=https://a:2380,b=https://b:2380" {
		t.Errorf("ETCD_INITIAL_CLUSTER is %s", got)
	}
	if other := m.formationOf(t.Context(), want, initial, "u", &diags); other.clusterID == f.clusterID {
		t.Error("another token has the same cluster ID")
	}
}

// TestRenewedEndpoints: a start keeps its endpoints as long as one of them belongs to
// another present node, because every change of them is a change in the plan.
func TestRenewedEndpoints(t *testing.T) {
	for name, tt := range map[string]struct {
		had, present []string
		renewed      bool
	}{
		"another is present":  {[]string{"a", "b"}, []string{"a", "b", "c"}, false},
		"no other is present": {[]string{"a", "b"}, []string{"a", "c"}, true},
		"sole node":           {[]string{"a", "b"}, []string{"a"}, false},
		"not known yet":       {[]string{"a", "b"}, []string{"a", "c", unknownURL}, false},
	} {
		var diags diag.Diagnostics
		n := node.Node{Environment: mapOf(map[string]string{clientURLsVariable: "a"}), Start: node.Start{Endpoints: tt.had}.Text()}
		s, err := node.StartOf(renewed(n, tt.present, &diags))
		want := tt.had
		if tt.renewed {
			want = tt.present
		}
		if err != nil || diags.HasError() || !reflect.DeepEqual(s.Endpoints, want) {
			t.Errorf("%s: %v (%v), want %q", name, s.Endpoints, diags, want)
		}
	}
	if diags := (diag.Diagnostics{}); startOf(node.Node{Start: types.StringValue("{")}, &diags).NodeID != "" || !diags.HasError() {
		t.Error("what is no start is read")
	}
}

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
	namedMembers(membership.Snapshot{Members: []membership.Member{listedAs(1, "a"), listedAs(2, "a")}}, &diags)
	if !diags.HasError() {
		t.Error("two members of one name can be imported")
	}
}

// Only the record of a node that still owns the member gives its ID.
func TestNodeOwned(t *testing.T) {
	id := membership.MemberID(0xa)
	record := func(owner string, state port.RecordState) port.Record {
		return port.Record{Owner: owner, MemberID: id.String(), State: state}
	}
	for want, r := range map[string]port.Record{"node-1": record("node-1", port.Added), "": record("name:a", port.Added)} {
		if got := nodeOwned([]port.Record{r, record("node-2", port.Removed)}, id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
