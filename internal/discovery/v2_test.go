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

func TestV2Denied(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	for _, do := range [][3]string{
		{http.MethodPut, "users/root", `{"user":"root","password":"s3cret"}`}, {http.MethodPut, "enable", ""},
		{http.MethodDelete, "roles/guest", ""}, // which has all permissions until then
	} {
		req, err := http.NewRequestWithContext(t.Context(), do[0], c.Endpoints()[0]+"/v2/auth/"+do[1], strings.NewReader(do[2]))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.SetBasicAuth("root", "s3cret")
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil || resp.StatusCode/100 != 2 {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
	}
	s := settings(c.Endpoints()...)
	s.RequestTimeout = etcdtest.WaitLimit // a login may take long on a busy machine
	for _, user := range []string{"", "root"} {
		s.Username, s.Password = user, "wrong"
		_, err := NewV2(s, DefaultPrefix, &connection.Pool{}).Create(etcdtest.WaitContext(t), token3, 3)
		if want := c.Endpoints()[0] + ": The request requires user authentication (Insufficient credentials)"; !connection.IsDenied(err) || err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	s.Password = "s3cret"
	r := NewV2(s, DefaultPrefix, &connection.Pool{})
	mustCreate(t, r, token3, 3)
	mustStatus(t, r, token3)
	if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
		t.Errorf("delete: %v", err)
	}
}
