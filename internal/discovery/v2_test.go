// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"net/http"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func v2Founder(t *testing.T, url, name string, version etcdtest.Version) *etcdtest.Process {
	t.Helper()
	p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: version})
	p.Env["ETCD_DISCOVERY"] = url
	p.Env["ETCD_DISCOVERY_FALLBACK"] = "exit"
	return p
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
