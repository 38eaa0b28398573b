// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Store keeps the records of one kind in the cluster itself, below <metadata
// prefix><cluster ID>/, so that every Terraform run sees them. Without the ID of the
// cluster all its methods fail with [membership.ErrNoClusterID].
type Store[T any] struct {
	c *Client
	kind[T]
	prefix string
	err    error // why there is no prefix
}

// All returns all records of a store. The error is a [*Malformed] if a key holds
// something else; the readable records are returned with it.
func All[T any](ctx context.Context, s Store[T]) ([]T, error) {
	all, unread, err := s.List(ctx)
	if len(unread) > 0 {
		err = unread[0]
	}
	return all, err
}

// ErrRecordChanged means that the record was changed since it was read: another
// Terraform run works on the same member.
var ErrRecordChanged = errors.New("the ownership record was changed by another run")

// kind declares how records of one kind are stored: as a JSON object of their fields and
// the number of the format.
type kind[T any] struct {
	// what names the kind in a [*Malformed]; at is where its keys begin.
	what, at string
	// name returns the name of a record, the last part of its key.
	name func(r T) string
	// author returns who wrote a record, and when. It is nil if a record does not say that.
	author func(r *T) (by *string, since *time.Time)
	// read completes a decoded record with what its key says, or returns why the provider
	// cannot have written it.
	read func(r *T, name string, kv *mvccpb.KeyValue) error
	// revision returns the modification revision of a record that was read, 0 of a new
	// one. It is nil if a record is written whatever the key holds.
	revision func(r T) int64
}

// encode returns the stored form of a record. One that JSON cannot hold is not decoded again.
func (k kind[T]) encode(r T) string {
	if k.author != nil {
		by, since := k.author(&r)
		if connection.PlainName(*by) != nil {
			*by = connection.Quote(*by)
		}
		*since = since.UTC().Truncate(time.Second)
	}
	fields, _ := json.Marshal(r)
	return fmt.Sprintf(`{"format":%d,%s`, format, bytes.TrimPrefix(fields, []byte("{")))
}

// decode returns the record in a key, or why the provider cannot have written it.
func (k kind[T]) decode(name string, kv *mvccpb.KeyValue) (r T, err error) {
	if err := strictly(kv.Value, &r); err != nil {
		return r, err
	}
	if k.author != nil {
		by, _ := k.author(&r)
		err = plain("the author", *by)
	}
	return r, cmp.Or(err, k.read(&r, name, kv))
}

func newStore[T any](c *Client, id membership.ClusterID, k kind[T]) Store[T] {
	prefix, err := membership.MetadataKey(id, k.at)
	return Store[T]{c, k, prefix, err}
}

// Anywhere implements [connection.Route]. It calls [Client.Anywhere] if the ID of the cluster is
// known.
func (s Store[T]) Anywhere(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	if s.err != nil {
		return s.err
	}
	return s.c.Anywhere(ctx, f)
}

// parse reads a record. The error is a [*Malformed].
func (s Store[T]) parse(kv *mvccpb.KeyValue) (T, error) {
	r, err := s.decode(strings.TrimPrefix(string(kv.Key), s.prefix), kv)
	if err != nil {
		return *new(T), malformed(s.what, string(kv.Key), kv.Value, err)
	}
	return r, nil
}

// Get returns the record of a name; ok is false if there is none. The error is a
// [*Malformed] if the key holds something else.
func (s Store[T]) Get(ctx context.Context, name string) (r T, ok bool, err error) {
	found, err := connection.Ask(ctx, s, func(ctx context.Context, kv *clientv3.Client) (*clientv3.GetResponse, error) {
		return kv.Get(ctx, s.prefix+name)
	})
	if err != nil || len(found.Kvs) == 0 {
		return r, false, err
	}
	r, err = s.parse(found.Kvs[0])
	return r, err == nil, err
}

// List returns all records, sorted by name, and the malformed ones.
func (s Store[T]) List(ctx context.Context) (out []T, unread []*Malformed, err error) {
	kvs, err := connection.Ask(ctx, s, func(ctx context.Context, kv *clientv3.Client) ([]*mvccpb.KeyValue, error) {
		return under(ctx, kv, s.prefix)
	})
	for _, kv := range kvs {
		r, err := s.parse(kv)
		if bad, ok := errors.AsType[*Malformed](err); ok {
			unread = append(unread, bad)
			continue
		}
		out = append(out, r)
	}
	return out, unread, err
}

// Put writes a record in place of the given records of other names, and returns the
// record as stored. An ownership record is written if none of them has changed since
// it was read, and the record itself has not; otherwise the error is
// [ErrRecordChanged]. The other kinds are written under the lock on membership
// changes, in place of an earlier record of the same name. Put writes what it can read
// again only.
func (s Store[T]) Put(ctx context.Context, r T, instead ...T) (T, error) {
	name, value := s.name(r), s.encode(r)
	written := &mvccpb.KeyValue{Key: []byte(s.prefix + name), Value: []byte(value)}
	if _, err := s.decode(name, written); err != nil {
		return r, err
	}
	write := []clientv3.Op{clientv3.OpPut(s.prefix+name, value)}
	var unchanged []clientv3.Cmp
	for i, other := range append([]T{r}, instead...) {
		of := s.name(other)
		if s.revision != nil {
			unchanged = append(unchanged, clientv3.Compare(clientv3.ModRevision(s.prefix+of), "=", s.revision(other)))
		}
		if i > 0 {
			write = append(write, clientv3.OpDelete(s.prefix+of))
		}
	}
	err := s.Anywhere(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Txn(ctx).
			If(unchanged...).
			Then(write...).
			Else(clientv3.OpGet(s.prefix + name)).
			Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			written.ModRevision = resp.Header.Revision
			return nil
		}
		// A write whose answer was lost, and that was sent again through
		// another endpoint, finds its own value.
		for _, read := range resp.Responses {
			if kvs := read.GetResponseRange().GetKvs(); len(kvs) == 1 && string(kvs[0].Value) == value {
				written.ModRevision = kvs[0].ModRevision
				return nil
			}
		}
		return ErrRecordChanged
	})
	if err != nil {
		return r, err
	}
	return s.parse(written)
}

// Delete deletes the record of a name, whatever its value. It is not an error if
// there is none. The error is a [*NotDeleted].
func (s Store[T]) Delete(ctx context.Context, name string) error {
	if err := s.Anywhere(ctx, func(ctx context.Context, kv *clientv3.Client) error { return only(kv.Delete(ctx, s.prefix+name)) }); err != nil {
		return &NotDeleted{s.prefix + name, err}
	}
	return nil
}
