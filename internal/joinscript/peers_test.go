// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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
	steps atomic.Pointer[[]step]
}

// step is how a peer answers until it was asked so many times, and the last one always.
type step struct {
	until  int32
	answer http.HandlerFunc
}

func newPeer(t *testing.T, steps ...step) *peer {
	t.Helper()
	p := &peer{}
	p.steps.Store(&steps)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, steps := p.asked.Add(1), *p.steps.Load()
		i := slices.IndexFunc(steps, func(one step) bool { return n <= one.until })
		if i < 0 {
			i = len(steps) - 1
		}
		steps[i].answer(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

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
	t.Cleanup(func() { _ = syscall.Close(fd) })
	err = errors.Join(err, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0))
	name, named := syscall.Getsockname(fd)
	bound, ok := name.(*syscall.SockaddrInet4)
	if err != nil || !ok {
		t.Fatal(err, named)
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
