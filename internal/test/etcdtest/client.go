// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

const (
	dialTimeout  = 2 * time.Second
	probeTimeout = time.Second // one request to one member
)

// errNotForLearners is the error that a learner returns to most calls. Package
// rpctypes exports only its server form.
var errNotForLearners = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// clientConfig returns a configuration with TLS and, if wanted, the password.
func (o Options) clientConfig(withPassword bool, endpoints ...string) clientv3.Config {
	cfg := clientv3.Config{
		Endpoints:   endpoints,
		DialTimeout: dialTimeout,
		Logger:      zap.NewNop(),
		// Connect quickly to a server that has just started: by default gRPC
		// waits a second after the first refused connection.
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 250 * time.Millisecond},
			MinConnectTimeout: dialTimeout,
		})},
	}
	if o.TLS != nil {
		cfg.TLS = o.TLS.ClientConfig(o.TLS.Client(clientName))
	}
	if withPassword && o.Password != "" {
		cfg.Username, cfg.Password = user, o.Password
	}
	return cfg
}

func newClient(tb TB, cfg clientv3.Config) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(cfg)
	must.Succeed(tb, err)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Client returns a client of this process only, with TLS and password if the
// options have them. The client is closed when the test ends. With a password,
// the process must already serve.
func (p *Process) Client(tb TB) *clientv3.Client {
	tb.Helper()
	return newClient(tb, p.opts.clientConfig(true, p.ClientURL()))
}

// WaitReady waits until the process serves. A voter serves when a linearizable
// read through it succeeds. A learner, which does not serve such reads, serves
// when it returns its status. If the process ends in the meantime and no
// supervisor restarts it, WaitReady returns at once.
func (p *Process) WaitReady(ctx context.Context) error {
	var client *clientv3.Client // nil until it has logged in
	defer func() {
		if client != nil {
			_ = client.Close()
		}
	}()
	err := poll(ctx, 20*time.Millisecond, func(ctx context.Context) (err error) {
		if err := p.gone(); err != nil {
			return finalError{err}
		}
		if client == nil {
			client, err = clientv3.New(p.opts.clientConfig(true, p.ClientURL()))
		}
		if errors.Is(err, errNotForLearners) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("login: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		status, err := client.Status(ctx, p.ClientURL())
		if err != nil {
			return fmt.Errorf("status: %w", err)
		}
		if status.IsLearner {
			return nil
		}
		if _, err := client.Get(ctx, "etcdtest/ready"); err != nil {
			return fmt.Errorf("linearizable read: %w", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s (etcd %s, %s) is not ready: %w", p.Name, p.Version, p.ClientURL(), err)
	}
	return nil
}

// gone returns an error if the process has ended and will not be restarted.
func (p *Process) gone() error {
	r := p.currentRun()
	if r == nil {
		return errors.New("it was never started")
	}
	if r.ended() {
		return fmt.Errorf("it has ended; its log ends:\n%s", p.lastLines(5))
	}
	return nil
}

// Etcdctl runs etcdctl of the cluster's version against all members, with TLS
// and password if the options have them, and returns its standard output. The
// error contains the standard error. etcdctl gives up after a fifth of [WaitLimit].
func (c *Cluster) Etcdctl(args ...string) (string, error) {
	c.tb.Helper()
	env := []string{"ETCDCTL_ENDPOINTS=" + strings.Join(c.Endpoints(), ",")}
	if c.opts.TLS != nil {
		cert := c.opts.TLS.Client(clientName)
		env = append(env, "ETCDCTL_CACERT="+c.opts.TLS.CAFile, "ETCDCTL_CERT="+cert.CertFile, "ETCDCTL_KEY="+cert.KeyFile)
	}
	if c.opts.Password != "" {
		env = append(env, "ETCDCTL_USER="+user+":"+c.opts.Password)
	}
	return Etcdctl(c.tb, c.opts.Version, env, args...)
}

// Etcdctl runs etcdctl with these variables; see [Cluster.Etcdctl].
func Etcdctl(tb TB, v Version, env []string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(WaitContext(tb), EtcdctlBinary(tb, v), append([]string{"--command-timeout=" + (WaitLimit / 5).String()}, args...)...)
	cmd.Env = slices.Concat(CleanEnvironment(), []string{"ETCDCTL_API=3"}, env)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("etcdctl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// EtcdutlStatus runs etcdutl snapshot status on the file at path, and returns its
// revision. etcdutl reads the whole database; the test fails unless it is consistent.
func EtcdutlStatus(tb TB, path string) (revision int64) {
	tb.Helper()
	var out struct{ Revision int64 }
	var stderr strings.Builder
	cmd := exec.CommandContext(WaitContext(tb), EtcdutlBinary(tb, V36), "snapshot", "status", path, "--write-out=json")
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		tb.Fatalf("etcdtest: etcdutl snapshot status %s: %v\n%s", path, err, stderr.String())
	}
	return out.Revision
}
