// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// publicService speaks as discovery.etcd.io does, over a real etcd with v2.
type publicService struct {
	*httptest.Server
	backend string // base URL of the v2 registry behind it
	minted  atomic.Int32
}

func newPublicService(t *testing.T, tls bool) *publicService {
	t.Helper()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	s := &publicService{backend: c.Endpoints()[0] + "/v2/keys/_etcd/registry"}
	if tls {
		s.Server = httptest.NewTLSServer(s)
	} else {
		s.Server = httptest.NewServer(s)
	}
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers as facts about the service say.
func (s *publicService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	w.Header().Del("Content-Length") // the keys get shorter
	w.WriteHeader(resp.StatusCode)
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	_, _ = io.WriteString(w, strings.ReplaceAll(string(answer), `"/_etcd/registry/`, `"/`))
}

func (s *publicService) pass(r *http.Request, method, uri, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(r.Context(), method, s.backend+uri, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
}
