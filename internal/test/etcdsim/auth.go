// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// who returns the user whose token a request brings: AuthInfoFromCtx, server/auth/store.go.
// A process that has not applied the login yet waits for it. Without a token it is the
// common name: AuthInfoFromTLS.
func (p *Process) who(ctx context.Context) (identity, error) {
	u := p.state.users
	md, _ := metadata.FromIncomingContext(ctx)
	tokens := md.Get(rpctypes.TokenFieldNameGRPC)
	if name, _ := ctx.Value(commonName{}).(string); u.enabled && len(tokens) == 0 && name != "" {
		return identity{name, u.revision}, nil
	}
	if !u.enabled || len(tokens) == 0 {
		return identity{}, nil
	}
	_, text, _ := strings.Cut(tokens[0], ".")
	index, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return identity{}, rpctypes.ErrGRPCInvalidAuthToken
	}
	if err := p.c.n.wait(ctx, p, 0, nil, func() bool { return p.c.index(p.applied) >= index }); err != nil {
		return identity{}, err
	}
	t := u.tokens[tokens[0]]
	if t == nil || time.Now().After(t.until) {
		return identity{}, rpctypes.ErrGRPCInvalidAuthToken
	}
	t.until = time.Now().Add(tokenTTL)
	return identity{t.user, u.revision}, nil
}

// enter checks what a request needs before anything else: a user, or the role root.
func (p *Process) enter(ctx context.Context, request proto.Message) error {
	need := (*users).admin
	switch r := request.(type) {
	case *pb.MemberAddRequest, *pb.MemberRemoveRequest, *pb.MemberUpdateRequest, *pb.MemberPromoteRequest, *pb.MoveLeaderRequest,
		*pb.SnapshotRequest, *pb.DowngradeRequest:
	case *pb.StatusRequest, *pb.LeaseGrantRequest, *pb.LeaseRevokeRequest, *pb.LeaseTimeToLiveRequest, *pb.LeaseKeepAliveRequest:
		need = (*users).known
	case *pb.AlarmRequest:
		if r.Action == pb.AlarmRequest_GET {
			need = (*users).known
		}
	default:
		return nil
	}
	who, err := p.who(ctx)
	if err == nil {
		err = need(p.state.users, who)
	}
	return err
}

// login is Authenticate, server/etcdserver/v3_server.go.
func (p *Process) login(ctx context.Context, r *pb.AuthenticateRequest) (proto.Message, error) {
	if err := p.confirm(ctx); err != nil {
		return nil, err
	}
	check := func(u *users) error {
		switch one := u.users[r.Name]; {
		case !u.enabled:
			return rpctypes.ErrGRPCAuthNotEnabled
		case one == nil || one.password != r.Password:
			return rpctypes.ErrGRPCAuthFailed
		}
		return nil
	}
	if err := check(p.state.users); err != nil {
		return nil, err
	}
	return p.fill(p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) {
		if err := check(s.users); err != nil {
			return nil, err
		}
		name := fmt.Sprint("etcdsim.", s.index)
		s.users.tokens[name] = &token{r.Name, time.Now().Add(tokenTTL)}
		return &pb.AuthenticateResponse{Header: &pb.ResponseHeader{Revision: s.rev}, Token: name}, nil
	}))
}

// manage proposes a request of the service Auth, which needs the role root.
func (p *Process) manage(ctx context.Context, request proto.Message) (proto.Message, error) {
	who, err := p.who(ctx)
	if err != nil {
		return nil, err
	}
	return p.fill(p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) {
		if err := s.users.admin(who); err != nil {
			return nil, err
		}
		return s.users.manage(request, &pb.ResponseHeader{Revision: s.rev})
	}))
}

// manage applies a request of the service Auth.
func (u *users) manage(request proto.Message, h *pb.ResponseHeader) (proto.Message, error) {
	switch r := request.(type) {
	case *pb.AuthEnableRequest:
		return &pb.AuthEnableResponse{Header: h}, u.enable()
	case *pb.AuthDisableRequest:
		u.disable()
		return &pb.AuthDisableResponse{Header: h}, nil
	case *pb.AuthUserAddRequest:
		return &pb.AuthUserAddResponse{Header: h}, u.addUser(r)
	case *pb.AuthUserGrantRoleRequest:
		return &pb.AuthUserGrantRoleResponse{Header: h}, u.grant(r.User, r.Role)
	case *pb.AuthRoleAddRequest:
		return &pb.AuthRoleAddResponse{Header: h}, u.addRole(r.Name)
	case *pb.AuthRoleGrantPermissionRequest:
		return &pb.AuthRoleGrantPermissionResponse{Header: h}, u.permit(r.Name, r.Perm)
	}
	return nil, status.Errorf(codes.Unimplemented, "%T is not simulated", request)
}

func (u *users) enable() error {
	switch one := u.users[root]; {
	case one == nil:
		return rpctypes.ErrGRPCRootUserNotExist
	case !slices.Contains(one.roles, root):
		return rpctypes.ErrGRPCRootRoleNotExist
	}
	u.enabled = true
	return nil
}

func (u *users) disable() {
	if u.enabled {
		u.enabled = false
		u.revision++
		clear(u.tokens)
	}
}

func (u *users) addUser(r *pb.AuthUserAddRequest) error {
	if r.GetOptions().GetNoPassword() || u.users[r.Name] != nil {
		return status.Error(codes.Unimplemented, "users without a password, or twice, are not simulated")
	}
	u.users[r.Name] = &user{password: r.Password}
	u.revision++
	return nil
}

func (u *users) grant(name, role string) error {
	one := u.users[name]
	if one == nil {
		return rpctypes.ErrGRPCUserNotFound
	}
	if _, ok := u.roles[role]; !ok && role != root {
		return rpctypes.ErrGRPCRoleNotFound
	}
	if !slices.Contains(one.roles, role) {
		one.roles = append(one.roles, role)
		u.revision++
	}
	return nil
}

func (u *users) addRole(name string) error {
	if _, ok := u.roles[name]; ok {
		return rpctypes.ErrGRPCRoleAlreadyExist
	}
	u.roles[name] = nil
	u.revision++
	return nil
}

// permit replaces the permission for the same range.
func (u *users) permit(role string, p *authpb.Permission) error {
	granted, ok := u.roles[role]
	if !ok {
		return rpctypes.ErrGRPCRoleNotFound
	}
	granted = slices.DeleteFunc(slices.Clone(granted), func(o *authpb.Permission) bool {
		return bytes.Equal(o.Key, p.Key) && bytes.Equal(o.RangeEnd, p.RangeEnd)
	})
	u.roles[role] = append(granted, p)
	u.revision++
	return nil
}
