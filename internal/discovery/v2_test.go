// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

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

func TestV2StatusGoesByCreatedIndex(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	r := NewV2(settings(c.Endpoints()...), DefaultPrefix, &connection.Pool{})
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

func TestV2Unreachable(t *testing.T) {
	t.Parallel()
	off := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35})
	never := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V36})
	on := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	dead := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	ctx := etcdtest.WaitContext(t)

	r := NewV2(settings(dead, off.Endpoints()[0], never.Endpoints()[0]), DefaultPrefix, &connection.Pool{})
	want := "no endpoint answered; " + dead + ": connection refused; " + off.Endpoints()[0] + ": " + connection.ErrNoV2.Error() + "; " + never.Endpoints()[0] + ": " + connection.ErrNoV2.Error()
	_, err := r.Create(ctx, token3, 3)
	wantType[*connection.Unreachable](t, err)
	if err.Error() != want || is[*UnsureError](err) {
		t.Errorf("got %q, want %q", err, want)
	}
	_, err = r.Status(ctx, token3)
	wantType[*connection.Unreachable](t, err)
	wantType[*connection.Unreachable](t, r.Delete(ctx, token3))

	r = NewV2(settings(dead, off.Endpoints()[0], on.Endpoints()[0]), DefaultPrefix, &connection.Pool{})
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
	_, err = NewV2(s, DefaultPrefix, &connection.Pool{}).Create(etcdtest.WaitContext(t), token3, 3)
	wantDenied(t, err)
	s.Username, s.Password = "root", "wrong"
	_, err = NewV2(s, DefaultPrefix, &connection.Pool{}).Create(etcdtest.WaitContext(t), token3, 3)
	wantDenied(t, err)
	if want := c.Endpoints()[0] + ": The request requires user authentication (Insufficient credentials)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	s.Password = "s3cret"
	r := NewV2(s, DefaultPrefix, &connection.Pool{})
	mustCreate(t, r, token3, 3)
	mustStatus(t, r, token3)
	if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// Test a discovery cluster with TLS and client certificates over both protocols.
func TestRegistryWithTLS(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true, TLS: pki})
	s := settings(c.Endpoints()...)
	s.TLS = pki.ClientConfig(pki.Client("registrar"))
	mustCreate(t, NewV2(s, DefaultPrefix, &connection.Pool{}), token3, 3)
	mustStatus(t, NewV2(s, DefaultPrefix, &connection.Pool{}), token3)
	mustCreate(t, newV3(t, s, DefaultPrefix), token3, 3)
	mustStatus(t, newV3(t, s, DefaultPrefix), token3)

	foreign := etcdtest.NewPKI(t)
	s.TLS = foreign.ClientConfig(foreign.Client("registrar"))
	for _, r := range []Registry{NewV2(s, DefaultPrefix, &connection.Pool{}), newV3(t, s, DefaultPrefix)} {
		_, err := r.Create(etcdtest.WaitContext(t), "other", 3)
		wantType[*connection.Unreachable](t, err)
		if !strings.Contains(err.Error(), ": certificate signed by an unknown authority") {
			t.Errorf("%T: got %v", r, err)
		}
	}
}
