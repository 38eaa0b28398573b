// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The action needs the role root, and reports that to a user with read and
// write access to all keys. Both lists need no role at all.
func TestPermissionsOfActions(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() { // up to 3.5 the error text differs
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v, Password: "Tr0ub4dor"})
			for _, command := range [][]string{
				{"role", "add", "app"}, {"role", "grant-permission", "app", "--prefix=true", "readwrite", ""},
				{"user", "add", "app:pw"}, {"user", "grant-role", "app", "app"}, {"user", "add", "viewer:pw"},
			} {
				if _, err := b.Etcdctl(command...); err != nil {
					t.Fatal(err)
				}
			}
			as := func(name string) *terraform {
				return newTerraform(t, b.Endpoints(), map[string]tftypes.Value{"username": text(name), "password": text("pw")})
			}
			as("app").run("etcd_defragment", nil).mustSay("error: Cannot defragment the members: .*permission denied.*" + regexp.QuoteMeta("\n\n  etcdctl user grant-role NAME root"))
			for _, name := range []string{"etcd_member", "etcd_learner"} {
				want := map[string]int{"etcd_member": 3}[name]
				if got, diags := as("viewer").listed(name, 0, true); len(got) != want || len(diags) > 0 {
					t.Errorf("%s: %v, %v", name, got, diags)
				}
			}
		})
	}
}
