// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	clientv2 "go.etcd.io/etcd/client/v2"
)

// MaxKeys is the maximum number of keys that are read below one prefix.
const MaxKeys = 1000

// boundedTransport limits the size of response bodies.
type boundedTransport struct{ clientv2.CancelableTransport }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.CancelableTransport.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxKeys)
	}
	return resp, err
}

// ErrNoV2 means that a server does not serve the v2 API.
var ErrNoV2 = errors.New("does not serve the v2 API; etcd 3.4 and 3.5 do with --enable-v2, 3.6 and later never")

// V2 calls f with the v2 keys API of an endpoint, within the request timeout.
// It returns the errors of [Settings.KeysV2] and of f.
func (s Settings) V2(ctx context.Context, endpoint string, f func(context.Context, clientv2.KeysAPI) error) error {
	keys, err := s.KeysV2(ctx, endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.RequestLimit())
	defer cancel()
	return f(ctx, keys)
}

// KeysV2 returns the v2 keys API of an endpoint. It does not follow redirects,
// which would send the password to another host. Errors, including those of the
// keys API, are [*Error], [ErrNoV2] or the server's error, whose code [CodeV2]
// returns.
func (s Settings) KeysV2(ctx context.Context, endpoint string) (clientv2.KeysAPI, error) {
	if err := s.allow(ctx, endpoint); err != nil {
		return nil, err
	}
	client, err := clientv2.New(clientv2.Config{
		Endpoints: []string{endpoint},
		Transport: boundedTransport{transport{settings: s}},
		Username:  s.Username, Password: s.Password.Reveal(),
		CheckRedirect: func(int) error { return ErrRedirect },
	})
	if err != nil {
		return nil, err
	}
	return checkedKeys{clientv2.NewKeysAPI(client), endpoint}, nil
}

// CodeV2 returns the code of a v2 server's error, or 0 for any other error.
func CodeV2(err error) int {
	answer, _ := errors.AsType[clientv2.Error](err)
	return answer.Code
}

// answerV2 is a v2 server's error. Its text omits the code and the index.
type answerV2 struct{ original clientv2.Error }

// Error implements error.
func (a answerV2) Error() string {
	if a.original.Cause == "" {
		return a.original.Message
	}
	return a.original.Message + " (" + a.original.Cause + ")"
}

// Unwrap returns the server's error.
func (a answerV2) Unwrap() error { return a.original }

// checkedKeys is the keys API of an endpoint. It checks that each answer has a
// node. A server whose answer has none does not serve this API.
type checkedKeys struct {
	clientv2.KeysAPI
	endpoint string
}

// checked returns the answer without nil nodes.
func (k checkedKeys) checked(resp *clientv2.Response, err error) (*clientv2.Response, error) {
	answer, answered := errors.AsType[clientv2.Error](err)
	cluster, _ := errors.AsType[*clientv2.ClusterError](err)
	if cluster != nil && len(cluster.Errors) > 0 {
		err = cluster.Errors[0]
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, AttemptError(k.endpoint, fmt.Errorf("the answer is longer than %d bytes", maxKeys))
	case answer.Code == clientv2.ErrorCodeUnauthorized: // for whatever is wrong with the credentials
		return nil, &Error{Endpoint: k.endpoint, Kind: PermissionDenied, Err: answerV2{answer}}
	case answered:
		return nil, answerV2{answer}
	case errors.Is(err, clientv2.ErrInvalidJSON), errors.Is(err, clientv2.ErrEmptyBody), err == nil && (resp == nil || resp.Node == nil):
		return nil, ErrNoV2
	case err != nil:
		return nil, AttemptError(k.endpoint, err)
	}
	resp.Node.Nodes = slices.DeleteFunc(resp.Node.Nodes, func(n *clientv2.Node) bool { return n == nil })
	if len(resp.Node.Nodes) > MaxKeys {
		return nil, fmt.Errorf("more than %d keys are below %s", MaxKeys, Quote(resp.Node.Key))
	}
	return resp, nil
}

// Get implements [clientv2.KeysAPI], like the methods below.
func (k checkedKeys) Get(ctx context.Context, key string, o *clientv2.GetOptions) (*clientv2.Response, error) {
	return k.checked(k.KeysAPI.Get(ctx, key, o))
}

func (k checkedKeys) Set(ctx context.Context, key, value string, o *clientv2.SetOptions) (*clientv2.Response, error) {
	return k.checked(k.KeysAPI.Set(ctx, key, value, o))
}

func (k checkedKeys) Delete(ctx context.Context, key string, o *clientv2.DeleteOptions) (*clientv2.Response, error) {
	return k.checked(k.KeysAPI.Delete(ctx, key, o))
}

func (k checkedKeys) Watcher(key string, o *clientv2.WatcherOptions) clientv2.Watcher {
	return checkedWatcher{k.KeysAPI.Watcher(key, o), k}
}

type checkedWatcher struct {
	clientv2.Watcher
	keys checkedKeys
}

// Next implements [clientv2.Watcher].
func (w checkedWatcher) Next(ctx context.Context) (*clientv2.Response, error) {
	return w.keys.checked(w.Watcher.Next(ctx))
}
