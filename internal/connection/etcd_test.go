// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

const password = "swordfish"

// list requests the member list through c.
func list(t *testing.T, c *Client) error {
	t.Helper()
	return c.Do(t.Context(), func(ctx context.Context) error {
		_, err := c.MemberList(ctx)
		return err
	})
}

// users requests the list of users, which requires root.
func users(t *testing.T, c *Client) error {
	t.Helper()
	return c.Do(t.Context(), func(ctx context.Context) error {
		_, err := c.UserList(ctx)
		return err
	})
}

// client returns a client that is closed when the test ends.
func client(t *testing.T, s Settings, endpoint string) *Client {
	t.Helper()
	c, err := connect(t, t.Context(), s, endpoint)
	must.Succeed(t, err)
	return c
}

// connect returns a client of a pool of its own.
func connect(t *testing.T, ctx context.Context, s Settings, endpoint string) (*Client, error) { //nolint:revive // the test comes first
	t.Helper()
	pool := &Pool{}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool.Client(ctx, s, endpoint)
}

// wantKind fails the test unless err is an [*Error] with this kind and this text, if any.
func wantKind(t *testing.T, err error, kind Kind, answer string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %v (%q), want %q", err, KindOf(err), kind)
	}
	if got := e.Answer(); answer != "" && got != answer {
		t.Errorf("answer\n got %s\nwant %s", got, answer)
	}
}

func TestMutualTLSAndPasswordTogether(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password})
	endpoint := cluster.Endpoints()[0]
	withPassword := Settings{Endpoints: []string{endpoint}, TLS: pki.ClientConfig(pki.Client("somebody")), Username: "root", Password: password}

	t.Run("both", func(t *testing.T) {
		must.Succeed(t, users(t, client(t, withPassword, endpoint)))
	})
	for name, c := range map[string]struct {
		change func(s *Settings)
		kind   Kind
		answer string
	}{
		"wrong password":             {func(s *Settings) { s.Password = "sword" }, WrongPassword, "wrong user name or password"},
		"no client certificate":      {func(s *Settings) { s.TLS = pki.ClientConfig(etcdtest.Cert{}) }, ClientCert, "server refuses the client certificate (remote error: tls: certificate required)"},
		"expired client certificate": {func(s *Settings) { s.TLS = pki.ClientConfig(pki.ExpiredClient("somebody")) }, ClientCert, "server refuses the client certificate (remote error: tls: expired certificate)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withPassword
			c.change(&s)
			_, err := connect(t, t.Context(), s, endpoint)
			wantKind(t, err, c.kind, c.answer)
			if c.kind == WrongPassword && !errors.Is(err, rpctypes.ErrAuthFailed) {
				t.Errorf("the original error is lost: %v", err)
			}
		})
	}
	t.Run("address map", func(t *testing.T) {
		link := etcdtest.Proxy(t, strings.TrimPrefix(endpoint, "https://"))
		s := withPassword
		s.AddressMap = map[string]string{
			"https://localhost:1":      "https://" + link.Addr(),
			"https://infra1.example:1": "https://" + link.Addr(),
		}
		c := client(t, s, "https://localhost:1")
		must.Succeed(t, list(t, c))
		if c.Endpoint() != "https://localhost:1" {
			t.Errorf("endpoint %s", c.Endpoint())
		}
		// The certificate is for localhost, but infra1.example is advertised.
		_, err := connect(t, t.Context(), s, "https://infra1.example:1")
		wantKind(t, err, HostMismatch,
			"certificate is for another host (x509: certificate is valid for localhost, not infra1.example)")
	})
}

// One client serves while its server stands still, is gone, and gets authentication. A restart
// then ends its token.
func TestServerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	p, endpoint := cluster.Members()[0], cluster.Endpoints()[0]
	s := Settings{Endpoints: []string{endpoint}, Username: "root", Password: password, RequestTimeout: 3 * time.Second}
	c := client(t, s, endpoint)
	must.Succeed(t, list(t, c))
	p.Freeze()
	begin := time.Now()
	wantKind(t, list(t, c), Timeout, "no answer in time")
	if took := time.Since(begin); took < s.RequestTimeout {
		t.Errorf("a request to a frozen server took %s", took)
	}
	p.Thaw()
	if err := list(t, c); err != nil {
		t.Errorf("after the thaw: %v", err)
	}
	p.Kill()
	for range 3 {
		wantKind(t, list(t, c), Refused, "connection refused")
	}
	p.Start()
	must.Succeed(t, p.WaitReady(etcdtest.WaitContext(t)))
	if err := list(t, c); err != nil {
		t.Errorf("the first request after the restart: %v", err)
	}

	admin := cluster.Client(t)
	_, err1 := admin.UserAdd(t.Context(), "root", password)
	_, err2 := admin.UserGrantRole(t.Context(), "root", "root")
	_, err3 := admin.AuthEnable(t.Context())
	must.Succeed(t, errors.Join(err1, err2, err3))
	if err := users(t, c); err != nil {
		t.Errorf("the client that was there before: %v", err)
	}
	wantKind(t, users(t, client(t, Settings{}, endpoint)), AuthRequired, "credentials required")
	p.Kill()
	p.Start()
	etcdtest.Eventually(t, "with a token from before the restart", func() error { return users(t, c) })
}
