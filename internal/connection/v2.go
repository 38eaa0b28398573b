// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	clientv2 "go.etcd.io/etcd/client/v2"
)

// MaxKeys is how many keys below one prefix are read at most.
const MaxKeys = 1000

// Bounded limits the bodies of the answers that come over a transport.
func Bounded(t clientv2.CancelableTransport) clientv2.CancelableTransport { return boundedTransport{t} }

type boundedTransport struct{ clientv2.CancelableTransport }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.CancelableTransport.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxKeys}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxKeys)
	}
	return n, err
}

// CheckedKeys returns the keys of the v2 API, each answer with the node that it
// has to have; what has none is no etcd that serves this API.
func CheckedKeys(c clientv2.Client) clientv2.KeysAPI { return checkedKeys{clientv2.NewKeysAPI(c)} }

type checkedKeys struct{ clientv2.KeysAPI }

// checked is the answer without nodes that are none.
func checked(resp *clientv2.Response, err error) (*clientv2.Response, error) {
	switch {
	case err != nil:
		return nil, err
	case resp == nil || resp.Node == nil:
		return nil, clientv2.ErrInvalidJSON
	}
	resp.Node.Nodes = slices.DeleteFunc(resp.Node.Nodes, func(n *clientv2.Node) bool { return n == nil })
	if len(resp.Node.Nodes) > MaxKeys {
		return nil, fmt.Errorf("more than %d keys are below %s", MaxKeys, Quote(resp.Node.Key))
	}
	return resp, nil
}

// Get implements [clientv2.KeysAPI], as do the others.
func (k checkedKeys) Get(ctx context.Context, key string, o *clientv2.GetOptions) (*clientv2.Response, error) {
	return checked(k.KeysAPI.Get(ctx, key, o))
}

func (k checkedKeys) Set(ctx context.Context, key, value string, o *clientv2.SetOptions) (*clientv2.Response, error) {
	return checked(k.KeysAPI.Set(ctx, key, value, o))
}

func (k checkedKeys) Watcher(key string, o *clientv2.WatcherOptions) clientv2.Watcher {
	return checkedWatcher{k.KeysAPI.Watcher(key, o)}
}

type checkedWatcher struct{ clientv2.Watcher }

// Next implements [clientv2.Watcher].
func (w checkedWatcher) Next(ctx context.Context) (*clientv2.Response, error) {
	return checked(w.Watcher.Next(ctx))
}
