// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// fakeWorld answers with the address that was asked.
type fakeWorld struct{ clients []string }

func (w *fakeWorld) Client(endpoint, address string) *clientv3.Client {
	w.clients = append(w.clients, address)
	c := clientv3.NewCtxClient(context.Background())
	c.KV = clientv3.NewKVFromKVClient(fakeKV{endpoint: endpoint, address: address}, c)
	return c
}

func (w *fakeWorld) Web(address string) http.RoundTripper { return fakeWeb(address) }

type fakeWeb string

func (w fakeWeb) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(w)))}, nil
}

type fakeKV struct {
	pb.KVClient
	endpoint, address string
}

func (kv fakeKV) Range(_ context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
	if string(r.Key) == "refused" {
		return nil, AttemptError(kv.endpoint, syscall.ECONNREFUSED)
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{}, Count: int64(len(kv.address))}, nil
}

// A pool with a world dials nothing, keeps its clients, and asks the address that
// the address map gives. Errors name the endpoint.
func TestWorld(t *testing.T) {
	t.Parallel()
	const endpoint, address = "http://a.example:2379", "https://10.0.0.1:4001"
	w := &fakeWorld{}
	p := &Pool{World: w}
	s := Settings{Endpoints: []string{endpoint}, AddressMap: map[string]string{endpoint: address}}
	get := func(key string) (n int64, err error) {
		c, err := p.Client(t.Context(), s, endpoint)
		if err != nil {
			return 0, err
		}
		err = c.Do(t.Context(), func(ctx context.Context) error {
			resp, err := c.Get(ctx, key)
			if err == nil {
				n = resp.Count
			}
			return err
		})
		return n, err
	}
	mapped := "http://10.0.0.1:4001" // the scheme is that of the endpoint
	for range 2 {
		if n, err := get("key"); err != nil || n != int64(len(mapped)) {
			t.Errorf("a read: %d, %v", n, err)
		}
	}
	if !slices.Equal(w.clients, []string{mapped}) {
		t.Errorf("clients of %v", w.clients)
	}
	if _, err := get("refused"); KindOf(err) != Refused || !strings.HasPrefix(err.Error(), endpoint+": ") {
		t.Errorf("a refused connection: %v", err)
	}
	if body, _, err := p.Get(t.Context(), s, endpoint, "/metrics"); err != nil || string(body) != mapped {
		t.Errorf("metrics: %s, %v", body, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := get("key"); err == nil {
		t.Error("a closed pool answers")
	}
}
