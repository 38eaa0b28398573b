// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestV3StatusGoesByCreateRevision(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	client := c.Client(t)
	r := newV3(t, settings(c.Endpoints()...), DefaultPrefix)
	mustCreate(t, r, token3, 2)
	members := DefaultPrefix + "/" + token3 + "/members/"
	put(t, client, members+"ff", "late-in-the-alphabet=http://10.0.0.1:2380")
	put(t, client, members+"00zz", "not-an-id=http://10.0.0.9:2380")
	put(t, client, members+"ee", "no-url")
	put(t, client, members+"aa", "second=http://10.0.0.2:2380,second=http://10.0.1.2:2380")
	put(t, client, members+"01", "too-late=http://10.0.0.3:2380")
	// Written again, but registered first.
	put(t, client, members+"ff", "late-in-the-alphabet=http://10.0.0.7:2380")

	got := mustStatus(t, r, token3)
	want := Status{Size: 2, Members: []Member{
		{ID: 0xff, Name: "late-in-the-alphabet", PeerURLs: []string{"http://10.0.0.7:2380"}},
		{ID: 0xaa, Name: "second", PeerURLs: []string{"http://10.0.0.2:2380", "http://10.0.1.2:2380"}},
	}}
	if !reflect.DeepEqual(got, want) || !got.Complete() {
		t.Errorf("got %+v, want %+v, complete", got, want)
	}

	for _, value := range []string{"0", "-1", "abc", " 3", "3\n", ""} {
		put(t, client, DefaultPrefix+"/"+token3+"/_config/size", value)
		s, err := r.Status(t.Context(), token3)
		var bad *BadSizeError
		if !errors.As(err, &bad) || bad.Value != value || len(s.Members) != 3 {
			t.Errorf("size %q: got %v with %d members, want a bad size with 3", value, err, len(s.Members))
		}
		_, err = r.Create(t.Context(), token3, 3)
		wantType[*ExistsError](t, err)
	}
}

// Test that one of two concurrent applies creates the token.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	for name, r := range map[string]Registry{
		"v3": newV3(t, settings(c.Endpoints()...), DefaultPrefix), "v2": NewV2(settings(c.Endpoints()...), DefaultPrefix, &connection.Pool{}),
	} {
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.Create(t.Context(), token3, 3)
				results <- err
			}()
		}
		first, second := <-results, <-results
		if first != nil {
			first, second = second, first
		}
		if first != nil || !is[*ExistsError](second) {
			t.Errorf("%s: got %v and %v, want one success and one that it exists", name, first, second)
		}
	}
}

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
