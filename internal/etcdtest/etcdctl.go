// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

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
	cmd.Env = slices.Concat(inheritedEnvironment(), []string{"ETCDCTL_API=3"}, env)
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
