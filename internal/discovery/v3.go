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

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// V3 is a registry in the key space of an etcd of any version, for members of
// 3.6 or later. Its zero value is not usable: see [NewV3].
//
// Layout, as members expect it:
//
//	<prefix>/<token>/_config/size       3
//	<prefix>/<token>/members/<hex id>   name=url[,name=url…]
type V3 struct {
	attempts
	settings connection.Settings
	prefix   string
	pool     *connection.Pool // nil: a connection for each call
}

// NewV3 returns the registry under prefix at the endpoints of settings, which
// are tried one after the other. It connects at first use only, and keeps no
// connection open between two calls; see [V3.Over].
func NewV3(settings connection.Settings, prefix string) *V3 {
	return &V3{attempts: attempts{endpoints: settings.Endpoints, sleep: sleep}, settings: settings, prefix: prefix}
}

// Over returns the registry with its connections taken from pool, nil for none:
// what is asked for many tokens goes over one connection, all at once.
func (r *V3) Over(pool *connection.Pool) *V3 {
	shared := *r
	shared.pool = pool
	return &shared
}

func (r *V3) key(token string) string     { return path.Join(r.prefix, token) + "/" }
func (r *V3) sizeKey(token string) string { return r.key(token) + "_config/size" }

// Create implements [Registry]. The token is written in one transaction, on
// condition that it was never written.
func (r *V3) Create(ctx context.Context, token string, size int) (Place, error) {
	return r.create(ctx, Place{Token: token}, size, func(ctx context.Context, endpoint string) (bool, error) {
		return r.createAt(ctx, endpoint, token, size)
	})
}

// createAt tries to create at one endpoint; sent says that a failed attempt
// may have written all the same.
func (r *V3) createAt(ctx context.Context, endpoint, token string, size int) (sent bool, err error) {
	err = r.at(ctx, endpoint, func(ctx context.Context, kv clientv3.KV) error {
		// A look first: an answer lost later is then known to be about this
		// call's write. It also shows, before anything is at stake, whether
		// the endpoint answers.
		found, err := kv.Get(ctx, r.sizeKey(token))
		if err != nil {
			return err
		}
		if len(found.Kvs) > 0 {
			return existsFor(string(found.Kvs[0].Value))
		}
		made, err := kv.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(r.sizeKey(token)), "=", 0)).
			Then(clientv3.OpPut(r.sizeKey(token), strconv.Itoa(size))).
			Else(clientv3.OpGet(r.sizeKey(token))).
			Commit()
		if err != nil {
			sent = !refused(err)
			return err
		}
		if !made.Succeeded {
			return existsFor(valueOf(elsewhere(made, 0)))
		}
		return nil
	})
	return sent, err
}

// Status implements [Registry]. Size and members are read at one revision.
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
		members := elsewhere(got, 1)
		if len(members) > connection.MaxKeys {
			return fmt.Errorf("more than %d members are registered", connection.MaxKeys)
		}
		s, err = statusOf(elsewhere(got, 0), members)
		return err
	})
	return s, err
}

// elsewhere are the keys that the nth request of a transaction read, none if the
// answer has none.
func elsewhere(resp *clientv3.TxnResponse, n int) []*mvccpb.KeyValue {
	if n >= len(resp.Responses) {
		return nil
	}
	return resp.Responses[n].GetResponseRange().GetKvs()
}

// valueOf is the value of the first key, "" if there is none.
func valueOf(kvs []*mvccpb.KeyValue) string {
	if len(kvs) == 0 {
		return ""
	}
	return string(kvs[0].Value)
}

// statusOf reads a token from its keys. The order of joining is that of the
// create revisions, not that of the keys.
func statusOf(size, members []*mvccpb.KeyValue) (Status, error) {
	var s Status
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	for _, kv := range members {
		if m, ok := parseMember(path.Base(string(kv.Key)), string(kv.Value)); ok {
			s.Members = append(s.Members, m)
		}
	}
	if len(size) == 0 {
		return s, ErrNotFound
	}
	return s.of(string(size[0].Value))
}

// Delete implements [Registry].
func (r *V3) Delete(ctx context.Context, token string) error {
	tried := false
	return r.anywhere(ctx, func(ctx context.Context, kv clientv3.KV) error {
		got, err := kv.Delete(ctx, r.key(token), clientv3.WithPrefix())
		if err != nil {
			tried = true
			return err
		}
		if got.Deleted == 0 && !tried {
			return ErrNotFound
		}
		return nil
	})
}

// anywhere calls do with the key space at the first endpoint that answers.
func (r *V3) anywhere(ctx context.Context, do func(context.Context, clientv3.KV) error) error {
	return r.first(func(endpoint string) error { return r.at(ctx, endpoint, do) })
}

// at calls do with the key space at one endpoint.
func (r *V3) at(ctx context.Context, endpoint string, do func(context.Context, clientv3.KV) error) error {
	err := withKV(ctx, r.pool, r.settings, endpoint, do)
	if isDenied(err) {
		return &DeniedError{Endpoint: endpoint, Err: err}
	}
	return err
}

// isDenied recognises what etcd answers to credentials that are missing,
// wrong, or allow too little.
func isDenied(err error) bool {
	switch connection.KindOf(err) {
	case connection.WrongPassword, connection.AuthRequired, connection.StaleToken, connection.PermissionDenied:
		return true
	default:
		return false
	}
}

// refused tells the answers that mean that a request was not carried out from
// those after which it may have been: no answer in time, a broken connection,
// a leader that changed.
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
		// As the errors of a lost leader or a stopped server, which come with
		// Unavailable: the request may have got through before.
		return false
	}
}
