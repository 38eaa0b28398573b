// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// forgetful is a cluster in which every lease is gone, whenever it is asked.
type forgetful struct{ asked *int }

func (f forgetful) Anywhere(context.Context, func(context.Context, *clientv3.Client) error) error {
	if *f.asked++; *f.asked > 1000 {
		panic("it is asked for ever")
	}
	return rpctypes.ErrLeaseNotFound
}

// If a server grants leases and forgets them, Create pauses between the
// attempts and gives up after a few.
func TestCreateGivesUp(t *testing.T) {
	t.Parallel()
	asked := 0
	begin := time.Now()
	_, err := NewV3(forgetful{&asked}, connection.Settings{}, nil).Create(t.Context(), "k", "v", time.Second)
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) || time.Since(begin) < createPause {
		t.Errorf("%v after %d requests in %v", err, asked, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), createPause/2)
	defer cancel()
	asked = 0
	if _, err := NewV3(forgetful{&asked}, connection.Settings{}, nil).Create(ctx, "k", "v", time.Second); !errors.Is(err, context.DeadlineExceeded) || asked > 2 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

// If a server of the v2 API answers endlessly, or with less than a node, the
// result is an error.
func TestV2AnswersAreBounded(t *testing.T) {
	t.Parallel()
	for what, body := range map[string]string{
		"no node":      `{}`,
		"a null node":  `{"action":"get","node":null}`,
		"a long value": `{"action":"get","node":{"key":"/a","value":"` + strings.Repeat("a", 20<<20) + `"}}`,
		"many nodes":   `{"action":"get","node":{"key":"/a","dir":true,"nodes":[` + strings.Repeat(`{"key":"/a/b"},`, connection.MaxKeys) + `{"key":"/a/c"}]}}`,
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Etcd-Index", "7")
				_, _ = w.Write([]byte(body))
			}))
			defer server.Close()
			s := NewV2(connection.Settings{Endpoints: []string{server.URL}}, &connection.Pool{})
			if _, _, err := s.List(t.Context(), "/a"); err == nil {
				t.Error("listed")
			}
			if _, _, err := s.Get(t.Context(), "/a"); err == nil {
				t.Error("read")
			}
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"action":"get","node":{"key":"/a","dir":true,"nodes":[null,{"key":"/a/b","value":"x"}]}}`))
	}))
	defer server.Close()
	if entries, _, err := NewV2(connection.Settings{Endpoints: []string{server.URL}}, &connection.Pool{}).List(t.Context(), "/a"); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
