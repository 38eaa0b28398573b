// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
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
	clientv2 "go.etcd.io/etcd/client/v2"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// A token owns its size, its registrations, and nothing else below its name.
// Create therefore requires that no key exists there, and Delete deletes the
// keys individually: a prefix or a directory may hold another program's data.

// maxNamed is the maximum number of keys that an [OthersError] names.
const maxNamed = 5

// OthersError means that keys exist below a token that do not belong to it.
// Create has written nothing. Delete has deleted the token and kept them.
type OthersError struct {
	// Keys are the first such keys.
	Keys []string
	// more is the number of further keys, as far as it is known.
	more int
}

// Error implements error.
func (e *OthersError) Error() string {
	named := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		named[i] = connection.Quote(key)
	}
	text := "there are keys that are not the token's: " + strings.Join(named, ", ")
	if e.more > 0 {
		text += fmt.Sprintf(" and %d more", e.more)
	}
	return text
}

// othersOf returns an [*OthersError] for keys, or nil if there are none.
func othersOf(keys []string, count int) error {
	if len(keys) == 0 {
		return nil
	}
	named := keys[:min(len(keys), maxNamed)]
	return &OthersError{Keys: named, more: max(count-len(named), 0)}
}

// isRegistration reports whether the last part of a key and its value have the
// form that a member writes when it registers.
func isRegistration(id, value string) bool {
	m, ok := parseMember(id, value)
	return ok && m.ID.String() == id
}

// keysV3 has the layout that members expect:
//
//	<prefix>/<token>/_config/size       3
//	<prefix>/<token>/members/<hex id>   name=url[,name=url…]
type keysV3 struct {
	clientv3.KV
	prefix string
}

func (k keysV3) dir(token string) string     { return path.Join(k.prefix, token) + "/" }
func (k keysV3) size(token string) string    { return k.dir(token) + "_config/size" }
func (k keysV3) members(token string) string { return k.dir(token) + "members/" }

// place reads what exists at the place of a token: its size, and the first keys below its
// name.
func (k keysV3) place(ctx context.Context, token string) (size []*mvccpb.KeyValue, below *etcdserverpb.RangeResponse, err error) {
	found, err := k.Txn(ctx).Then(
		clientv3.OpGet(k.size(token)),
		clientv3.OpGet(k.dir(token), clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(maxNamed)),
	).Commit()
	if err != nil {
		return nil, nil, err
	}
	return rangeAt(found, 0).GetKvs(), rangeAt(found, 1), nil
}

// occupied implements [keys].
func (k keysV3) occupied(ctx context.Context, token string) error {
	size, below, err := k.place(ctx, token)
	switch {
	case err != nil:
		return err
	case len(size) > 0:
		return existsFor(string(size[0].Value))
	}
	return othersIn(below)
}

// put implements [keys]. It requires in the same transaction that no key exists below the
// token's name.
func (k keysV3) put(ctx context.Context, token string, size int) (sent bool, err error) {
	made, err := k.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(k.dir(token)), "=", 0).WithPrefix()).
		Then(clientv3.OpPut(k.size(token), strconv.Itoa(size))).
		Commit()
	switch {
	case err != nil:
		return !refused(err), err
	case !made.Succeeded:
		return false, &ExistsError{}
	}
	return false, nil
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

// read implements [keys]. It reads size and members at one revision. Registrations are
// ordered by create revision, not by key.
func (k keysV3) read(ctx context.Context, token string) (all []registration, size *string, err error) {
	got, err := k.Txn(ctx).Then(
		clientv3.OpGet(k.size(token)),
		clientv3.OpGet(k.members(token), clientv3.WithPrefix(), clientv3.WithLimit(connection.MaxKeys+1)),
	).Commit()
	if err != nil {
		return nil, nil, err
	}
	members := rangeAt(got, 1).GetKvs()
	if len(members) > connection.MaxKeys {
		return nil, nil, fmt.Errorf("more than %d members are registered", connection.MaxKeys)
	}
	for _, kv := range members {
		all = append(all, registration{string(kv.Key), string(kv.Value), uint64(kv.CreateRevision)}) //nolint:gosec // never negative
	}
	for _, kv := range rangeAt(got, 0).GetKvs() {
		size = new(string(kv.Value))
	}
	return all, size, nil
}

// perDelete is the maximum number of keys that one transaction deletes. By default a server
// accepts 128 operations.
const perDelete = 100

// remove implements [keys].
func (k keysV3) remove(ctx context.Context, token string) (deleted bool, err error) {
	all, _, err := k.read(ctx, token)
	if err != nil {
		return false, err
	}
	keys := []string{k.size(token)}
	for _, r := range all {
		if id, below := strings.CutPrefix(r.key, k.members(token)); below && isRegistration(id, r.value) {
			keys = append(keys, r.key)
		}
	}
	for some := range slices.Chunk(keys, perDelete) {
		var ops []clientv3.Op
		for _, key := range some {
			ops = append(ops, clientv3.OpDelete(key))
		}
		got, err := k.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return true, err
		}
		for _, one := range got.Responses {
			deleted = deleted || one.GetResponseDeleteRange().GetDeleted() > 0
		}
	}
	_, left, err := k.place(ctx, token)
	if err != nil {
		return deleted, err
	}
	return deleted, othersIn(left)
}

// refused reports whether err means that a request was not carried out. After
// no answer in time, a broken connection or a change of leader, it may have
// been.
func refused(err error) bool {
	e, ok := errors.AsType[rpctypes.EtcdError](err)
	// Errors such as a lost leader or a stopped server have the code
	// Unavailable. The request may have been carried out.
	return ok && slices.Contains([]codes.Code{
		codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied,
		codes.Unauthenticated, codes.ResourceExhausted, codes.Unimplemented,
	}, e.Code())
}

// keysV2 has the layout that members expect (_config is hidden from listings):
//
//	<prefix>/<token>/_config/size   3
//	<prefix>/<token>/<hex id>       name=url[,name=url…]
type keysV2 struct {
	connection.KeysV2
	prefix string
}

func (k keysV2) dir(token string) string  { return path.Join(k.prefix, token) }
func (k keysV2) size(token string) string { return k.dir(token) + "/_config/size" }

// place reads the directory of a token and then its size, each nil if it does not exist.
func (k keysV2) place(ctx context.Context, token string) (dir, size *clientv2.Node, err error) {
	if dir, _, err = k.Node(ctx, k.dir(token)); err != nil || dir == nil {
		return nil, nil, err
	}
	size, _, err = k.Node(ctx, k.size(token))
	return dir, size, err
}

// occupied implements [keys]. A directory without a size is occupied even if its list is
// empty, because hidden keys are not listed.
func (k keysV2) occupied(ctx context.Context, token string) error {
	dir, size, err := k.place(ctx, token)
	switch {
	case err != nil || dir == nil:
		return err
	case size != nil:
		return existsFor(size.Value)
	}
	var others []string
	for _, node := range dir.Nodes {
		others = append(others, node.Key)
	}
	if len(others) == 0 {
		others = []string{k.dir(token)}
	}
	return othersOf(others, len(others))
}

// put implements [keys]. The API has no condition on two keys: other keys that appear
// after the call of occupied do not count.
func (k keysV2) put(ctx context.Context, token string, size int) (sent bool, err error) {
	_, err = k.Set(ctx, k.size(token), strconv.Itoa(size), &clientv2.SetOptions{PrevExist: clientv2.PrevNoExist})
	if connection.CodeV2(err) == clientv2.ErrorCodeNodeExist {
		return false, &ExistsError{}
	}
	return err != nil && !isRefusedV2(err), err
}

// read implements [keys]. The members are read first: if the size changes in between, a
// token then looks less complete than it is, never more.
func (k keysV2) read(ctx context.Context, token string) (all []registration, size *string, err error) {
	dir, found, err := k.place(ctx, token)
	if dir != nil {
		all = registrationsV2(dir)
	}
	if found != nil {
		size = &found.Value
	}
	return all, size, err
}

// registrationsV2 returns the registrations in the directory of a token.
func registrationsV2(dir *clientv2.Node) (all []registration) {
	for _, node := range dir.Nodes {
		if node != nil && !node.Dir {
			all = append(all, registration{node.Key, node.Value, node.CreatedIndex})
		}
	}
	return all
}

// remove implements [keys]. It deletes the keys of the token individually, and only empty
// directories, which the server checks.
func (k keysV2) remove(ctx context.Context, token string) (deleted bool, err error) {
	dir, size := k.dir(token), k.size(token)
	var others []string
	// drop deletes one key or empty directory. It ignores a key that no longer
	// exists or has changed its type. It records a directory that stays because it
	// contains hidden keys.
	drop := func(key string, isDir bool) error {
		_, err := k.Delete(ctx, key, &clientv2.DeleteOptions{Dir: isDir})
		switch connection.CodeV2(err) {
		case clientv2.ErrorCodeKeyNotFound, clientv2.ErrorCodeNotFile, clientv2.ErrorCodeNotDir:
			return nil
		case clientv2.ErrorCodeDirNotEmpty:
			if len(others) == 0 {
				others = append(others, key)
			}
			return nil
		}
		deleted = true
		return err
	}
	if err := drop(size, false); err != nil {
		return deleted, err
	}
	found, _, err := k.Node(ctx, dir)
	switch {
	case err != nil || found == nil:
		return deleted, err
	case !found.Dir:
		return deleted, othersOf([]string{dir}, 1)
	}
	for _, node := range found.Nodes {
		if node.Dir || !isRegistration(path.Base(node.Key), node.Value) {
			others = append(others, node.Key)
		} else if err := drop(node.Key, false); err != nil {
			return deleted, err
		}
	}
	for _, empty := range []string{path.Dir(size), dir} {
		if err := drop(empty, true); err != nil {
			return deleted, err
		}
	}
	return deleted, othersOf(others, len(others))
}

// isRefusedV2 reports whether an error means that a write was not carried out.
// Codes from 300 come from raft or the server itself: the write may have been
// carried out.
func isRefusedV2(err error) bool {
	unserved := connection.IsDenied(err) || errors.Is(err, connection.ErrNoV2) || connection.KindOf(err) == connection.Redirected
	code := connection.CodeV2(err)
	return unserved || code != 0 && code < clientv2.ErrorCodeRaftInternal
}
