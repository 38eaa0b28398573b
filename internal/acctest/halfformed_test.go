// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A member that registered and never served leaves a token that forms no cluster. The
// refusal of another etcd_cluster says how to see the registration, and its commands lead
// to a cluster.
func TestAccHalfFormedToken(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Protocol: "v3", Names: []string{"a"}})
	f.Apply("-target=etcd_cluster.this").MustSucceed()
	registry, ctx := f.Registry.Client(t), etcdtest.WaitContext(t)
	tokens, err := registry.Get(ctx, "/_etcd/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(tokens.Kvs) != 1 {
		t.Fatalf("tokens: %v, %v", tokens, err)
	}
	token, _, _ := strings.Cut(string(tokens.Kvs[0].Key), "/_config")
	if _, err := registry.Put(ctx, token+"/members/1f", "a=http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	f.Run("taint", "etcd_cluster.this").MustSucceed()
	said := f.Apply().MustFail().Says("The token has formed a cluster").Detail
	for _, command := range []string{"apply -refresh-only -target='etcd_discovery_token.this'", "untaint 'etcd_cluster.this'", "destroy -refresh=false\n  terraform apply"} {
		if !strings.Contains(said, "\n\n  terraform "+command) {
			t.Errorf("no command %q in %s", command, said)
		}
	}
	f.Apply("-refresh-only", "-target=etcd_discovery_token.this").MustSucceed()
	if shown := fmt.Sprint(f.State("etcd_discovery_token.this")["members"]); !strings.Contains(shown, "http://127.0.0.1:1") {
		t.Errorf("the registrations are %s", shown)
	}
	f.Destroy("-refresh=false").MustSucceed()
	f.Form()
}
