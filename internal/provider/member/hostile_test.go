// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// refreshed reads the resource of a member through the endpoints of s.
func refreshed(t *testing.T, name string, id, cluster uint64, s connection.Settings) (present bool, warned []string) {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	s.DialTimeout, s.RequestTimeout = time.Second, 3*time.Second
	m := model{role: roleVoter, common: common{
		ID: types.StringValue(membership.MemberID(id).String()), ClusterID: types.StringValue(membership.ClusterID(cluster).String()),
		Name: types.StringValue(name), PeerURLs: types.SetNull(types.StringType), ClientURLs: types.SetNull(types.StringType),
		Endpoints: types.ListNull(types.StringType), Environment: types.MapNull(types.StringType),
	}}
	ctx := etcdtest.WaitContext(t)
	var diags diag.Diagnostics
	present = m.refresh(ctx, &backend.Backend{Run: backend.NewRun(), Pool: pool, Settings: s}, &diags)
	if diags.HasError() {
		t.Fatal(diags)
	}
	for _, d := range diags {
		warned = append(warned, d.Summary())
	}
	return present, warned
}

// A member is dropped from the state if a majority reports that it is gone, but not
// if a single endpoint does: not a lying endpoint, and not the only reachable one.
func TestOneListDropsNobody(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	liar := etcdtest.NewLiar(t, "127.0.0.10", etcdtest.Lies{})
	b.Advertise(t, b.Member("c"), liar.URL)
	lies := etcdtest.Truth(t, b.Member("c"))
	cluster, gone := lies.Status.Header.ClusterId, b.MemberID(t, b.Member("b"))
	lies.Members.Members = slices.DeleteFunc(lies.Members.Members, func(m *pb.Member) bool { return m.ID == gone })
	liar.Tell(lies)
	if present, warned := refreshed(t, "b", gone, cluster, connection.Settings{Endpoints: []string{liar.URL}}); !present {
		t.Errorf("a lying endpoint has b dropped; warned of %q", warned)
	}

	const never = 0xbad // a member that the cluster does not have
	if present, warned := refreshed(t, "x", never, cluster, connection.Settings{Endpoints: b.Endpoints()[:1]}); present || len(warned) > 0 {
		t.Errorf("a majority does not have x, and it is kept; warned of %q", warned)
	}
	alone := connection.Settings{Endpoints: b.Endpoints()[:1], AddressMap: map[string]string{}}
	for _, e := range append(b.Endpoints()[1:], liar.URL) {
		alone.AddressMap[e] = b.Endpoints()[0]
	}
	present, warned := refreshed(t, "x", never, cluster, alone)
	if !present || !slices.Equal(warned, []string{"Cannot confirm that member x is gone"}) {
		t.Errorf("through one address x is kept: %v, warned of %q", present, warned)
	}
}
