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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
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

// client returns a client that is closed when the test ends.
func client(t *testing.T, s Settings, endpoint string) *Client {
	t.Helper()
	c, err := connect(t, t.Context(), s, endpoint)
	if err != nil {
		t.Fatal(err)
	}
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
		c := client(t, withPassword, endpoint)
		err := c.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.UserList(ctx) // requires root
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	plain := "http" + strings.TrimPrefix(endpoint, "https")
	for name, c := range map[string]struct {
		endpoint string
		change   func(s *Settings)
		kind     Kind
		answer   string
	}{
		"wrong password":             {endpoint, func(s *Settings) { s.Password = "sword" }, WrongPassword, "wrong user name or password"},
		"wrong CA":                   {endpoint, func(s *Settings) { s.TLS = etcdtest.NewPKI(t).ClientConfig(pki.Client("somebody")) }, UnknownCA, ""},
		"no client certificate":      {endpoint, func(s *Settings) { s.TLS = pki.ClientConfig(etcdtest.Cert{}) }, ClientCert, "server refuses the client certificate (remote error: tls: certificate required)"},
		"expired client certificate": {endpoint, func(s *Settings) { s.TLS = pki.ClientConfig(pki.ExpiredClient("somebody")) }, ClientCert, "server refuses the client certificate (remote error: tls: expired certificate)"},
		"plain HTTP":                 {plain, func(s *Settings) { s.Endpoints = []string{plain} }, NotEtcd, "not an etcd server, or one that expects https (it closed the connection)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withPassword
			c.change(&s)
			_, err := connect(t, t.Context(), s, c.endpoint)
			wantKind(t, err, c.kind, c.answer)
			if c.kind == WrongPassword && !errors.Is(err, rpctypes.ErrAuthFailed) {
				t.Errorf("the original error is lost: %v", err)
			}
		})
	}
	t.Run("missing root role", func(t *testing.T) {
		root := client(t, withPassword, endpoint)
		if _, err := root.UserAdd(t.Context(), "alice", "secret"); err != nil {
			t.Fatal(err)
		}
		s := withPassword
		s.Username, s.Password = "alice", "secret"
		c := client(t, s, endpoint)
		err := c.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
			return err
		})
		wantKind(t, err, PermissionDenied, "permission denied")
	})
	t.Run("address map", func(t *testing.T) {
		link := etcdtest.Proxy(t, strings.TrimPrefix(endpoint, "https://"))
		s := withPassword
		s.AddressMap = map[string]string{
			"https://localhost:1":      "https://" + link.Addr(),
			"https://infra1.example:1": "https://" + link.Addr(),
		}
		c := client(t, s, "https://localhost:1")
		if err := list(t, c); err != nil {
			t.Fatal(err)
		}
		if c.Endpoint() != "https://localhost:1" {
			t.Errorf("endpoint %s", c.Endpoint())
		}
		// The certificate is for localhost, but infra1.example is advertised.
		_, err := connect(t, t.Context(), s, "https://infra1.example:1")
		wantKind(t, err, HostMismatch,
			"certificate is for another host (x509: certificate is valid for localhost, not infra1.example)")
	})
}

func TestPasswordWhereAuthenticationComesLater(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	endpoint := cluster.Endpoints()[0]
	s := Settings{Endpoints: []string{endpoint}, Username: "root", Password: password}
	c := client(t, s, endpoint)
	if err := list(t, c); err != nil {
		t.Fatal(err)
	}
	admin := cluster.Client(t)
	if _, err := admin.UserAdd(t.Context(), "root", password); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.UserGrantRole(t.Context(), "root", "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	users := func(c *Client) error {
		return c.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.UserList(ctx)
			return err
		})
	}
	if err := users(c); err != nil {
		t.Errorf("the client that was there before: %v", err)
	}
	err := users(client(t, Settings{}, endpoint))
	wantKind(t, err, AuthRequired, "credentials required")

	// A simple token does not survive a restart of its server.
	p := cluster.Members()[0]
	p.Kill()
	p.Start()
	etcdtest.Eventually(t, "with a token from before the restart", func() error { return users(c) })
}

func TestServerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	p := cluster.Members()[0]
	s := Settings{RequestTimeout: 3 * time.Second}
	c := client(t, s, p.ClientURL())
	if err := list(t, c); err != nil {
		t.Fatal(err)
	}

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
	if err := p.WaitReady(etcdtest.WaitContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := list(t, c); err != nil {
		t.Errorf("the first request after the restart: %v", err)
	}
}

func TestLearner(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			// Without TLS, because any client certificate counts as credentials.
			cluster := etcdtest.Start(t, 1, etcdtest.Options{Version: version, Password: password})
			joiner := cluster.NewJoiner(t, "joiner")
			if _, err := cluster.Client(t).MemberAddAsLearner(t.Context(), []string{joiner.PeerURL()}); err != nil {
				t.Fatal(err)
			}
			joiner.Start()

			s := Settings{
				Endpoints: []string{"http://127.0.0.1:1", joiner.ClientURL(), cluster.Endpoints()[0]},
				Username:  "root", Password: password,
			}
			pool := &Pool{}
			t.Cleanup(func() { _ = pool.Close() })
			c, err := pool.Client(t.Context(), s.WithoutCredentials(), joiner.ClientURL())
			if err != nil {
				t.Fatal(err)
			}
			status := func(c *Client) error {
				return c.Do(t.Context(), func(ctx context.Context) error {
					status, err := c.Status(ctx, c.Endpoint())
					if err == nil && !status.IsLearner {
						err = errors.New("it does not know that it is a learner")
					}
					return err
				})
			}
			etcdtest.Eventually(t, "status of the learner", func() error { return status(c) })

			_, err = pool.Client(t.Context(), s, joiner.ClientURL())
			wantKind(t, err, Learner, "endpoint is a learner")
			wantKind(t, list(t, c), Learner, "endpoint is a learner")

			// The borrowed token does not survive the learner's process.
			joiner.Kill()
			joiner.Start()
			etcdtest.Eventually(t, "status after the restart", func() error { return status(c) })

			s.Password = "sword"
			wrong, err := pool.Client(t.Context(), s.WithoutCredentials(), joiner.ClientURL())
			if err != nil {
				t.Fatal(err)
			}
			err = status(wrong)
			if version == etcdtest.V34 {
				if err != nil {
					t.Errorf("3.4 asks for no credentials: %v", err)
				}
			} else {
				wantKind(t, err, WrongPassword, "wrong user name or password")
			}
		})
	}
}
