// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// relay carries the connections of a CLI to its providers, and counts the requests without an
// answer. It knows each request from the moment at which the CLI has written it, so that a
// request on its way to a provider is never taken for a CLI that waits.
type relay struct {
	mu     sync.Mutex
	open   map[*relayed]bool
	passed atomic.Int64 // bytes, in both directions
}

// relayed is one connection of the CLI.
type relayed struct {
	relay     *relay
	cli       *net.UnixConn
	mu        sync.Mutex
	calls     map[uint32]bool // streams of calls
	waits     map[uint32]bool // those whose request is complete, and without an answer
	sent, got frames
	headers   *hpack.Decoder // of what the CLI has sent
}

// via listens for a CLI, and returns where: its connections are carried to the address.
func (r *relay) via(t *testing.T, to net.Addr) net.Addr {
	t.Helper()
	from, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(t.TempDir(), "relay")})
	must.Succeed(t, err)
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			cli, err := from.AcceptUnix()
			if err != nil {
				return // the test ends
			}
			connections.Go(func() { r.carry(cli, to) })
		}
	})
	t.Cleanup(func() {
		must.Succeed(t, from.Close())
		connections.Wait()
	})
	return from.Addr()
}

func (r *relay) carry(cli *net.UnixConn, to net.Addr) {
	c := &relayed{relay: r, cli: cli, calls: map[uint32]bool{}, waits: map[uint32]bool{}}
	c.sent.skip = len(http2.ClientPreface)
	c.headers = hpack.NewDecoder(4096, nil)
	provider, err := net.Dial(to.Network(), to.String())
	if err != nil {
		_ = cli.Close() // the CLI reports it
		return
	}
	r.mu.Lock()
	r.open[c] = true
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(provider, io.Reader(c))
		_ = provider.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(io.Writer(c), provider)
		_ = cli.Close()
	})
	both.Wait()
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
}

// Read reads from the CLI.
func (c *relayed) Read(p []byte) (n int, err error) {
	raw, err := c.cli.SyscallConn()
	if err != nil {
		return 0, err
	}
	// What is not in the socket any more is counted: see unread.
	ready := func(fd uintptr) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n, err = syscall.Read(int(fd), p)
		if n <= 0 {
			n = 0
			return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
		}
		c.relay.passed.Add(int64(n))
		c.sent.each(p[:n], c.request)
		return true
	}
	if closed := raw.Read(ready); closed != nil {
		return 0, closed
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// request takes note of a frame from the CLI. The streams of the plugin protocol itself have no
// answer as long as the CLI runs.
func (c *relayed) request(h http2.FrameHeader, block []byte) {
	if h.Type == http2.FrameHeaders {
		fields, err := c.headers.DecodeFull(block)
		c.calls[h.StreamID] = err != nil || slices.ContainsFunc(fields, func(f hpack.HeaderField) bool {
			return f.Name == ":path" && strings.HasPrefix(f.Value, "/tfplugin6.Provider/")
		})
	}
	switch {
	case h.Type == http2.FrameRSTStream:
		delete(c.waits, h.StreamID)
	case h.Type <= http2.FrameHeaders && h.Flags.Has(http2.FlagDataEndStream) && c.calls[h.StreamID]:
		c.waits[h.StreamID] = true
	}
}

// answer takes note of a frame to the CLI.
func (c *relayed) answer(h http2.FrameHeader, _ []byte) {
	ends := h.Type == http2.FrameHeaders && h.Flags.Has(http2.FlagHeadersEndStream)
	if ends || h.Type == http2.FrameRSTStream {
		delete(c.waits, h.StreamID)
	}
}

// Write writes to the CLI, whose threads wake before it returns.
func (c *relayed) Write(p []byte) (int, error) {
	n, err := c.cli.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relay.passed.Add(int64(n))
	c.got.each(p[:n], c.answer)
	return n, err
}

// unread reports whether the CLI has written what was not read yet.
func (c *relayed) unread() (some bool) {
	raw, err := c.cli.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		some = err == nil && n > 0
	})
	return some
}

// waiting returns how many requests of the CLI have no answer, or -1 if the CLI has written what
// was not read yet.
func (r *relay) waiting() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		c.mu.Lock()
		unread := c.unread()
		n += len(c.waits)
		c.mu.Unlock()
		if unread {
			return -1
		}
	}
	return n
}

// frames finds the frames in a stream of HTTP/2, however it is cut. The first skip bytes are none.
type frames struct {
	skip int
	head []byte // of a frame, and the block of its headers
}

// frameHead is the length of a frame's head.
const frameHead = 9

// each passes on each frame that is complete, or of whose payload nothing is needed, and the block
// of its headers.
func (f *frames) each(p []byte, do func(h http2.FrameHeader, block []byte)) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip -= n
			p = p[n:]
			continue
		}
		f.head = append(f.head, p[0])
		if p = p[1:]; len(f.head) < frameHead {
			continue
		}
		h, err := http2.ReadFrameHeader(bytes.NewReader(f.head))
		block := f.head[frameHead:]
		switch {
		case err != nil || h.Type == http2.FrameHeaders && len(block) < int(h.Length):
			continue
		case h.Type != http2.FrameHeaders:
			f.skip = int(h.Length)
		}
		do(h, block)
		f.head = f.head[:0]
	}
}
