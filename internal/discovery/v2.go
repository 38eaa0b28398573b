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

// V2 is a [Registry] in the v2 keys of an etcd up to 3.5, for members up to 3.6.
// The zero value is not usable: see [NewV2].
//
// Layout, as members expect it (_config is hidden from listings):
//
//	<prefix>/<token>/_config/size   3
//	<prefix>/<token>/<hex id>       name=url[,name=url…]
type V2 struct {
	attempts
	prefix string
}

// NewV2 returns the [Registry] under prefix at the endpoints of settings, which
// are tried in order. It connects on first use and keeps no connection open
// between calls.
func NewV2(settings connection.Settings, prefix string) *V2 {
	return &V2{attempts: newAttempts(settings), prefix: prefix}
}

// V2URL returns the --discovery URL of a token under prefix in the discovery
// cluster at endpoint.
func V2URL(endpoint, prefix, token string) string {
	return endpoint + "/v2/keys" + path.Join(prefix, token)
}

func (r *V2) key(token string) string     { return path.Join(r.prefix, token) }
func (r *V2) sizeKey(token string) string { return r.key(token) + "/_config/size" }

// Create implements [Registry]. It writes the token only if it does not exist,
// without a time to live, because members may wait for a long time. It reads
// the directory first, because the API has no condition on two keys.
func (r *V2) Create(ctx context.Context, token string, size int) (Place, error) {
	return r.create(ctx, Place{Token: token}, size, func(ctx context.Context, endpoint string) (sent bool, err error) {
		err = r.settings.V2(ctx, endpoint, func(ctx context.Context, keys clientv2.KeysAPI) error {
			// Read first, so that a token found after a lost answer is known to
			// come from this call.
			if err := r.occupied(ctx, keys, token); err != nil {
				return err
			}
			_, err := keys.Set(ctx, r.sizeKey(token), strconv.Itoa(size), &clientv2.SetOptions{PrevExist: clientv2.PrevNoExist})
			if connection.CodeV2(err) == clientv2.ErrorCodeNodeExist {
				// Another call was faster. If the size cannot be read, it is unknown.
				found, err := keys.Get(ctx, r.sizeKey(token), &clientv2.GetOptions{Quorum: true})
				if err != nil {
					return &ExistsError{}
				}
				return existsFor(found.Node.Value)
			}
			sent = err != nil && !isRefusedV2(err)
			return err
		})
		return sent, err
	})
}

// Status implements [Registry].
func (r *V2) Status(ctx context.Context, token string) (Status, error) {
	var s Status
	err := r.first(ctx, func(endpoint string) error {
		return r.settings.V2(ctx, endpoint, func(ctx context.Context, keys clientv2.KeysAPI) error {
			// Read the members first: if the size changes in between, a token
			// then looks less complete than it is, never more.
			members, err := keys.Get(ctx, r.key(token), &clientv2.GetOptions{Recursive: true, Quorum: true})
			switch {
			case connection.CodeV2(err) == clientv2.ErrorCodeKeyNotFound:
				return ErrNotFound
			case err != nil:
				return err
			}
			var all []registration
			for _, node := range members.Node.Nodes {
				if !node.Dir {
					all = append(all, registration{path.Base(node.Key), node.Value, node.CreatedIndex})
				}
			}
			var value *string
			size, err := keys.Get(ctx, r.sizeKey(token), &clientv2.GetOptions{Quorum: true})
			switch {
			case err == nil:
				value = &size.Node.Value
			case connection.CodeV2(err) != clientv2.ErrorCodeKeyNotFound:
				return err
			}
			s, err = statusOf(all, value)
			return err
		})
	})
	s.log(ctx, err)
	return s, err
}

// occupied returns an error if anything exists at the place of a token, or nil.
// A directory without a size is occupied even if its list is empty, because
// hidden keys are not listed.
func (r *V2) occupied(ctx context.Context, keys clientv2.KeysAPI, token string) error {
	found, err := keys.Get(ctx, r.key(token), &clientv2.GetOptions{Quorum: true})
	switch {
	case connection.CodeV2(err) == clientv2.ErrorCodeKeyNotFound:
		return nil
	case err != nil:
		return err
	}
	size, err := keys.Get(ctx, r.sizeKey(token), &clientv2.GetOptions{Quorum: true})
	switch {
	case err == nil:
		return existsFor(size.Node.Value)
	case connection.CodeV2(err) != clientv2.ErrorCodeKeyNotFound && connection.CodeV2(err) != clientv2.ErrorCodeNotDir:
		return err
	}
	var others []string
	for _, node := range found.Node.Nodes {
		others = append(others, node.Key)
	}
	if len(others) == 0 {
		others = []string{r.key(token)}
	}
	return othersOf(others, len(others))
}

// Delete implements [Registry]. It deletes the size first, as with v3. It
// deletes only empty directories, which the server checks.
func (r *V2) Delete(ctx context.Context, token string) error {
	tried := false
	return r.first(ctx, func(endpoint string) error {
		return r.settings.V2(ctx, endpoint, func(ctx context.Context, keys clientv2.KeysAPI) error {
			d := v2Deletion{ctx: ctx, keys: keys, deleted: tried}
			tried = true
			return d.token(r.key(token), r.sizeKey(token))
		})
	})
}

// v2Deletion deletes the keys of one token individually.
type v2Deletion struct {
	ctx     context.Context
	keys    clientv2.KeysAPI
	deleted bool
	others  []string
}

func (d *v2Deletion) token(dir, size string) error {
	if err := d.remove(size, false); err != nil {
		return err
	}
	found, err := d.keys.Get(d.ctx, dir, &clientv2.GetOptions{Quorum: true})
	switch {
	case connection.CodeV2(err) == clientv2.ErrorCodeKeyNotFound:
		if d.deleted {
			return nil
		}
		return ErrNotFound
	case err != nil:
		return err
	case !found.Node.Dir:
		return othersOf([]string{dir}, 1)
	}
	for _, node := range found.Node.Nodes {
		if node.Dir || !isRegistration(path.Base(node.Key), node.Value) {
			d.others = append(d.others, node.Key)
			continue
		}
		if err := d.remove(node.Key, false); err != nil {
			return err
		}
	}
	for _, empty := range []string{path.Dir(size), dir} {
		if err := d.remove(empty, true); err != nil {
			return err
		}
	}
	return othersOf(d.others, len(d.others))
}

// remove deletes one key or empty directory. It ignores a key that no longer
// exists or has changed its type. It records a directory that stays because it
// contains hidden keys.
func (d *v2Deletion) remove(key string, dir bool) error {
	_, err := d.keys.Delete(d.ctx, key, &clientv2.DeleteOptions{Dir: dir})
	switch connection.CodeV2(err) {
	case clientv2.ErrorCodeKeyNotFound, clientv2.ErrorCodeNotFile, clientv2.ErrorCodeNotDir:
		return nil
	case clientv2.ErrorCodeDirNotEmpty:
		if len(d.others) == 0 {
			d.others = append(d.others, key)
		}
		return nil
	}
	d.deleted = d.deleted || err == nil
	return err
}

// isRefusedV2 reports whether an error means that a write was not carried out.
// Codes from 300 come from raft or the server itself: the write may have been
// carried out.
func isRefusedV2(err error) bool {
	code := connection.CodeV2(err)
	return connection.IsDenied(err) || errors.Is(err, connection.ErrNoV2) || errors.Is(err, connection.ErrRedirect) || code != 0 && code < clientv2.ErrorCodeRaftInternal
}
