// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// entry is one member as a peer port lists it. The tests with etcd get real
// answers.
type entry struct {
	ID         uint64   `json:"id"`
	PeerURLs   []string `json:"peerURLs"`
	Name       string   `json:"name,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	IsLearner  bool     `json:"isLearner,omitempty"`
}

// peer simulates a member's peer port, for states that are hard to create with
// a real etcd.
type peer struct {
	url   string
	asked atomic.Int32
	serve atomic.Pointer[http.HandlerFunc]
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if h := p.serve.Load(); h != nil {
			(*h)(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *peer) handle(h http.HandlerFunc) { p.serve.Store(&h) }

func reply(w http.ResponseWriter, cluster string, members ...entry) {
	w.Header().Set("X-Etcd-Cluster-ID", cluster)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(members)
}

// replyWith answers with a code, of a cluster, with a text.
func replyWith(w http.ResponseWriter, r *http.Request, code int, cluster, text string) {
	if cluster != "" && cluster != "-" {
		w.Header().Set("X-Etcd-Cluster-ID", cluster)
	}
	w.Header().Set("Location", "http://"+r.Host+"/members")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// hang accepts a request and does not answer.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// own is the peer URL of the member for which the script runs. Nothing listens
// there or at dead.
const (
	own  = "http://127.0.0.1:1"
	dead = "http://127.0.0.1:2"
)

// full returns a URL whose host drops connection requests because the queue of
// its port is full.
func full(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	bound, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("the port is %T", name)
	}
	address := fmt.Sprintf("127.0.0.1:%d", bound.Port)
	for range 16 {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			if !strings.Contains(err.Error(), "timeout") {
				t.Fatal(err)
			}
			return "http://" + address
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("the port takes every connection")
	return ""
}
