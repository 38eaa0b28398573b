// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strconv"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// ErrNoV2 says that a server does not serve the v2 API.
var ErrNoV2 = errors.New("does not serve the v2 API; etcd 3.4 and 3.5 do with --enable-v2, 3.6 and later never")

// V2 is a registry in the v2 keys of an etcd up to 3.5, for members up to 3.6.
// Its zero value is not usable: see [NewV2].
//
// Layout, as members expect it (_config is hidden from listings):
//
//	<prefix>/<token>/_config/size   3
//	<prefix>/<token>/<hex id>       name=url[,name=url…]
type V2 struct {
	attempts
	settings connection.Settings
	prefix   string
}

// NewV2 returns the registry under prefix at the endpoints of settings, which
// are tried one after the other. It connects at first use only, and keeps no
// connection open between two calls.
func NewV2(settings connection.Settings, prefix string) *V2 {
	return &V2{attempts: attempts{endpoints: settings.Endpoints, sleep: sleep}, settings: settings, prefix: prefix}
}

// V2URL is what a member takes as --discovery for a token in the registry
// under prefix at endpoint.
func V2URL(endpoint, prefix, token string) string {
	return endpoint + "/v2/keys" + path.Join(prefix, token)
}

func (r *V2) key(token string) string     { return path.Join(r.prefix, token) }
func (r *V2) sizeKey(token string) string { return r.key(token) + "/_config/size" }

// Create implements [Registry]. The token is written on condition that it
// does not exist, and without a time to live: members may wait on it for long.
func (r *V2) Create(ctx context.Context, token string, size int) (Place, error) {
	return r.create(ctx, Place{Token: token}, size, func(ctx context.Context, endpoint string) (sent bool, err error) {
		err = r.at(ctx, endpoint, func(ctx context.Context, keys clientv2.KeysAPI) error {
			// A look first: an answer lost later is then known to be about
			// this call's write.
			found, err := keys.Get(ctx, r.sizeKey(token), &clientv2.GetOptions{Quorum: true})
			if err == nil {
				return existsFor(found.Node.Value)
			}
			if code(err) != clientv2.ErrorCodeKeyNotFound {
				return err
			}
			_, err = keys.Set(ctx, r.sizeKey(token), strconv.Itoa(size), &clientv2.SetOptions{PrevExist: clientv2.PrevNoExist})
			if code(err) == clientv2.ErrorCodeNodeExist {
				// Someone was faster. If the size cannot be read, it is unknown.
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
	err := r.first(func(endpoint string) error {
		return r.at(ctx, endpoint, func(ctx context.Context, keys clientv2.KeysAPI) error {
			// Members first: a size that changes in between makes a token look
			// less complete than it is, never more.
			members, err := keys.Get(ctx, r.key(token), &clientv2.GetOptions{Recursive: true, Quorum: true})
			if err != nil {
				return absentIfNotFound(err)
			}
			size, err := keys.Get(ctx, r.sizeKey(token), &clientv2.GetOptions{Quorum: true})
			if err != nil && code(err) != clientv2.ErrorCodeKeyNotFound {
				return err
			}
			var value *string
			if err == nil {
				value = &size.Node.Value
			}
			s, err = statusOfV2(members.Node.Nodes, value)
			return err
		})
	})
	return s, err
}

// statusOfV2 reads a token from its node's children; size is nil without one.
// The order of joining is that of the created indexes.
func statusOfV2(nodes clientv2.Nodes, size *string) (Status, error) {
	var s Status
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b *clientv2.Node) int { return cmp.Compare(a.CreatedIndex, b.CreatedIndex) })
	for _, node := range nodes {
		if m, ok := parseMember(path.Base(node.Key), node.Value); ok && !node.Dir {
			s.Members = append(s.Members, m)
		}
	}
	if size == nil {
		return s, ErrNotFound
	}
	return s.of(*size)
}

// Delete implements [Registry].
func (r *V2) Delete(ctx context.Context, token string) error {
	tried := false
	return r.first(func(endpoint string) error {
		return r.at(ctx, endpoint, func(ctx context.Context, keys clientv2.KeysAPI) error {
			_, err := keys.Delete(ctx, r.key(token), &clientv2.DeleteOptions{Recursive: true, Dir: true})
			if tried && code(err) == clientv2.ErrorCodeKeyNotFound {
				return nil
			}
			tried = true
			return absentIfNotFound(err)
		})
	})
}

// at calls do with the keys at one endpoint, within the request timeout.
func (r *V2) at(ctx context.Context, endpoint string, do func(context.Context, clientv2.KeysAPI) error) error {
	transport := r.settings.HTTPTransport()
	defer transport.CloseIdleConnections()
	client, err := clientv2.New(clientv2.Config{
		Endpoints: []string{endpoint},
		Transport: connection.Bounded(transport),
		Username:  r.settings.Username,
		Password:  r.settings.Password.Reveal(),
	})
	if err != nil {
		return err
	}
	request, cancel := context.WithTimeout(ctx, r.settings.RequestLimit())
	defer cancel()
	err = do(request, connection.CheckedKeys(client))
	if isDeniedV2(err) {
		return &DeniedError{Endpoint: endpoint, Err: plainV2(err)}
	}
	return explainV2(endpoint, err)
}

// explainV2 puts an error of client/v2 into the words of this package.
func explainV2(endpoint string, err error) error {
	var answer clientv2.Error
	var cluster *clientv2.ClusterError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, clientv2.ErrInvalidJSON), errors.Is(err, clientv2.ErrEmptyBody):
		return ErrNoV2
	case errors.As(err, &answer):
		return plainV2(err)
	case errors.As(err, &cluster) && len(cluster.Errors) > 0:
		err = cluster.Errors[0]
	}
	if isOurs(err) {
		return err
	}
	return connection.AttemptError(endpoint, err)
}

// plainV2 is the message of an answer without its code and index.
func plainV2(err error) error {
	var answer clientv2.Error
	if !errors.As(err, &answer) {
		return err
	}
	if answer.Cause == "" {
		return errors.New(answer.Message)
	}
	return errors.New(answer.Message + " (" + answer.Cause + ")")
}

// code returns the code of an answer of the keys API, 0 for any other error.
// The error comes by value.
func code(err error) int {
	var answer clientv2.Error
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.Code
}

func absentIfNotFound(err error) error {
	if code(err) == clientv2.ErrorCodeKeyNotFound {
		return ErrNotFound
	}
	return err
}

// isDeniedV2 recognises missing or wrong credentials, and those that allow too little.
func isDeniedV2(err error) bool { return code(err) == clientv2.ErrorCodeUnauthorized }

// isRefusedV2 tells the answers that mean that a write was not carried out.
// Codes from 300 on are of raft and of the server itself, after which it may
// have been.
func isRefusedV2(err error) bool {
	var answer clientv2.Error
	return errors.Is(err, clientv2.ErrInvalidJSON) || errors.As(err, &answer) && answer.Code < clientv2.ErrorCodeRaftInternal
}

var _ clientv2.CancelableTransport = (*http.Transport)(nil)
