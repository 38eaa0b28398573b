// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestV3Create(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.Options{Version: version})
			r := newV3(t, settings(c.Endpoints()...), DefaultPrefix)
			ctx := etcdtest.WaitContext(t)

			if place := mustCreate(t, r, token3, 3); place != (Place{Token: token3}) {
				t.Errorf("place: got %+v", place)
			}
			want := map[string]string{"/_etcd/registry/" + token3 + "/_config/size": "3"}
			if got := dump(t, c.Client(t)); !reflect.DeepEqual(got, want) {
				t.Errorf("keys: got %v, want %v", got, want)
			}
			if got := mustStatus(t, r, token3); got.Size != 3 || len(got.Members) != 0 || got.Complete() {
				t.Errorf("status: got %+v", got)
			}

			// The token is never overwritten, not even with the same size.
			for _, size := range []int{5, 3} {
				_, err := r.Create(ctx, token3, size)
				var exists *ExistsError
				if !errors.As(err, &exists) || exists.Size != 3 {
					t.Errorf("create again for %d: got %v, want that it exists for 3", size, err)
				}
			}
			if got := dump(t, c.Client(t)); !reflect.DeepEqual(got, want) {
				t.Errorf("keys after the second create: got %v, want %v", got, want)
			}

			// A token with the same prefix is kept.
			mustCreate(t, r, token3+"0", 1)
			if err := r.Delete(ctx, token3); err != nil {
				t.Errorf("delete: %v", err)
			}
			wantError(t, r.Delete(ctx, token3), ErrNotFound)
			_, err := r.Status(ctx, token3)
			wantError(t, err, ErrNotFound)
			if got := mustStatus(t, r, token3+"0"); got.Size != 1 {
				t.Errorf("the neighbour: got %+v", got)
			}
		})
	}
}

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

// Test that real members form a cluster from the token and a fourth is rejected.
func TestV3FormsACluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ registry, members etcdtest.Version }{
		{etcdtest.V35, etcdtest.V37},
		{etcdtest.V36, etcdtest.V36},
		{etcdtest.V37, etcdtest.V37},
	} {
		if !etcdtest.Runs(test.registry) {
			continue
		}
		t.Run(fmt.Sprintf("%s-registry-%s-members", test.registry, test.members), func(t *testing.T) {
			t.Parallel()
			registry := etcdtest.Start(t, 1, etcdtest.Options{Version: test.registry})
			r := newV3(t, settings(registry.Endpoints()...), DefaultPrefix)
			place := mustCreate(t, r, token3, 3)

			initial := func(name string) *etcdtest.Process {
				p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: test.members})
				p.Env["ETCD_DISCOVERY_TOKEN"] = place.Token
				p.Env["ETCD_DISCOVERY_ENDPOINTS"] = strings.Join(registry.Endpoints(), ",")
				p.Start()
				return p
			}
			processes := []*etcdtest.Process{initial("a")}
			etcdtest.Until(t, "a registers", func() bool { return len(mustStatus(t, r, token3).Members) == 1 })
			if mustStatus(t, r, token3).Complete() {
				t.Error("complete with one of three")
			}
			processes = append(processes, initial("b"), initial("c"))
			allReady(t, processes)

			s := mustStatus(t, r, token3)
			if !s.Complete() || len(s.Members) != 3 || s.Members[0].Name != "a" || s.Members[0].PeerURLs[0] != processes[0].PeerURL() {
				t.Errorf("status: got %+v", s)
			}
			if ids := clusterIDs(t, processes); len(ids) != 1 {
				t.Errorf("clusters formed: %v, want one", ids)
			}

			fourth := initial("d")
			if code, err := fourth.WaitExit(etcdtest.WaitContext(t)); err != nil || code != 1 {
				t.Errorf("fourth: exit %d, %v; want 1", code, err)
			}
			if !strings.Contains(fourth.Log(), "discovery: cluster is full") {
				t.Error("the fourth process was not told that the cluster is full")
			}
		})
	}
}

// Test that one of two concurrent applies creates the token.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	for name, r := range map[string]Registry{
		"v3": newV3(t, settings(c.Endpoints()...), DefaultPrefix), "v2": NewV2(settings(c.Endpoints()...), DefaultPrefix),
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

// Test a discovery cluster that fails between the create and its answer. While
// it is unreachable, the outcome is unsure. Later the same create succeeds, and
// the token exists once.
func TestV3AnswerLost(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	proxy := newSwallower(t, strings.TrimPrefix(c.Endpoints()[0], "http://"))
	s := settings("http://" + proxy.Addr())
	s.RequestTimeout = time.Second

	t.Run("for good", func(t *testing.T) {
		proxy.swallowAfter(2) // the read, then the transaction
		_, err := newV3(t, s, DefaultPrefix).Create(within(t, 3*time.Second), "lost", 3)
		var unsure *UnsureError
		if !errors.As(err, &unsure) || unsure.Place.Token != "lost" || !is[*connection.Unreachable](err) {
			t.Fatalf("got %v, want an unsure one that lists the endpoints", err)
		}
		if got := dump(t, c.Client(t)); got[DefaultPrefix+"/lost/_config/size"] != "3" {
			t.Errorf("the write has not got through, so this tests nothing: %v", got)
		}
	})
	t.Run("and back", func(t *testing.T) {
		proxy.swallowAfter(2)
		r := newV3(t, s, DefaultPrefix)
		pauses := 0
		r.sleep = func(context.Context, time.Duration) error {
			pauses++
			proxy.heal()
			return nil
		}
		if _, err := r.Create(etcdtest.WaitContext(t), "back", 3); err != nil {
			t.Fatal(err)
		}
		if pauses != 1 {
			t.Errorf("paused %d times, want once", pauses)
		}
	})
	t.Run("an older token is not taken for ours", func(t *testing.T) {
		proxy.swallowAfter(1) // not even the read is answered
		r := newV3(t, s, DefaultPrefix)
		_, err := r.Create(within(t, 5*time.Second), "back", 3)
		wantType[*connection.Unreachable](t, err)
		if is[*UnsureError](err) {
			t.Error("nothing was written, so the outcome is known")
		}
	})
}
