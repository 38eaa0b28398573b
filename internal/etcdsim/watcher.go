// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher is a [clientv3.Watcher]. That of clientv3 waits on a channel of its
// package (valCtxCh, client/v3/watch.go), for which time would not advance in a
// bubble of testing/synctest. It does not resume a watch whose stream breaks: the
// channel is then closed. It knows no filters and no notifications.
type watcher struct{ remote pb.WatchClient }

// Watch implements [clientv3.Watcher]. It returns when the server has opened the watch.
func (w watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, opts...)
	out := make(chan clientv3.WatchResponse)
	ctx, cancel := context.WithCancel(ctx)
	stream, err := w.remote.Watch(ctx)
	if err == nil {
		err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
			Key: op.KeyBytes(), RangeEnd: op.RangeBytes(), StartRevision: op.Rev(), PrevKv: op.IsPrevKV(),
		}}})
	}
	if err == nil {
		_, err = stream.Recv() // created
	}
	if err != nil {
		cancel()
		close(out)
		return out
	}
	go func() {
		defer close(out)
		defer cancel()
		for {
			r, err := stream.Recv()
			if err != nil || !deliver(ctx, out, r) {
				return
			}
		}
	}()
	return out
}

// deliver reports whether more may follow.
func deliver(ctx context.Context, out chan<- clientv3.WatchResponse, r *pb.WatchResponse) bool {
	answer := clientv3.WatchResponse{Header: r.Header, CompactRevision: r.CompactRevision, Canceled: r.Canceled, Created: r.Created}
	answer.Events = r.Events
	select {
	case out <- answer:
		return !r.Canceled
	case <-ctx.Done():
		return false
	}
}

// RequestProgress implements [clientv3.Watcher].
func (watcher) RequestProgress(context.Context) error { return nil }

// Close implements [clientv3.Watcher]. Watches end with their context.
func (watcher) Close() error { return nil }
