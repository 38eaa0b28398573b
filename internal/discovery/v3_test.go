// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestV3Denied(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	client := c.Client(t)
	ctx := etcdtest.WaitContext(t)
	key := DefaultPrefix + "/mine/"
	for _, step := range []func() error{
		func() error { _, err := client.RoleAdd(ctx, "registrar"); return err },
		func() error { _, err := client.UserAdd(ctx, "registrar", "pass"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "registrar", "registrar"); return err },
		func() error {
			_, err := client.RoleGrantPermission(ctx, "registrar", key, DefaultPrefix+"/mine0", clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := client.UserAdd(ctx, "root", "s3cret"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}

	s := settings(c.Endpoints()...)
	s.RequestTimeout = etcdtest.WaitLimit // a login may take long on a busy machine
	_, err := newV3(t, s, DefaultPrefix).Create(ctx, "mine", 3)
	wantDenied(t, err)
	s.Username, s.Password = "registrar", "wrong"
	_, err = newV3(t, s, DefaultPrefix).Create(ctx, "mine", 3)
	wantDenied(t, err)
	if strings.Contains(err.Error(), "wrong") && !strings.Contains(err.Error(), "wrong user name or password") {
		t.Errorf("the password is in the error: %v", err)
	}
	s.Password = "pass"
	r := newV3(t, s, DefaultPrefix)
	_, err = r.Create(ctx, "theirs", 3)
	wantDenied(t, err)
	// The minimal permission: the prefix of the tokens.
	mustCreate(t, r, "mine", 3)
	mustStatus(t, r, "mine")
	if err := r.Delete(ctx, "mine"); err != nil {
		t.Errorf("delete: %v", err)
	}
}
