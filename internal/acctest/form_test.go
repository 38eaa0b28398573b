// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A cluster forms by a token, grows, and rolls without the token, which the destroy
// removes. The other protocols are tested with the real script in package joinscript, and
// with the provider in package discoverytoken.
func TestAccDiscovery(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Registry: etcdtest.V35, Version: etcdtest.V37})
	f.Form()
	f.Plan().MustBeEmpty()
	f.Add("d")
	f.Form()
	f.Plan().MustBeEmpty()
	f.Drop("d")
	f.Form()
	f.Image = "two"
	before := f.MemberIDs()
	f.Form()
	f.MustHaveReplaced(before, "a")
	f.Destroy().MustSucceed()
	f.MustBeGone()
	left, err := f.Registry.Client(t).Get(etcdtest.WaitContext(t), "/_etcd/registry/", clientv3.WithPrefix())
	if err != nil || len(left.Kvs) > 0 {
		t.Errorf("left in the discovery cluster: %v, %v", left, err)
	}
}
