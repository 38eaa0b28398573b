// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// elsewhere returns the target of redirects and a request counter.
func elsewhere(t *testing.T) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte("http://127.7.0.1:1/" + token3))
	}))
	t.Cleanup(server.Close)
	return server, &asked
}

// Test that redirects of a TLS service to plain http or another host are not followed.
func TestServiceRedirect(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	service := etcdtest.NewDiscoveryService(t, pki)
	other, asked := elsewhere(t)
	for to, want := range map[string]string{
		other.URL: "redirects to plain http: ",
		strings.Replace(service.URL, "127.0.0.1", "localhost", 1): "redirects to another host: ",
	} {
		server := pki.WebServer(http.RedirectHandler(to+"/new", http.StatusFound))
		s := settings()
		s.TLS = pki.ClientConfig(pki.Client("anyone"))
		_, err := NewService(s, server.URL, &connection.Pool{}).Create(t.Context(), "", 3)
		if err == nil || !strings.Contains(err.Error(), want+`"`+to) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if asked.Load() != 0 || service.Minted() != 0 {
		t.Errorf("asked in the clear %d times, at another host %d times", asked.Load(), service.Minted())
	}
}
