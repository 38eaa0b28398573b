// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// request sends a request like curl and returns the answer.
func request(t *testing.T, method, url, form string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(etcdtest.WaitContext(t), method, url, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestV2Create(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.WithV2() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.Options{Version: version, V2: true})
			r := NewV2(settings(c.Endpoints()...), DefaultPrefix)
			ctx := etcdtest.WaitContext(t)
			mustCreate(t, r, token3, 3)
			base := V2URL(c.Endpoints()[0], DefaultPrefix, token3)
			got := request(t, http.MethodGet, base+"/_config/size", "")
			if !strings.Contains(got, `"value":"3"`) || strings.Contains(got, "ttl") {
				t.Errorf("the size is %s, want 3 without a time to live", got)
			}
			if got := mustStatus(t, r, token3); got.Size != 3 || len(got.Members) != 0 {
				t.Errorf("status: got %+v", got)
			}
			for _, size := range []int{5, 3} {
				_, err := r.Create(ctx, token3, size)
				var exists *ExistsError
				if !errors.As(err, &exists) || exists.Size != 3 {
					t.Errorf("create again for %d: got %v, want that it exists for 3", size, err)
				}
			}
			if err := r.Delete(ctx, token3); err != nil {
				t.Errorf("delete: %v", err)
			}
			wantError(t, r.Delete(ctx, token3), ErrNotFound)
			_, err := r.Status(ctx, token3)
			wantError(t, err, ErrNotFound)
		})
	}
}

func TestV2StatusGoesByCreatedIndex(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	r := NewV2(settings(c.Endpoints()...), DefaultPrefix)
	mustCreate(t, r, token3, 2)
	base := V2URL(c.Endpoints()[0], DefaultPrefix, token3)
	for _, registration := range [][2]string{
		{"ff", "first=http://10.0.0.1:2380"},
		{"00zz", "not-an-id=http://10.0.0.9:2380"},
		{"dd/ee", "deeper=http://10.0.0.8:2380"},
		{"aa", "second=http://10.0.0.2:2380,second=http://10.0.1.2:2380"},
		{"01", "too-late=http://10.0.0.3:2380"},
	} {
		request(t, http.MethodPut, base+"/"+registration[0], "value="+registration[1])
	}
	got := mustStatus(t, r, token3)
	want := Status{Size: 2, Members: []Member{
		{ID: 0xff, Name: "first", PeerURLs: []string{"http://10.0.0.1:2380"}},
		{ID: 0xaa, Name: "second", PeerURLs: []string{"http://10.0.0.2:2380", "http://10.0.1.2:2380"}},
	}}
	if !reflect.DeepEqual(got, want) || !got.Complete() {
		t.Errorf("got %+v, want %+v, complete", got, want)
	}
	request(t, http.MethodPut, base+"/_config/size", "value=abc")
	_, err := r.Status(t.Context(), token3)
	wantType[*BadSizeError](t, err)
	_, err = r.Create(t.Context(), token3, 2)
	wantType[*ExistsError](t, err)
	request(t, http.MethodDelete, base+"/_config/size", "")
	_, err = r.Status(t.Context(), token3)
	wantError(t, err, ErrNotFound)
}

func v2Founder(t *testing.T, url, name string, version etcdtest.Version) *etcdtest.Process {
	t.Helper()
	p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: version})
	p.Env["ETCD_DISCOVERY"] = url
	p.Env["ETCD_DISCOVERY_FALLBACK"] = "exit"
	return p
}

// Test that real members form a cluster from the URL and a fourth is rejected.
func TestV2FormsACluster(t *testing.T) {
	t.Parallel()
	for _, members := range append(etcdtest.WithV2(), etcdtest.V36) {
		t.Run(string(members)+"-members", func(t *testing.T) {
			t.Parallel()
			registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
			r := NewV2(settings(registry.Endpoints()...), DefaultPrefix)
			mustCreate(t, r, token3, 3)
			url := V2URL(registry.Endpoints()[0], DefaultPrefix, token3)

			processes := []*etcdtest.Process{v2Founder(t, url, "a", members)}
			processes[0].Start()
			etcdtest.Until(t, "a registers", func() bool { return len(mustStatus(t, r, token3).Members) == 1 })
			for _, name := range []string{"b", "c"} {
				p := v2Founder(t, url, name, members)
				p.Start()
				processes = append(processes, p)
			}
			allReady(t, processes)
			s := mustStatus(t, r, token3)
			if !s.Complete() || s.Members[0].Name != "a" || s.Members[0].PeerURLs[0] != processes[0].PeerURL() {
				t.Errorf("status: got %+v", s)
			}
			if ids := clusterIDs(t, processes); len(ids) != 1 {
				t.Errorf("clusters formed: %v, want one", ids)
			}
			fourth := v2Founder(t, url, "d", members)
			fourth.Start()
			if code, err := fourth.WaitExit(etcdtest.WaitContext(t)); err != nil || code != 1 {
				t.Errorf("fourth: exit %d, %v; want 1", code, err)
			}
			if !strings.Contains(fourth.Log(), "discovery: cluster is full") {
				t.Error("the fourth process was not told that the cluster is full")
			}
		})
	}
}

func TestV2Unreachable(t *testing.T) {
	t.Parallel()
	off := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35})
	never := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V36})
	on := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	dead := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	ctx := etcdtest.WaitContext(t)

	r := NewV2(settings(dead, off.Endpoints()[0], never.Endpoints()[0]), DefaultPrefix)
	want := "no endpoint answered; " + dead + ": connection refused; " + off.Endpoints()[0] + ": " + connection.ErrNoV2.Error() + "; " + never.Endpoints()[0] + ": " + connection.ErrNoV2.Error()
	_, err := r.Create(ctx, token3, 3)
	wantType[*connection.Unreachable](t, err)
	if err.Error() != want || is[*UnsureError](err) {
		t.Errorf("got %q, want %q", err, want)
	}
	_, err = r.Status(ctx, token3)
	wantType[*connection.Unreachable](t, err)
	wantType[*connection.Unreachable](t, r.Delete(ctx, token3))

	r = NewV2(settings(dead, off.Endpoints()[0], on.Endpoints()[0]), DefaultPrefix)
	mustCreate(t, r, token3, 3)
	mustStatus(t, r, token3)
}

func TestV2Denied(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	base := c.Endpoints()[0] + "/v2/auth/"
	for _, body := range [][2]string{{"users/root", `{"user":"root","password":"s3cret"}`}, {"enable", ""}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, base+body[0], strings.NewReader(body[1]))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil || resp.StatusCode/100 != 2 {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
	}
	// The guest role has all permissions until it is deleted.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, base+"roles/guest", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("root", "s3cret")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()

	s := settings(c.Endpoints()...)
	s.RequestTimeout = etcdtest.WaitLimit // a login may take long on a busy machine
	_, err = NewV2(s, DefaultPrefix).Create(etcdtest.WaitContext(t), token3, 3)
	wantDenied(t, err)
	s.Username, s.Password = "root", "wrong"
	_, err = NewV2(s, DefaultPrefix).Create(etcdtest.WaitContext(t), token3, 3)
	wantDenied(t, err)
	if want := c.Endpoints()[0] + ": The request requires user authentication (Insufficient credentials)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	s.Password = "s3cret"
	r := NewV2(s, DefaultPrefix)
	mustCreate(t, r, token3, 3)
	mustStatus(t, r, token3)
	if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func TestV2AnswerLost(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	proxy := newSwallower(t, strings.TrimPrefix(c.Endpoints()[0], "http://"))
	s := settings("http://" + proxy.Addr())
	s.RequestTimeout = time.Second

	proxy.swallowAfter(1) // the write: the first read finds no directory and does not request the size
	_, err := NewV2(s, DefaultPrefix).Create(within(t, 3*time.Second), "lost", 3)
	wantType[*UnsureError](t, err)
	if got := request(t, http.MethodGet, V2URL(c.Endpoints()[0], DefaultPrefix, "lost")+"/_config/size", ""); !strings.Contains(got, `"value":"3"`) {
		t.Fatalf("the write has not got through, so this tests nothing: %s", got)
	}
	proxy.swallowAfter(1)
	r := NewV2(s, DefaultPrefix)
	r.sleep = func(context.Context, time.Duration) error { proxy.heal(); return nil }
	mustCreate(t, r, "back", 3)
	proxy.swallowAfter(1)
	_, err = NewV2(s, DefaultPrefix).Create(within(t, 5*time.Second), "back", 3)
	wantType[*connection.Unreachable](t, err)
	if is[*UnsureError](err) {
		t.Error("nothing was written, so the outcome is known")
	}
}

// Test a discovery cluster with TLS and client certificates over both protocols.
func TestRegistryWithTLS(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true, TLS: pki})
	s := settings(c.Endpoints()...)
	s.TLS = pki.ClientConfig(pki.Client("registrar"))
	mustCreate(t, NewV2(s, DefaultPrefix), token3, 3)
	mustStatus(t, NewV2(s, DefaultPrefix), token3)
	mustCreate(t, newV3(t, s, DefaultPrefix), token3, 3)
	mustStatus(t, newV3(t, s, DefaultPrefix), token3)

	foreign := etcdtest.NewPKI(t)
	s.TLS = foreign.ClientConfig(foreign.Client("registrar"))
	for _, r := range []Registry{NewV2(s, DefaultPrefix), newV3(t, s, DefaultPrefix)} {
		_, err := r.Create(etcdtest.WaitContext(t), "other", 3)
		wantType[*connection.Unreachable](t, err)
		if !strings.Contains(err.Error(), ": certificate signed by an unknown authority") {
			t.Errorf("%T: got %v", r, err)
		}
	}
}
