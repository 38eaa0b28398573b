// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"bytes"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"
)

// root is the name of the role that may do everything, and of a user that has it.
const root = "root"

// users holds users and roles: server/auth/store.go. The tokens are those that one
// process knows, until it ends: server/auth/simple_token.go.
type users struct {
	enabled  bool
	revision uint64
	users    map[string]*user
	roles    map[string][]*authpb.Permission
	tokens   map[string]*token
}

type user struct {
	password string
	roles    []string
}

// token is a login. Each use gives it its whole time again.
type token struct {
	user  string
	until time.Time
}

// tokenTTL is --auth-token-ttl.
const tokenTTL = 5 * time.Minute

func newUsers() *users {
	return &users{revision: 1, users: map[string]*user{}, roles: map[string][]*authpb.Permission{}, tokens: map[string]*token{}}
}

// identity is the user of a request and the revision of the users when it came: AuthInfo.
// The zero value is a request without a token.
type identity struct {
	name     string
	revision uint64
}

// known is requireAuthInfo, server/etcdserver/v3_server.go.
func (u *users) known(who identity) error {
	if u.enabled && who.name == "" {
		return rpctypes.ErrGRPCUserEmpty
	}
	return nil
}

// admin is IsAdminPermitted.
func (u *users) admin(who identity) error {
	one := u.users[who.name]
	switch {
	case !u.enabled:
		return nil
	case who.name == "":
		return rpctypes.ErrGRPCUserEmpty
	case one == nil:
		return rpctypes.ErrGRPCUserNotFound
	case !slices.Contains(one.roles, root):
		return rpctypes.ErrGRPCPermissionDenied
	}
	return nil
}

// may is isOpPermitted, for READ or WRITE of a key, or of a range.
func (u *users) may(who identity, kind authpb.Permission_Type, key, end []byte) error {
	one := u.users[who.name]
	switch {
	case !u.enabled:
		return nil
	case who.revision == 0:
		return rpctypes.ErrGRPCUserEmpty
	case who.revision < u.revision:
		return rpctypes.ErrGRPCAuthOldRevision
	case one != nil && (slices.Contains(one.roles, root) || u.covers(one, kind, key, end)):
		return nil
	}
	return rpctypes.ErrGRPCPermissionDenied
}

// covers reports whether the permissions of a user's roles together cover a range:
// isRangeOpPermitted, server/auth/range_perm_cache.go.
func (u *users) covers(one *user, kind authpb.Permission_Type, key, end []byte) bool {
	var all []*authpb.Permission
	for _, role := range one.roles {
		for _, p := range u.roles[role] {
			if p.PermType == kind || p.PermType == authpb.Permission_READWRITE {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *authpb.Permission) int { return bytes.Compare(a.Key, b.Key) })
	at, last := key, endOf(key, end)
	for _, p := range all {
		if bytes.Compare(p.Key, at) > 0 {
			return false
		}
		if reach := endOf(p.Key, p.RangeEnd); before(at, reach) {
			at = reach
		}
		if !before(at, last) {
			return true
		}
	}
	return false
}

// endOf returns the end of a range, nil if it has none.
func endOf(key, end []byte) []byte {
	switch {
	case len(end) == 0:
		return append(slices.Clone(key), 0)
	case len(end) == 1 && end[0] == 0:
		return nil
	}
	return end
}

// before compares ends of ranges.
func before(a, b []byte) bool { return a != nil && (b == nil || bytes.Compare(a, b) < 0) }

// permitted is what authApplierV3 checks, server/etcdserver/apply.
func (s *store) permitted(who identity, request proto.Message) error {
	u, err := s.users, error(nil)
	switch r := request.(type) {
	case *pb.RangeRequest:
		err = u.may(who, authpb.Permission_READ, r.Key, r.RangeEnd)
	case *pb.PutRequest:
		if err = u.may(who, authpb.Permission_WRITE, r.Key, nil); err == nil {
			err = s.mayUse(who, r.Lease)
		}
	case *pb.DeleteRangeRequest:
		err = u.may(who, authpb.Permission_WRITE, r.Key, r.RangeEnd)
	case *pb.TxnRequest:
		for _, c := range r.Compare {
			if err := u.may(who, authpb.Permission_READ, c.Key, c.RangeEnd); err != nil {
				return err
			}
		}
		for _, o := range slices.Concat(r.Success, r.Failure) {
			if err := s.permitted(who, operation(o)); err != nil {
				return err
			}
		}
	}
	return err
}

// operation returns the request of an operation of a transaction.
func operation(o *pb.RequestOp) proto.Message {
	switch o := o.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return o.RequestRange
	case *pb.RequestOp_RequestPut:
		return o.RequestPut
	case *pb.RequestOp_RequestDeleteRange:
		return o.RequestDeleteRange
	}
	return nil
}

// mayUse reports whether a user may write all keys of a lease.
func (s *store) mayUse(who identity, lease int64) error {
	if lease == 0 || s.users.admin(who) == nil {
		return nil
	}
	for _, key := range s.attached(lease) {
		if err := s.users.may(who, authpb.Permission_WRITE, key, nil); err != nil {
			return err
		}
	}
	return nil
}
