// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// tap is a port that must get nothing: it counts the connections to it.
func tap(t *testing.T, host string) (port string, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, connections
}

// A real member advertises three addresses besides its own: its host in the
// clear, another host with TLS, and another host in the clear. With a password,
// none of them is dialled, by an Observe or a Look, and the member is asked at
// the endpoint.
func TestAdvertisedURLsGetNoPassword(t *testing.T) {
	t.Parallel()
	const password = "Tr0ub4dor"
	pki := etcdtest.NewPKI(t)
	plainPort, plain := tap(t, "127.0.0.1")
	otherPort, other := tap(t, "127.7.0.1")
	bothPort, both := tap(t, "127.7.0.2")
	extra := []string{"http://127.0.0.1:" + plainPort, "https://127.7.0.1:" + otherPort, "http://127.7.0.2:" + bothPort}
	c := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password, Advertise: extra})

	s := connection.Settings{
		Endpoints: c.Endpoints(), TLS: pki.ClientConfig(pki.Client("run")), Username: "root", Password: password,
		MetadataPrefix: connection.DefaultMetadataPrefix,
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	client := New(s, pool)
	for name, look := range map[string]func() (membership.Snapshot, error){
		"Observe": func() (membership.Snapshot, error) { return client.Observe(t.Context(), 0) },
		"Look":    func() (membership.Snapshot, error) { return client.Look(t.Context(), 0) },
	} {
		snap, err := look()
		if err != nil {
			t.Fatal(err)
		}
		m := snap.Members[0]
		if len(m.ClientURLs) != 4 {
			t.Fatalf("it advertises %v", m.ClientURLs)
		}
		if a := snap.Answer(m.ID); a.State != membership.Answered || a.Endpoint != c.Endpoints()[0] {
			t.Errorf("%s: got %+v", name, a)
		}
		if n := plain.Load() + other.Load() + both.Load(); n != 0 {
			t.Errorf("%s made %d connections to addresses that no argument names", name, n)
		}
	}
}
