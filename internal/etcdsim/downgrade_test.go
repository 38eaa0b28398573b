// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Every member says that the cluster is being downgraded, until that is cancelled.
func downgradeCase(tb etcdtest.TB, s system) {
	if !s.version().from36() {
		same(tb, "downgrade", open(tb, s.servers()[0])[0].status(tb).DowngradeInfo, nil)
		return
	}
	ms := open(tb, s.servers()...)
	m := ms[0]
	states := func(want string) {
		tb.Helper()
		for _, m := range ms {
			revision(tb, m) // so that it has applied it
			info := m.status(tb).DowngradeInfo
			same(tb, "downgrade", line(info.GetEnabled(), info.GetTargetVersion()), want)
		}
	}
	_, err := m.Downgrade(within(tb), clientv3.DowngradeEnable, "3.1")
	refused(tb, err, rpctypes.ErrInvalidDowngradeTargetVersion)
	var enabled *clientv3.DowngradeResponse
	etcdtest.Eventually(tb, "a downgrade", func() (err error) { // the leader sets the version of a new cluster
		enabled, err = m.Downgrade(within(tb), clientv3.DowngradeEnable, s.version().before())
		if err != nil && !errors.Is(err, rpctypes.ErrInvalidDowngradeTargetVersion) {
			tb.Fatalf("%v", err)
		}
		return err
	})
	header(tb, m, (*pb.DowngradeResponse)(enabled).GetHeader(), revision(tb, m))
	states("true " + s.version().before() + ".0")
	cancelled, err := ms[1].Downgrade(within(tb), clientv3.DowngradeCancel, "")
	ok(tb, err)
	header(tb, ms[1], (*pb.DowngradeResponse)(cancelled).GetHeader(), revision(tb, m))
	states("false")
}
