// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"path"
	"strconv"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

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
	if connection.IsDenied(err) || errors.Is(err, connection.ErrNoV2) || connection.KindOf(err) == connection.Redirected {
		return true
	}
	code := connection.CodeV2(err)
	return code != 0 && code < clientv2.ErrorCodeRaftInternal
}
