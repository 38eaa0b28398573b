// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

func TestEnvironment(t *testing.T) {
	ip := urls{peer: []string{"https://10.0.0.1:2380"}, client: []string{"https://10.0.0.1:2379"}}
	host := urls{
		peer:       []string{"https://a.example.com:2380", "http://[fd00::1]:2380"},
		client:     []string{"https://a.example.com:2379"},
		listenPeer: nil, listenClient: []string{"https://127.0.0.1:2379", "https://10.0.0.1:2379"},
	}
	for _, c := range []struct {
		name    string
		urls    urls
		founder bool
		boot    map[string]string
		initial string
		peers   []string
		want    string
	}{
		{"a founder by discovery", ip, true, map[string]string{"ETCD_DISCOVERY_TOKEN": "t", "ETCD_DISCOVERY_ENDPOINTS": "http://r:2379"}, "", nil, `
ETCD_ADVERTISE_CLIENT_URLS=https://10.0.0.1:2379
ETCD_DISCOVERY_ENDPOINTS=http://r:2379
ETCD_DISCOVERY_TOKEN=t
ETCD_INITIAL_ADVERTISE_PEER_URLS=https://10.0.0.1:2380
ETCD_INITIAL_CLUSTER_STATE=new
ETCD_LISTEN_CLIENT_URLS=https://10.0.0.1:2379
ETCD_LISTEN_PEER_URLS=https://10.0.0.1:2380
ETCD_NAME=a`},
		{"one that awaits the cluster", ip, false, map[string]string{"ETCD_JOIN_DISCOVERY_TOKEN": "t"}, "", nil, `
ETCD_ADVERTISE_CLIENT_URLS=https://10.0.0.1:2379
ETCD_INITIAL_ADVERTISE_PEER_URLS=https://10.0.0.1:2380
ETCD_INITIAL_CLUSTER_STATE=existing
ETCD_JOIN_DISCOVERY_TOKEN=t
ETCD_LISTEN_CLIENT_URLS=https://10.0.0.1:2379
ETCD_LISTEN_PEER_URLS=https://10.0.0.1:2380
ETCD_NAME=a`},
		{"a joiner", ip, false, nil, "a=x,b=y", []string{"https://10.0.0.3:2380", "https://10.0.0.2:2380"}, `
ETCD_ADVERTISE_CLIENT_URLS=https://10.0.0.1:2379
ETCD_INITIAL_ADVERTISE_PEER_URLS=https://10.0.0.1:2380
ETCD_INITIAL_CLUSTER=a=x,b=y
ETCD_INITIAL_CLUSTER_STATE=existing
ETCD_JOIN_PEERS=https://10.0.0.2:2380,https://10.0.0.3:2380
ETCD_LISTEN_CLIENT_URLS=https://10.0.0.1:2379
ETCD_LISTEN_PEER_URLS=https://10.0.0.1:2380
ETCD_NAME=a`},
		{"host names are not listened on", host, false, nil, "", nil, `
ETCD_ADVERTISE_CLIENT_URLS=https://a.example.com:2379
ETCD_INITIAL_ADVERTISE_PEER_URLS=http://[fd00::1]:2380,https://a.example.com:2380
ETCD_INITIAL_CLUSTER_STATE=existing
ETCD_LISTEN_CLIENT_URLS=https://10.0.0.1:2379,https://127.0.0.1:2379
ETCD_LISTEN_PEER_URLS=http://[fd00::1]:2380,https://0.0.0.0:2380
ETCD_NAME=a`},
		{"addresses filled in on the machine", urls{}, false, nil, "", nil, `
ETCD_INITIAL_CLUSTER_STATE=existing
ETCD_NAME=a`},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := environment("a", c.urls, c.founder, c.boot, c.initial, c.peers)
			var lines []string
			for _, k := range slices.Sorted(maps.Keys(env)) {
				lines = append(lines, k+"="+env[k])
			}
			if got := "\n" + strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got%s\nwant%s", got, c.want)
			}
		})
	}
}

// No variable that makes an initial member register reaches the etcd of a
// member that awaits the cluster.
func TestToAsk(t *testing.T) {
	for name, c := range map[string]struct {
		bootstrap, want map[string]string
		peers           []string
	}{
		"v3": {
			map[string]string{"ETCD_DISCOVERY_TOKEN": "t", "ETCD_DISCOVERY_ENDPOINTS": "http://r:2379", "ETCD_DISCOVERY_CACERT": "ca.pem", "ETCD_DISCOVERY_USER": "u"},
			map[string]string{"ETCD_JOIN_DISCOVERY_TOKEN": "t", "ETCD_JOIN_DISCOVERY_ENDPOINTS": "http://r:2379", "ETCD_DISCOVERY_CACERT": "ca.pem", "ETCD_DISCOVERY_USER": "u"},
			nil,
		},
		"v2": {
			map[string]string{"ETCD_DISCOVERY": "http://r:2379/v2/keys/t", "ETCD_DISCOVERY_FALLBACK": "exit"},
			map[string]string{"ETCD_JOIN_DISCOVERY": "http://r:2379/v2/keys/t"},
			nil,
		},
		"static": {
			map[string]string{"ETCD_INITIAL_CLUSTER": "a=http://a:2380,b=http://b:2380,b=http://b:2382", "ETCD_INITIAL_CLUSTER_TOKEN": "t"},
			map[string]string{}, []string{"http://a:2380", "http://b:2380", "http://b:2382"},
		},
		"nothing": {nil, map[string]string{}, nil},
	} {
		variables, peers := toAsk(c.bootstrap)
		slices.Sort(peers)
		if !maps.Equal(variables, c.want) || !slices.Equal(peers, c.peers) {
			t.Errorf("%s: got %v and %v, want %v and %v", name, variables, peers, c.want, c.peers)
		}
	}
}

// The window is for the first initial member of a static bootstrap, and begins
// when its configuration is created.
func TestWindow(t *testing.T) {
	static := &bootstrap.Bootstrap{Protocol: types.StringValue(bootstrap.ProtocolStatic), Window: types.StringValue("90m")}
	now := time.Unix(1_800_000_000, 999)
	for name, c := range map[string]struct {
		plan plan
		name string
		want map[string]string
	}{
		"the first":            {plan{role: roleFounder, boot: static, founders: []string{"c", "B", "a"}}, "B", map[string]string{"ETCD_JOIN_BOOTSTRAP_WINDOW": "1800000000-1800005400"}},
		"another":              {plan{role: roleFounder, boot: static, founders: []string{"c", "B", "a"}}, "a", nil},
		"alone":                {plan{role: roleFounder, boot: static, founders: []string{"a"}}, "a", map[string]string{"ETCD_JOIN_BOOTSTRAP_WINDOW": "1800000000-1800005400"}},
		"one that awaits it":   {plan{role: roleAwaiting, boot: static, founders: []string{"b", "c"}}, "a", nil},
		"a joiner":             {plan{role: roleJoiner, boot: static}, "a", nil},
		"without a bootstrap":  {plan{role: roleJoiner}, "a", nil},
		"founder by discovery": {plan{role: roleFounder, boot: &bootstrap.Bootstrap{Protocol: types.StringValue(bootstrap.ProtocolV3)}, founders: []string{"a"}}, "a", nil},
	} {
		got, err := c.plan.windowOf(c.name, now)
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
		end, ok := windowEnd(got)
		if ok != (c.want != nil) || ok && !end.Equal(time.Unix(1_800_005_400, 0)) {
			t.Errorf("%s: the window ends at %v, %v", name, end, ok)
		}
	}
	bad := &bootstrap.Bootstrap{Protocol: static.Protocol, Window: types.StringValue("soon")}
	if got, err := (plan{role: roleFounder, boot: bad, founders: []string{"a"}}).windowOf("a", now); err == nil {
		t.Errorf("a window that is none gives %v", got)
	}
}

// The attributes that etcd_member takes from a configuration determine how the
// member enters its cluster.
func TestMemberOf(t *testing.T) {
	object := func(founder types.Bool, founders types.Int64) types.Object {
		return types.ObjectValueMust(MemberTypes(), map[string]attr.Value{
			"id": types.StringValue("config-0000000000000001"), "name": types.StringValue("a"), "peer_urls": types.SetNull(types.StringType), "founder": founder, "founders": founders,
		})
	}
	for name, c := range map[string]struct {
		object    types.Object
		id        types.String
		bootstrap membership.Bootstrap
		awaits    bool
	}{
		"founder":           {object(types.BoolValue(true), types.Int64Value(3)), types.StringValue("config-0000000000000001"), membership.Founder, true},
		"of an open number": {object(types.BoolValue(true), types.Int64Value(0)), types.StringValue("config-0000000000000001"), membership.Founder, true},
		"awaiting":          {object(types.BoolValue(false), types.Int64Value(3)), types.StringValue("config-0000000000000001"), membership.Joiner, true},
		"joiner":            {object(types.BoolValue(false), types.Int64Null()), types.StringValue("config-0000000000000001"), membership.Joiner, false},
		"written by hand":   {object(types.BoolNull(), types.Int64Null()), types.StringValue("config-0000000000000001"), membership.Joiner, false},
		"null":              {types.ObjectNull(MemberTypes()), types.StringNull(), membership.Joiner, false},
		"of no resource":    {types.Object{}, types.StringNull(), membership.Joiner, false},
		"unknown":           {types.ObjectUnknown(MemberTypes()), types.StringUnknown(), membership.Joiner, true},
	} {
		m := MemberOf(c.object)
		if !m.ID.Equal(c.id) || m.Bootstrap() != c.bootstrap || m.AwaitsCluster() != c.awaits {
			t.Errorf("%s: %v, bootstrap %d, awaits %v", name, m.ID, m.Bootstrap(), m.AwaitsCluster())
		}
	}
}

func TestNewID(t *testing.T) {
	a, err := newID(rand.Reader)
	b, again := newID(rand.Reader)
	if err != nil || again != nil || a == b || !isID.MatchString(a) {
		t.Errorf("%q, %v and %q, %v", a, err, b, again)
	}
}

func TestRoleIsDecidedFromTheBootstrap(t *testing.T) {
	ctx := context.Background()
	founders, diags := types.SetValueFrom(ctx, types.StringType, []string{"a", "b", "c"})
	if diags.HasError() {
		t.Fatal(diags)
	}
	for _, c := range []struct {
		name     string
		boot     *bootstrap.Bootstrap
		member   string
		wantRole role
	}{
		{"no bootstrap", nil, "a", roleJoiner},
		{"complete", &bootstrap.Bootstrap{Complete: types.BoolValue(true), Founders: founders}, "a", roleJoiner},
		{"a founder", &bootstrap.Bootstrap{Complete: types.BoolValue(false), Founders: founders}, "a", roleFounder},
		{"not a founder", &bootstrap.Bootstrap{Complete: types.BoolValue(false), Founders: founders}, "d", roleAwaiting},
		{"only the size is known", &bootstrap.Bootstrap{Complete: types.BoolValue(false), Size: types.Int64Value(3)}, "d", roleFounder},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model{Name: types.StringValue(c.member), Bootstrap: types.ObjectNull(bootstrap.AttrTypes())}
			if c.boot != nil {
				m.Bootstrap = c.boot.Object()
			}
			var diags diag.Diagnostics
			p := m.planOf(ctx, &diags)
			if diags.HasError() || p.role != c.wantRole {
				t.Errorf("role %q, want %q (%v)", p.role, c.wantRole, diags)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	at := []string{"http://10.0.0.4:2380"}
	own := attribute.SetOf(at)
	other := membership.Member{ID: 1, Name: "a", PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: []string{"http://10.0.0.1:2379"}}
	newer := membership.Member{ID: 2, Name: "b", PeerURLs: []string{"http://10.0.0.2:2380"}, ClientURLs: []string{"http://10.0.0.2:2379"}}
	announced := membership.Member{ID: 4, PeerURLs: at, Learner: true}
	started := membership.Member{ID: 4, Name: "d", PeerURLs: at, ClientURLs: []string{"http://10.0.0.4:2379"}}
	const frozen = "a=http://10.0.0.1:2380,d=http://10.0.0.4:2380"
	for _, c := range []struct {
		name, before, initial, want string
		members                     []membership.Member
	}{
		{"not there yet", statusPending, frozen, statusPending, []membership.Member{other}},
		{"not there yet, and the members have changed", statusPending, frozen, statusStale, []membership.Member{other, newer}},
		{"stale no more", statusStale, frozen, statusPending, []membership.Member{other}},
		{"announced", statusPending, frozen, statusAnnounced, []membership.Member{other, announced}},
		{"started", statusAnnounced, frozen, statusMember, []membership.Member{other, started}},
		{"a member that lost its URLs for a moment", statusMember, frozen, statusMember, []membership.Member{other, announced}},
		{"gone", statusMember, frozen, statusRemoved, []membership.Member{other, newer}},
		{"gone for long", statusRemoved, frozen, statusRemoved, []membership.Member{other}},
		{"a founder by discovery", statusPending, "", statusPending, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model{Name: types.StringValue("d"), PeerURLs: own, Status: types.StringValue(c.before), InitialCluster: types.StringValue(c.initial)}
			if got := m.statusIn(membership.Snapshot{Members: c.members}); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	t.Run("a founder", func(t *testing.T) {
		m := model{Name: types.StringValue("d"), PeerURLs: own, Status: types.StringValue(statusPending), Founder: types.BoolValue(true)}
		elsewhere := started
		elsewhere.PeerURLs = []string{"http://10.0.0.9:2380"}
		for _, c := range []struct {
			name, want string
			confirmed  bool
			members    []membership.Member
		}{
			{"without which the cluster was formed", statusStale, true, []membership.Member{other, newer}},
			{"without which it may have been formed", statusPending, false, []membership.Member{other, newer}},
			{"at another address", statusPending, true, []membership.Member{other, elsewhere}},
			{"in the list", statusMember, true, []membership.Member{other, started}},
		} {
			if got := m.statusIn(membership.Snapshot{Members: c.members, Linearizable: c.confirmed}); got != c.want {
				t.Errorf("%s: got %s, want %s", c.name, got, c.want)
			}
		}
	})
	t.Run("by name, where the addresses are only known on the machine", func(t *testing.T) {
		m := model{Name: types.StringValue("d"), Status: types.StringValue(statusPending)}
		if got := m.statusIn(membership.Snapshot{Members: []membership.Member{other, started}}); got != statusMember {
			t.Errorf("got %s", got)
		}
	})
}
