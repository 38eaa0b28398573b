// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"errors"
	"io"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// with returns a context for calls with a token.
func with(tb etcdtest.TB, token string) context.Context {
	return metadata.AppendToOutgoingContext(within(tb), rpctypes.TokenFieldNameGRPC, token)
}

// login returns a context for calls of a user.
func login(tb etcdtest.TB, m member, name string) context.Context {
	tb.Helper()
	got, err := m.Authenticate(within(tb), name, name+"-pw")
	ok(tb, err)
	return with(tb, got.Token)
}

// secured enables authentication, and returns a context for calls of root and what
// disables it again.
func secured(tb etcdtest.TB, m member) (admin context.Context, disable func()) {
	tb.Helper()
	ctx := within(tb)
	if _, err := m.UserAdd(ctx, root, root+"-pw"); !errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		ok(tb, err)
	}
	_, err := m.UserGrantRole(ctx, root, root)
	ok(tb, err)
	_, err = m.AuthEnable(ctx)
	ok(tb, err)
	admin = login(tb, m, root)
	return admin, func() {
		tb.Helper()
		_, err := m.AuthDisable(login(tb, m, root))
		ok(tb, err)
	}
}

// managed states the header of an answer of the service Auth.
func managed[A interface{ GetHeader() *pb.ResponseHeader }](tb etcdtest.TB, ctx context.Context, m member, answer A, err error) { //nolint:revive // the test comes first
	tb.Helper()
	ok(tb, err)
	st, err := m.Status(ctx, m.url())
	ok(tb, err)
	h := answer.GetHeader()
	same(tb, "header", line(h.ClusterId, h.MemberId, h.RaftTerm, h.Revision), line(st.Header.ClusterId, st.Header.MemberId, st.RaftTerm, st.Header.Revision))
}

// Users and roles are made, and only root can change them afterwards.
func usersCase(tb etcdtest.TB, s system) {
	m := open(tb, s.servers()...)[0]
	ctx := within(tb)
	_, err := m.Authenticate(ctx, root, root+"-pw")
	refused(tb, err, rpctypes.ErrAuthNotEnabled)
	_, err = m.AuthEnable(ctx)
	refused(tb, err, rpctypes.ErrRootUserNotExist)

	user, err := m.UserAdd(ctx, root, "another")
	managed(tb, ctx, m, (*pb.AuthUserAddResponse)(user), err)
	_, err = m.UserAdd(ctx, root, "another")
	refused(tb, err, rpctypes.ErrUserAlreadyExist)
	_, err = m.UserAdd(ctx, "", "another")
	refused(tb, err, rpctypes.ErrUserEmpty)
	password, err := m.UserChangePassword(ctx, root, root+"-pw")
	managed(tb, ctx, m, (*pb.AuthUserChangePasswordResponse)(password), err)
	_, err = m.UserChangePassword(ctx, "nobody", root+"-pw")
	refused(tb, err, rpctypes.ErrUserNotFound)
	_, err = m.AuthEnable(ctx)
	refused(tb, err, rpctypes.ErrRootRoleNotExist)

	role, err := m.RoleAdd(ctx, "role")
	managed(tb, ctx, m, (*pb.AuthRoleAddResponse)(role), err)
	_, err = m.RoleAdd(ctx, "role")
	refused(tb, err, rpctypes.ErrRoleAlreadyExist)
	_, err = m.RoleAdd(ctx, "")
	refused(tb, err, rpctypes.ErrRoleEmpty)
	read := clientv3.PermissionType(clientv3.PermRead)
	permitted, err := m.RoleGrantPermission(ctx, "role", "k", "", read)
	managed(tb, ctx, m, (*pb.AuthRoleGrantPermissionResponse)(permitted), err)
	_, err = m.RoleGrantPermission(ctx, "none", "k", "", read)
	refused(tb, err, rpctypes.ErrRoleNotFound)

	for _, role := range []string{"role", root, root} { // the last one changes nothing
		granted, err := m.UserGrantRole(ctx, root, role)
		managed(tb, ctx, m, (*pb.AuthUserGrantRoleResponse)(granted), err)
	}
	_, err = m.UserGrantRole(ctx, root, "none")
	refused(tb, err, rpctypes.ErrRoleNotFound)
	_, err = m.UserGrantRole(ctx, "nobody", root)
	refused(tb, err, rpctypes.ErrUserNotFound)

	enabled, err := m.AuthEnable(ctx)
	ok(tb, err)
	got, err := m.Authenticate(ctx, root, root+"-pw")
	ok(tb, err)
	admin := with(tb, got.Token)
	managed(tb, admin, m, (*pb.AuthEnableResponse)(enabled), nil)
	managed(tb, admin, m, (*pb.AuthenticateResponse)(got), nil)
	_, err = m.UserAdd(admin, "plain", "plain-pw")
	ok(tb, err)
	for who, want := range map[context.Context]error{ctx: rpctypes.ErrUserEmpty, login(tb, m, "plain"): rpctypes.ErrPermissionDenied} {
		for _, do := range []func() error{
			func() error { _, err := m.UserAdd(who, "x", "x"); return err },
			func() error { _, err := m.UserGrantRole(who, "plain", root); return err },
			func() error { _, err := m.RoleGrantPermission(who, "role", "k", "", read); return err },
			func() error { _, err := m.AuthDisable(who); return err },
		} {
			refused(tb, do(), want)
		}
	}
	_, err = m.Authenticate(ctx, "plain", "another")
	refused(tb, err, rpctypes.ErrAuthFailed)
	_, err = m.Authenticate(ctx, "nobody", "plain-pw")
	refused(tb, err, rpctypes.ErrAuthFailed)
	disabled, err := m.AuthDisable(admin)
	managed(tb, ctx, m, (*pb.AuthDisableResponse)(disabled), err)
}

// denied runs requests as a user, and states which of them are denied.
func denied(tb etcdtest.TB, ctx context.Context, m member, lease clientv3.LeaseID, want string) { //nolint:revive // the test comes first
	tb.Helper()
	var out []string
	for _, do := range []struct {
		what string
		do   func() error
	}{
		{"get", func() error { _, err := m.Get(ctx, "p/a"); return err }},
		{"local get", func() error { _, err := m.Get(ctx, "p/a", clientv3.WithSerializable()); return err }},
		{"range", func() error { _, err := m.Get(ctx, "p/", clientv3.WithPrefix()); return err }},
		{"two ranges", func() error { _, err := m.Get(ctx, "p/", clientv3.WithRange("p1/")); return err }},
		{"wider range", func() error { _, err := m.Get(ctx, "p", clientv3.WithPrefix()); return err }},
		{"rest", func() error { _, err := m.Get(ctx, "p/", clientv3.WithFromKey()); return err }},
		{"put", func() error { _, err := m.Put(ctx, "p/a", ""); return err }},
		{"put and get", func() error { _, err := m.Put(ctx, "p/a", "", clientv3.WithPrevKV()); return err }},
		{"put with lease", func() error { _, err := m.Put(ctx, "p/a", "", clientv3.WithLease(lease)); return err }},
		{"delete", func() error { _, err := m.Delete(ctx, "p/a"); return err }},
		{"delete range", func() error { _, err := m.Delete(ctx, "p/", clientv3.WithPrefix()); return err }},
		{"compare", func() error {
			_, err := m.Txn(ctx).If(clientv3.Compare(clientv3.Version("p/a"), "=", 0)).Then(clientv3.OpPut("w/a", "")).Commit()
			return err
		}},
		{"read-only transaction", func() error { _, err := m.Txn(ctx).Then(clientv3.OpGet("p/a")).Commit(); return err }},
		{"transaction", func() error {
			_, err := m.Txn(ctx).Else(clientv3.OpDelete("p/a"), clientv3.OpGet("p/a")).Commit()
			return err
		}},
		{"keep alive", func() error { _, err := m.KeepAliveOnce(ctx, lease); return err }},
		{"time to live", func() error { _, err := m.TimeToLive(ctx, lease); return err }},
		{"keys of a lease", func() error { _, err := m.TimeToLive(ctx, lease, clientv3.WithAttachedKeys()); return err }},
		{"revoke", func() error { _, err := m.Revoke(ctx, lease); return err }},
	} {
		err := do.do()
		if errors.Is(err, rpctypes.ErrPermissionDenied) {
			out = append(out, do.what)
			continue
		}
		ok(tb, err)
	}
	same(tb, "denied", strings.Join(out, ", "), want)
}

// Permissions are on keys and on ranges, which add up.
func permissionsCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	m := ms[1]
	admin, disable := secured(tb, m)
	defer disable()
	for name, p := range map[string][]struct {
		key, end string
		kind     clientv3.PermissionType
	}{
		"reader":    {{"p/", "p0", clientv3.PermissionType(clientv3.PermRead)}},
		"writer":    {{"p/", "p0", clientv3.PermissionType(clientv3.PermWrite)}, {"w/a", "", clientv3.PermissionType(clientv3.PermWrite)}},
		"both":      {{"p/", "p0", clientv3.PermissionType(clientv3.PermReadWrite)}, {"w/", "w0", clientv3.PermissionType(clientv3.PermReadWrite)}},
		"parts":     {{"p/", "p/m", clientv3.PermissionType(clientv3.PermRead)}, {"p/c", "p2", clientv3.PermissionType(clientv3.PermRead)}},
		"rest":      {{"p", "\x00", clientv3.PermissionType(clientv3.PermReadWrite)}},
		"other":     {{"x", "", clientv3.PermissionType(clientv3.PermReadWrite)}},
		"corrected": {{"p/", "p0", clientv3.PermissionType(clientv3.PermReadWrite)}, {"p/", "p0", clientv3.PermissionType(clientv3.PermRead)}},
	} {
		_, err := m.RoleAdd(admin, name)
		ok(tb, err)
		for _, one := range p {
			_, err = m.RoleGrantPermission(admin, name, one.key, one.end, one.kind)
			ok(tb, err)
		}
		_, err = m.UserAdd(admin, name, name+"-pw")
		ok(tb, err)
		_, err = m.UserGrantRole(admin, name, name)
		ok(tb, err)
	}
	_, err := m.Put(admin, "a key of no lease", "")
	ok(tb, err)
	const (
		reads  = "get, local get, range, two ranges, wider range, rest"
		writes = "put, put and get, put with lease, delete, delete range"
	)
	for name, want := range map[string]string{
		root:        "",
		"reader":    "two ranges, wider range, rest, " + writes + ", compare, transaction, keep alive, revoke",
		"writer":    reads + ", put and get, put with lease, compare, read-only transaction, transaction, keep alive, keys of a lease, revoke",
		"both":      "two ranges, wider range, rest, put with lease, keep alive, keys of a lease, revoke",
		"parts":     "wider range, rest, " + writes + ", compare, transaction, keep alive, revoke",
		"rest":      "",
		"other":     reads + ", " + writes + ", compare, read-only transaction, transaction, keep alive, keys of a lease, revoke",
		"corrected": "two ranges, wider range, rest, " + writes + ", compare, transaction, keep alive, revoke",
	} {
		lease, err := m.Grant(admin, 1000)
		ok(tb, err)
		key := map[string]string{"both": "z", "writer": "z"}[name] // which they may not write
		if key == "" {
			key = "p/lease"
		}
		_, err = m.Put(admin, key, "", clientv3.WithLease(lease.ID))
		ok(tb, err)
		denied(tb, login(tb, m, name), m, lease.ID, want)
	}
	// Without a role a user sees the members, and changes nothing.
	_, err = m.UserAdd(admin, "plainer", "plainer-pw")
	ok(tb, err)
	plain := login(tb, m, "plainer")
	_, err = m.Get(plain, "p/a")
	refused(tb, err, rpctypes.ErrPermissionDenied)
	list, err := m.MemberList(plain)
	ok(tb, err)
	id := list.Members[0].ID
	_, err = m.AlarmList(plain)
	ok(tb, err)
	_, err = m.Grant(plain, 1000)
	ok(tb, err)
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := m.MemberAdd(ctx, []string{"http://127.0.0.1:1"})
			return err
		},
		func(ctx context.Context) error { _, err := m.MemberRemove(ctx, id); return err },
		func(ctx context.Context) error { _, err := m.MemberPromote(ctx, id); return err },
		func(ctx context.Context) error {
			_, err := m.MemberUpdate(ctx, id, []string{"http://127.0.0.1:1"})
			return err
		},
		func(ctx context.Context) error { _, err := m.MoveLeader(ctx, id); return err },
		func(ctx context.Context) error {
			_, err := m.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: id, Alarm: pb.AlarmType_NOSPACE})
			return err
		},
	} {
		refused(tb, do(plain), rpctypes.ErrPermissionDenied)
		refused(tb, do(within(tb)), rpctypes.ErrUserEmpty)
	}
	same(tb, "a snapshot", copied(plain, m), "permission denied")
	same(tb, "a snapshot", copied(within(tb), m), "user name is empty")
	same(tb, "a snapshot", copied(admin, m), "")
	answer := <-m.Watch(plain, "p/a")
	same(tb, "a watch", answer.Canceled, true)
}

// copied returns what a snapshot is denied with.
func copied(ctx context.Context, m member) string {
	r, err := m.Snapshot(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err == nil {
		return ""
	}
	text := strings.Split(rpctypes.ErrorDesc(err), ": ") // "etcdserver: " from 3.6 on
	return text[len(text)-1]
}

// Any member knows a token, until it ends, the password changes or authentication is
// disabled. A token that a member does not know is an error even where none is needed.
func tokensCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	_, others := leader(tb, ms)
	m, one := others[0], others[1]
	admin, disable := secured(tb, m)
	_, err := m.UserAdd(admin, "user", "user-pw")
	ok(tb, err)
	user := login(tb, m, "user")
	for _, on := range ms {
		// Each of them waits until it has applied the login.
		_, err := on.MemberList(user)
		ok(tb, err)
		for what, do := range map[string]func(context.Context) error{
			"status": func(ctx context.Context) error { _, err := on.Status(ctx, on.url()); return err },
			"list":   func(ctx context.Context) error { _, err := on.MemberList(ctx, clientv3.WithSerializable()); return err },
			"get":    func(ctx context.Context) error { _, err := on.Get(ctx, "k", clientv3.WithSerializable()); return err },
			"grant":  func(ctx context.Context) error { _, err := on.Grant(ctx, 1000); return err },
		} {
			if err := do(within(tb)); !errors.Is(err, rpctypes.ErrUserEmpty) {
				tb.Fatalf("%s without a token: %v", what, err)
			}
		}
	}
	for _, token := range []string{"x", "x.1"} {
		_, err = m.Put(with(tb, token), "k", "")
		refused(tb, err, rpctypes.ErrInvalidAuthToken)
	}
	_, err = one.Put(admin, "k", "")
	ok(tb, err)
	same(tb, "a snapshot", copied(admin, one), "") // which writes the login to the disk
	one.powerOff()
	one.start(tb)
	etcdtest.Eventually(tb, "the member is back", func() error {
		return short(func(ctx context.Context) error { _, err := one.Authenticate(ctx, "user", "user-pw"); return err })
	})
	_, err = one.Put(user, "k", "")
	refused(tb, err, rpctypes.ErrInvalidAuthToken)
	_, err = m.MemberList(user)
	ok(tb, err)

	_, err = m.UserChangePassword(admin, "user", "user-pw")
	ok(tb, err)
	_, err = m.Put(user, "k", "")
	refused(tb, err, rpctypes.ErrInvalidAuthToken)
	user = login(tb, m, "user")
	disable()
	_, err = m.Get(user, "k") // tokens are not looked at
	ok(tb, err)
	_, disable = secured(tb, m)
	_, err = m.Put(user, "k", "")
	refused(tb, err, rpctypes.ErrInvalidAuthToken)
	disable()
}
