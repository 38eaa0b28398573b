// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// V3 is a [Registry] in the key space of an etcd of any version. Members of 3.6
// or later register themselves, and the join script registers members of every
// version. The zero value is not usable: see [NewV3].
//
// Layout, as members expect it:
//
//	<prefix>/<token>/_config/size       3
//	<prefix>/<token>/members/<hex id>   name=url[,name=url…]
type V3 struct {
	attempts
	prefix string
	pool   *connection.Pool
}

// NewV3 returns the [Registry] under prefix at the endpoints of settings, which
// are tried in order. Its connections come from pool, so concurrent requests
// for many tokens share one connection.
func NewV3(settings connection.Settings, prefix string, pool *connection.Pool) *V3 {
	return &V3{attempts: newAttempts(settings), prefix: prefix, pool: pool}
}

func (r *V3) key(token string) string     { return path.Join(r.prefix, token) + "/" }
func (r *V3) sizeKey(token string) string { return r.key(token) + "_config/size" }

// Create implements [Registry]. It writes the token in one transaction, only if
// no key exists below its name.
func (r *V3) Create(ctx context.Context, token string, size int) (Place, error) {
	return r.create(ctx, Place{Token: token}, size, func(ctx context.Context, endpoint string) (bool, error) {
		return r.createAt(ctx, endpoint, token, size)
	})
}

// createAt tries to create the token at one endpoint. sent reports whether a
// failed attempt may have written it anyway.
func (r *V3) createAt(ctx context.Context, endpoint, token string, size int) (sent bool, err error) {
	err = r.at(ctx, endpoint, func(ctx context.Context, kv clientv3.KV) error {
		// Read first, so that a token found after a lost answer is known to
		// come from this call. This also shows whether the endpoint answers
		// before anything is written.
		found, err := kv.Txn(ctx).Then(r.occupants(token)...).Commit()
		if err != nil {
			return err
		}
		if err := occupied(found); err != nil {
			return err
		}
		made, err := kv.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(r.key(token)), "=", 0).WithPrefix()).
			Then(clientv3.OpPut(r.sizeKey(token), strconv.Itoa(size))).
			Else(r.occupants(token)...).
			Commit()
		if err != nil {
			sent = !refused(err)
			return err
		}
		if made.Succeeded {
			return nil
		}
		return cmp.Or(occupied(made), existsFor(""))
	})
	return sent, err
}

// occupants returns requests for what exists at the place of a token: its size,
// and the first keys below its name. Pass the answer to [occupied].
func (r *V3) occupants(token string) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(r.sizeKey(token)),
		clientv3.OpGet(r.key(token), clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(maxNamed)),
	}
}

// occupied returns an error if anything exists at the place of a token, or nil.
func occupied(found *clientv3.TxnResponse) error {
	if size := rangeAt(found, 0).GetKvs(); len(size) > 0 {
		return existsFor(string(size[0].Value))
	}
	return othersIn(rangeAt(found, 1))
}

// rangeAt returns the result of the nth request of a transaction, or nil if the
// answer does not have it.
func rangeAt(resp *clientv3.TxnResponse, n int) *etcdserverpb.RangeResponse {
	if n >= len(resp.Responses) {
		return nil
	}
	return resp.Responses[n].GetResponseRange()
}

// othersIn returns an [*OthersError] for all keys of an answer.
func othersIn(got *etcdserverpb.RangeResponse) error {
	var keys []string
	for _, kv := range got.GetKvs() {
		keys = append(keys, string(kv.Key))
	}
	return othersOf(keys, int(got.GetCount()))
}

// Status implements [Registry]. It reads size and members at one revision.
func (r *V3) Status(ctx context.Context, token string) (Status, error) {
	var s Status
	err := r.anywhere(ctx, func(ctx context.Context, kv clientv3.KV) error {
		got, err := kv.Txn(ctx).Then(
			clientv3.OpGet(r.sizeKey(token)),
			clientv3.OpGet(r.key(token)+"members/", clientv3.WithPrefix(), clientv3.WithLimit(connection.MaxKeys+1)),
		).Commit()
		if err != nil {
			return err
		}
		members := rangeAt(got, 1).GetKvs()
		if len(members) > connection.MaxKeys {
			return fmt.Errorf("more than %d members are registered", connection.MaxKeys)
		}
		s, err = statusOfV3(rangeAt(got, 0).GetKvs(), members)
		return err
	})
	s.log(ctx, err)
	return s, err
}

// statusOfV3 returns the Status for the keys of a token. Registrations are
// ordered by create revision, not by key.
func statusOfV3(size, members []*mvccpb.KeyValue) (Status, error) {
	var all []registration
	for _, kv := range members {
		all = append(all, registration{path.Base(string(kv.Key)), string(kv.Value), uint64(kv.CreateRevision)}) //nolint:gosec // never negative
	}
	if len(size) == 0 {
		return statusOf(all, nil)
	}
	return statusOf(all, new(string(size[0].Value)))
}

// perDelete is the maximum number of keys that one transaction deletes and one
// request reads. By default a server accepts 128 operations.
const perDelete = 100

// Delete implements [Registry]. It deletes the size first, and with it the
// token: if the rest fails, what is left never looks like a token with fewer
// registrations.
func (r *V3) Delete(ctx context.Context, token string) error {
	tried := false
	return r.anywhere(ctx, func(ctx context.Context, kv clientv3.KV) error {
		registrations, err := r.registrations(ctx, kv, token)
		if err != nil {
			return err
		}
		deleted := tried
		for keys := range slices.Chunk(append([]string{r.sizeKey(token)}, registrations...), perDelete) {
			n, err := deleteKeys(ctx, kv, keys)
			if err != nil {
				tried = true
				return err
			}
			deleted = deleted || n > 0
		}
		left, err := kv.Txn(ctx).Then(r.occupants(token)...).Commit()
		if err != nil {
			return err
		}
		others := othersIn(rangeAt(left, 1))
		if others == nil && !deleted {
			return ErrNotFound
		}
		return others
	})
}

// registrations returns the keys of all registrations.
func (r *V3) registrations(ctx context.Context, kv clientv3.KV, token string) (keys []string, err error) {
	prefix := r.key(token) + "members/"
	for from, more := prefix, true; more; {
		got, err := kv.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(perDelete))
		if err != nil {
			return nil, err
		}
		for _, kv := range got.Kvs {
			key := string(kv.Key)
			if id, below := strings.CutPrefix(key, prefix); below && isRegistration(id, string(kv.Value)) {
				keys = append(keys, key)
			}
			from = key + "\x00"
		}
		more = got.More && len(got.Kvs) > 0
	}
	return keys, nil
}

// deleteKeys deletes keys in one transaction and returns the number deleted.
func deleteKeys(ctx context.Context, kv clientv3.KV, keys []string) (int64, error) {
	var ops []clientv3.Op
	for _, key := range keys {
		ops = append(ops, clientv3.OpDelete(key))
	}
	got, err := kv.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return 0, err
	}
	var n int64
	for _, one := range got.Responses {
		n += one.GetResponseDeleteRange().GetDeleted()
	}
	return n, nil
}

// anywhere calls do with the key space at the first endpoint that answers.
func (r *V3) anywhere(ctx context.Context, do func(context.Context, clientv3.KV) error) error {
	return r.first(ctx, func(endpoint string) error { return r.at(ctx, endpoint, do) })
}

// at calls do with the key space at one endpoint.
func (r *V3) at(ctx context.Context, endpoint string, do func(context.Context, clientv3.KV) error) error {
	client, err := r.pool.Client(ctx, r.settings, endpoint)
	if err != nil {
		return err
	}
	return client.Do(ctx, func(ctx context.Context) error { return do(ctx, client.KV) })
}

// refused reports whether err means that a request was not carried out. After
// no answer in time, a broken connection or a change of leader, it may have
// been.
func refused(err error) bool {
	var e rpctypes.EtcdError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied,
		codes.Unauthenticated, codes.ResourceExhausted, codes.Unimplemented:
		return true
	default:
		// Errors such as a lost leader or a stopped server have the code
		// Unavailable. The request may have been carried out.
		return false
	}
}
