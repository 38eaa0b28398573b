// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
)

// DiscoveryService answers like discovery.etcd.io, backed by an etcd 3.5 that
// serves the v2 API.
type DiscoveryService struct {
	// URL is the URL of the service, without a trailing slash.
	URL string
	// Registry is the base URL of the tokens in the v2 API of the backend.
	Registry string

	minted atomic.Int32
}

// NewDiscoveryService starts a service, with TLS if pki is not nil. It stops
// when the test ends.
func NewDiscoveryService(tb TB, pki *PKI) *DiscoveryService {
	tb.Helper()
	c := Start(tb, 1, Options{Names: []string{"backend"}, Version: V35, V2: true})
	s := &DiscoveryService{Registry: c.Endpoints()[0] + "/v2/keys/_etcd/registry"}
	var server *httptest.Server
	if pki != nil {
		server = pki.WebServer(s)
	} else {
		server = httptest.NewServer(s)
	}
	tb.Cleanup(func() {
		// Members that wait for other members hold a request open. Close the
		_ = server.Config.Close() // listener first: Close would wait for clients that dial again
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Minted returns the number of tokens that the service has created.
func (s *DiscoveryService) Minted() int { return int(s.minted.Load()) }

// ServeHTTP answers as the real server of discovery.etcd.io was observed to.
func (s *DiscoveryService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/new" {
		token := fmt.Sprintf("%032x", s.minted.Add(1))
		resp, err := s.pass(r, http.MethodPut, "/"+token+"/_config/size?prevExist=false", "value="+r.URL.Query().Get("size"))
		if err != nil || resp.StatusCode != http.StatusCreated {
			http.Error(w, "unable to generate token", http.StatusBadRequest)
			return
		}
		_ = resp.Body.Close()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.URL+"/"+token)
		return
	}
	if r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	resp, err := s.pass(r, r.Method, r.URL.RequestURI(), string(body))
	if err != nil || resp.StatusCode == http.StatusNotFound {
		http.Error(w, "unable to GET token", http.StatusBadRequest)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length") // the keys become shorter
	w.WriteHeader(resp.StatusCode)
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	_, _ = io.WriteString(w, strings.ReplaceAll(string(answer), `"/_etcd/registry/`, `"/`))
}

func (s *DiscoveryService) pass(r *http.Request, method, uri, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.Context(), method, s.Registry+uri, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
}
