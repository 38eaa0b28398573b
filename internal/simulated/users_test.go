// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// secure makes the users of the guide "Network and security", each with a password that
// follows from its name, and lets nobody in without a login from then on.
func (w *world) secure() {
	w.Helper()
	for _, line := range append([]string{"etcdctl user add root", "etcdctl user grant-role root root"}, acctest.Permissions(w)...) {
		w.etcdctl(line)
	}
	_, err := w.client("a").AuthEnable(w.Context())
	w.must(err)
}

// etcdctl runs a command of root that concerns users.
func (w *world) etcdctl(line string) {
	w.Helper()
	c, f, err := w.client("a"), strings.Fields(line), error(nil)
	switch f[1] + " " + f[2] {
	case "user add":
		_, err = c.UserAdd(w.Context(), f[3], f[3]+"-pw")
	case "user grant-role":
		_, err = c.UserGrantRole(w.Context(), f[3], f[4])
	case "role add":
		_, err = c.RoleAdd(w.Context(), f[3])
	case "role grant-permission":
		kind, bad := clientv3.StrToPermissionType(f[5])
		w.must(bad)
		_, err = c.RoleGrantPermission(w.Context(), f[3], f[6], clientv3.GetPrefixRangeEnd(f[6]), kind)
	default:
		w.Fatalf("%q is no known command", line)
	}
	w.must(err)
}

// as are the arguments of a provider block that logs in.
func (w *world) as(names, user string) driver.Values {
	v := w.provider(names)
	v["username"], v["password"] = user, user+"-pw"
	return v
}

// TestPermissions shows that each feature works for the user that the guide makes for it.
func TestPermissions(t *testing.T) { tell(t, "users.txt") }
