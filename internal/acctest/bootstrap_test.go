// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// Two of three initial members never run: the cluster does not form, and the member
// that registered makes the token unusable. With repaired machines and another
// token it forms, without manual work on a machine or the discovery cluster.
func TestAccBootstrapThatDied(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	broken := filepath.Join(f.Machines, "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	good := f.Nodes["a"].Etcd
	f.Nodes["b"].Etcd, f.Nodes["c"].Etcd = broken, broken
	for _, n := range f.Nodes {
		n.Create = "8s"
	}
	failed := f.Apply().MustFail()
	if n := len(failed.Errors()); n != 3 {
		t.Errorf("%d errors, want one for each member:\n%s", n, failed.Report())
	}
	token := f.State("etcd_discovery_token.this")["token"]

	f.Nodes["b"].Etcd, f.Nodes["c"].Etcd = good, good
	for _, n := range f.Nodes {
		n.Create = "10m"
	}
	want := map[string]string{"etcd_discovery_token.this": "delete create"}
	for name := range f.Nodes {
		maps.Copy(want, Changes(name, "delete create"))
		want[Address("etcd_member", name)] = "create"
	}
	f.Plan("-replace=etcd_discovery_token.this").MustDo(want)
	f.Apply("-replace=etcd_discovery_token.this").MustSucceed()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
	f.Apply("-refresh-only").MustSucceed()
	now := f.State("etcd_discovery_token.this")
	if now["token"] == token || now["complete"] != true {
		t.Errorf("the token was %v and is %v, complete: %v", token, now["token"], now["complete"])
	}
}
