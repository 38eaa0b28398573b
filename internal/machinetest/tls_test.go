// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// certificates tests a cluster with TLS, an image without etcd, and new certificates.
func certificates(t *testing.T) {
	c := newCluster(t, "static", "plain")
	c.secure()
	c.etcd = c.release("3.6")
	c.fromNothing("TLS, etcd by download")
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
		c.mustStand()
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
		c.on(name, "sh", "-c", `cp -p "$0" "$0.new" && printf %s "$1" >"$0.new" && mv "$0.new" "$0"`, path, c.file(from))
	}
	c.mustShow(name, c.certs[name])
}

// mustShow fails the test unless the member presents this certificate to a client.
func (c *cluster) mustShow(name string, want etcdtest.Cert) {
	c.t.Helper()
	pair, err := tls.LoadX509KeyPair(want.CertFile, want.KeyFile)
	c.must(err)
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

// release serves an etcd release over HTTPS, with a certificate that the
// machines trust, and returns the option for the user data.
func (c *cluster) release(v etcdtest.Version) map[string]any {
	c.t.Helper()
	c.cloud.trusted = c.file(c.pki.CAFile)
	archive := c.archive(v)
	cert := c.pki.Host("releases", hostAddress)
	pair, err := tls.LoadX509KeyPair(cert.CertFile, cert.KeyFile)
	c.must(err)
	listener, err := tls.Listen("tcp", net.JoinHostPort(hostAddress, "0"), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	c.must(err)
	server := &http.Server{ErrorLog: log.New(&bytes.Buffer{}, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })}
	go func() { _ = server.Serve(listener) }()
	c.t.Cleanup(func() { _ = server.Close() })
	sum := sha256.Sum256(archive)
	return map[string]any{"url": fmt.Sprintf("https://%s/etcd-linux.tar.gz", listener.Addr()), "sha256": hex.EncodeToString(sum[:])}
}

// archive packs the programs of a version like a release.
func (c *cluster) archive(v etcdtest.Version) []byte {
	c.t.Helper()
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	c.must(err)
	files := tar.NewWriter(zip)
	for name, path := range map[string]string{"etcd": etcdtest.Binary(c.t, v), "etcdctl": etcdtest.EtcdctlBinary(c.t, v), "etcdutl": etcdtest.EtcdutlBinary(c.t, v)} {
		text, err := os.ReadFile(path)
		c.must(err)
		c.must(files.WriteHeader(&tar.Header{Name: "etcd-v" + string(v) + "-linux/" + name, Mode: 0o755, Size: int64(len(text))}))
		_, err = files.Write(text)
		c.must(err)
	}
	c.must(files.Close())
	c.must(zip.Close())
	return packed.Bytes()
}
