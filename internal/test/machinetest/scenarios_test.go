// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// Each cluster is created, used and destroyed. (What does not depend on how a machine
// boots, such as growth, a roll and a failed machine, is tested in package simulated.)
func TestMachines(t *testing.T) {
	need(t)
	t.Run("static", static)
	t.Run("discovery", discovery)
	t.Run("tls", certificates)
	t.Run("hosts", hosts)
}

// static tests a cluster with a static bootstrap, and events in the life of machines.
func static(t *testing.T) {
	c := newCluster(t, "static", "3.6")
	c.fromNothing()
	c.underWriter("reboot of each", func() {
		for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
			c.reboot(name)
		}
	})
	c.underWriter("loss of power of all", func() {
		machines := c.cloud.all()
		for _, m := range machines {
			must.Succeed(c.t, m.powerOff())
		}
		for _, m := range machines {
			must.Succeed(c.t, m.powerOn())
		}
	})
	c.underWriter("a wiped disk, which refuses, and its replacement", func() {
		c.mustRefuseToStart("b")
		c.Apply(`-replace=terraform_data.machine["b"]`).MustSucceed()
	})
	c.destroys()
}

// mustRefuseToStart removes the data of a member. It fails the test unless
// systemctl status then shows the reason why etcd is not started.
func (c *cluster) mustRefuseToStart(name string) {
	c.t.Helper()
	m := c.cloud.machine(name)
	must.Succeed(c.t, m.powerOff())
	data := filepath.Join(m.root(), "var", "lib", "etcd")
	if _, err := os.Stat(filepath.Join(data, "member", "wal")); err != nil {
		c.t.Fatalf("there is nothing to wipe: %v", err)
	}
	must.Succeed(c.t, os.RemoveAll(data))
	must.Succeed(c.t, m.powerOn())
	etcdtest.Eventually(c.t, "systemctl status says why etcd is not started", func() error {
		status, err := m.run("systemctl", "status", "--no-pager", "--full", "--lines=20", "etcd")
		for _, want := range []string{name + " (http", "has run before and its data is gone from /var/lib/etcd: replace the member"} {
			if !strings.Contains(status, want) {
				return errors.Join(fmt.Errorf("no %q in\n%s", want, status), err)
			}
		}
		return nil
	})
}

// discovery tests a machine that reboots during its join, with a discovery cluster from the
// same apply. The etcd of a lacks v3 discovery.
func discovery(t *testing.T) {
	c := newCluster(t, "discovery", "3.6")
	c.more["registry"] = map[string]string{"address": c.cloud.address(10), "image": "3.6"}
	c.nodes["a"].Image = "3.5"
	c.fromNothing()
	c.underWriter("reboot in the middle of a join", func() {
		c.add("d")
		client := c.client()
		run := c.Start("apply")
		etcdtest.Eventually(t, "the member is added, and its machine starts etcd", func() error {
			if run.Ended() {
				t.Fatalf("the apply has ended before\n%s", run.Wait())
			}
			members, err := c.members(client)
			if err != nil || len(members) == 3 {
				return errors.Join(fmt.Errorf("members %v", slices.Sorted(maps.Keys(members))), err)
			}
			state, err := c.cloud.machine("d").run("systemctl", "show", "--property=ActiveState", "--value", "etcd")
			if err != nil || state != "activating" && state != "active" {
				return errors.Join(fmt.Errorf("etcd is %q", state), err)
			}
			return nil
		})
		c.reboot("d", "--force", "--force") // at once, without stopping services
		run.Wait().MustSucceed()
	})
	c.destroys()
}

// fromNothing creates the cluster with one apply.
func (c *cluster) fromNothing() {
	c.t.Helper()
	c.Apply().MustSucceed()
	c.mustStand()
	for name := range c.nodes {
		c.mustHaveBooted(name)
	}
}

func (c *cluster) destroys() {
	c.t.Helper()
	c.Destroy().MustSucceed()
	if left := slices.Sorted(maps.Keys(c.cloud.all())); len(left) != 0 {
		c.t.Errorf("machines that are left: %v", left)
	}
}

// mustHaveBooted fails the test unless systemd and cloud-init have completed
// the boot without failures.
func (c *cluster) mustHaveBooted(name string) {
	c.t.Helper()
	etcdtest.Until(c.t, name+" has booted", func() bool {
		status, _ := c.cloud.machine(name).run("cloud-init", "status")
		return !strings.Contains(status, "running")
	})
	if status := c.on(name, "cloud-init", "status", "--long"); !strings.Contains(status, "status: done") {
		c.t.Errorf("%s: cloud-init says\n%s", name, status)
	}
	c.on(name, "cloud-init", "schema", "--system")
	if failed := c.on(name, "systemctl", "list-units", "--failed", "--no-legend", "--plain"); failed != "" {
		c.t.Errorf("%s: units that failed:\n%s", name, failed)
	}
}

// reboot reboots a machine and returns when its etcd runs again.
func (c *cluster) reboot(name string, options ...string) {
	c.t.Helper()
	m := c.cloud.machine(name)
	etcdtest.Eventually(c.t, name+" runs", func() error {
		_, err := m.run("true")
		return err
	})
	// Do not check for the reboot on the machine: systemd stops processes there
	// when it shuts down, and nsenter then stops permanently.
	before := m.leader()
	etcdtest.Until(c.t, name+" takes the command to reboot", func() bool {
		_, err := m.run(append([]string{"systemctl", "reboot"}, options...)...)
		return err == nil || m.leader() != before
	})
	etcdtest.Until(c.t, name+" has rebooted", func() bool {
		now := m.leader()
		return now != 0 && now != before
	})
	etcdtest.Eventually(c.t, name+" runs etcd again", func() error {
		if state, err := m.run("systemctl", "is-active", "etcd"); err != nil {
			return fmt.Errorf("etcd is %q: %w", state, err)
		}
		return nil
	})
}

// underWriter does something while a writer writes through every voter. The cluster must
// stand after it, and the test fails if an acknowledged write is lost.
func (c *cluster) underWriter(what string, do func()) {
	c.t.Helper()
	writer, begin := etcdtest.NewWriter(c.t, c.clientConfig(), 25*time.Millisecond), time.Now()
	do()
	c.mustStand()
	writer.Stop()
	lost, err := writer.Lost(etcdtest.WaitContext(c.t), c.client())
	if err != nil || len(lost) > 0 {
		c.t.Errorf("%s: %d acknowledged writes are lost, %v", what, len(lost), err)
	}
	c.t.Logf("%s: %v, writes paused for %v", what, time.Since(begin).Round(time.Second), writer.LongestGap(time.Time{}))
}

// certificates tests a cluster with TLS, an image without etcd, and new certificates.
func certificates(t *testing.T) {
	c := newCluster(t, "static", "plain")
	c.secure()
	c.etcd = c.release("3.6")
	c.fromNothing()
	c.underWriter("new certificates on each of three", func() {
		started := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
			started[name] = c.on(name, "systemctl", "show", "--property=MainPID", "etcd")
			c.renew(name)
		}
		for name, before := range started {
			if now := c.on(name, "systemctl", "show", "--property=MainPID", "etcd"); now != before {
				t.Errorf("etcd of %s has started again: %s, before %s", name, now, before)
			}
			c.reboot(name)
			c.mustShow(name, c.certs[name])
		}
	})
	c.destroys()
}

// renew writes a new certificate and its key on a machine, as a renewal does,
// and fails the test unless etcd presents it.
func (c *cluster) renew(name string) {
	c.t.Helper()
	c.mustShow(name, c.certs[name])
	c.certs[name] = c.pki.Host(name+"-renewed", c.nodes[name].Address)
	for file, from := range map[string]string{"server.pem": c.certs[name].CertFile, "server-key.pem": c.certs[name].KeyFile} {
		path := filepath.Join("/etc/etcd/tls", file)
		c.on(name, "sh", "-c", `cp -p "$0" "$0.new" && printf %s "$1" >"$0.new" && mv "$0.new" "$0"`, path, must.Read(c.t, from))
	}
	c.mustShow(name, c.certs[name])
}

// mustShow fails the test unless the member presents this certificate to a client.
func (c *cluster) mustShow(name string, want etcdtest.Cert) {
	c.t.Helper()
	pair, err := tls.LoadX509KeyPair(want.CertFile, want.KeyFile)
	must.Succeed(c.t, err)
	etcdtest.Eventually(c.t, name+" shows its certificate", func() error {
		conn, err := tls.Dial("tcp", net.JoinHostPort(c.nodes[name].Address, "2379"), c.clientConfig().TLS)
		if err != nil {
			return err
		}
		defer conn.Close()
		if got := conn.ConnectionState().PeerCertificates[0].Raw; !bytes.Equal(got, pair.Certificate[0]) {
			return fmt.Errorf("it shows another")
		}
		return nil
	})
}

// release serves an etcd release over HTTPS and returns the option for the user data.
func (c *cluster) release(v etcdtest.Version) map[string]any {
	c.t.Helper()
	archive := c.archive(v)
	url := c.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	sum := sha256.Sum256(archive)
	return map[string]any{"url": url + "/etcd-linux.tar.gz", "sha256": hex.EncodeToString(sum[:])}
}

// serve serves HTTPS with a certificate that the machines trust, and returns the URL.
func (c *cluster) serve(handler http.HandlerFunc) string {
	c.t.Helper()
	c.cloud.trusted = must.Read(c.t, c.pki.CAFile)
	cert := c.pki.Host("releases", hostAddress)
	pair, err := tls.LoadX509KeyPair(cert.CertFile, cert.KeyFile)
	must.Succeed(c.t, err)
	listener, err := tls.Listen("tcp", net.JoinHostPort(hostAddress, "0"), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	must.Succeed(c.t, err)
	server := &http.Server{ErrorLog: log.New(&bytes.Buffer{}, "", 0), Handler: handler}
	go func() { _ = server.Serve(listener) }()
	c.t.Cleanup(func() { _ = server.Close() })
	return "https://" + listener.Addr().String()
}

// archive packs the programs of a version like a release.
func (c *cluster) archive(v etcdtest.Version) []byte {
	c.t.Helper()
	return etcdtest.Archive(c.t, tar.Header{Name: "etcd-v" + string(v) + "-linux/", Mode: 0o755}, map[string]string{
		"etcd": must.Read(c.t, etcdtest.Binary(c.t, v)), "etcdctl": must.Read(c.t, etcdtest.EtcdctlBinary(c.t, v)), "etcdutl": must.Read(c.t, etcdtest.EtcdutlBinary(c.t, v)),
	})
}
