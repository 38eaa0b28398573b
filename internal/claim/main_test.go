// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// storeAt returns the store of an API at the endpoints.
func storeAt(t *testing.T, api string, pool *connection.Pool, endpoints ...string) claim.Store {
	s := connection.Settings{Endpoints: endpoints, DialTimeout: time.Second, RequestTimeout: 2 * time.Second}
	t.Cleanup(func() { _ = pool.Close() })
	if api == "v2" {
		return claim.NewV2(s, pool)
	}
	return claim.NewV3(cluster.New(s, pool), s, pool)
}

// everyAPI runs a test with a store of each API, in a simulated cluster of one member.
func everyAPI(t *testing.T, test func(t *testing.T, s claim.Store, n *etcdsim.Network)) {
	t.Parallel()
	for _, api := range []string{"v2", "v3"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &etcdsim.Network{V2: true}
				n.Form("3.5.35", "a")
				test(t, storeAt(t, api, &connection.Pool{World: n.Run(api)}, etcdsim.ClientURL("a")), n)
			})
		})
	}
}

const key = "/running/web1"

func isLost(err error) bool { return errors.As(err, new(*claim.LostError)) }
