// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// DiscoveryService answers like discovery.etcd.io, backed by an etcd 3.5 that
// serves the v2 API.
type DiscoveryService struct {
	// URL is the URL of the service, without a trailing slash.
	URL string
	// Minted is the number of tokens that the service has created.
	Minted atomic.Int32

	proxy http.Handler
}

// NewDiscoveryService starts a service. It stops when the test ends.
func NewDiscoveryService(tb TB) *DiscoveryService {
	tb.Helper()
	c := Start(tb, 1, Options{Names: []string{"backend"}, Version: V35, V2: true})
	registry, err := url.Parse(c.Endpoints()[0] + "/v2/keys/_etcd/registry")
	must.Succeed(tb, err)
	s := &DiscoveryService{proxy: &httputil.ReverseProxy{
		Transport:      &http.Transport{DisableKeepAlives: true},
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(registry) },
		ModifyResponse: shorten,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "unable to GET token", http.StatusBadRequest)
		},
	}}
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		// Members that wait for other members hold a request open. Close the
		_ = server.Config.Close() // listener first: Close would wait for clients that dial again
		server.Close()
	})
	s.URL = server.URL
	return s
}

// shorten makes the keys of an answer those of the service.
func shorten(resp *http.Response) error {
	if resp.StatusCode == http.StatusNotFound {
		return errors.New("no token")
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(`"/_etcd/registry/`), []byte(`"/`))))
	resp.Header.Del("Content-Length")
	return err
}

// ServeHTTP answers as the real server of discovery.etcd.io was observed to.
func (s *DiscoveryService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/new":
		token := fmt.Sprintf("%032x", s.Minted.Add(1))
		size := strings.NewReader("value=" + r.URL.Query().Get("size"))
		put := httptest.NewRequest(http.MethodPut, "/"+token+"/_config/size?prevExist=false", size)
		put.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		minted := httptest.NewRecorder()
		if s.proxy.ServeHTTP(minted, put); minted.Code != http.StatusCreated {
			http.Error(w, "unable to generate token", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.URL+"/"+token)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		s.proxy.ServeHTTP(w, r)
	}
}
