// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// With any protocol, one apply forms the cluster, and a roll needs no token. With v3 a
// fourth node joins, and the destroy removes the token.
func TestAccDiscovery(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	for name, o := range map[string]FleetOptions{
		"v2":      {Protocol: "v2", Registry: etcdtest.V35, Version: etcdtest.V35},
		"v3":      {Protocol: "v3", Registry: etcdtest.V35, Version: etcdtest.V37},
		"service": {Protocol: "service", Service: etcdtest.NewDiscoveryService(t, pki), RegistryCA: pki.CAFile, Version: etcdtest.V36},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, o)
			f.Form()
			f.Plan().MustBeEmpty()
			if o.Protocol == "v3" {
				f.Add("d")
				f.Form()
				f.Plan().MustBeEmpty()
				f.Drop("d")
				f.Form()
			}
			f.Image = "two"
			before := f.MemberIDs()
			f.Form()
			f.MustHaveReplaced(before, "a")
			if s := o.Service; s != nil && s.Minted() != 1 {
				t.Errorf("%d tokens were created, want 1", s.Minted())
			}
			f.Destroy().MustSucceed()
			f.MustBeGone()
			if o.Protocol == "v3" {
				left, err := f.Registry.Client(t).Get(etcdtest.WaitContext(t), "/_etcd/registry/", clientv3.WithPrefix())
				if err != nil || len(left.Kvs) > 0 {
					t.Errorf("left in the discovery cluster: %v, %v", left, err)
				}
			}
		})
	}
}

// backup saves a snapshot, and returns its path and its SHA-256.
func backup(ctx context.Context, t *testing.T, client *clientv3.Client) (path, sum string) {
	t.Helper()
	stream, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, strings.ToLower(fmt.Sprintf("%x", sha256.Sum256(text)))
}
