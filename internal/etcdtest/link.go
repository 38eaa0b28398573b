// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// Link is a TCP proxy in front of a target. It can be cut: members and clients
// that dial the link are then cut off from the target, which keeps running.
type Link struct {
	targets  []string // used in turn
	listener net.Listener
	ctx      context.Context // until the test ends
	wg       sync.WaitGroup

	mu      sync.Mutex
	count   int
	cut     bool
	cutFrom map[*Process]bool // processes whose connections are cut while the link is not
	delay   func() time.Duration
	changed chan struct{} // closed and replaced when one of these changes
	conns   map[*linkConn]struct{}
	source  func(net.Conn) *Process // returns the dialling process; nil if this is not needed
}

// linkConn is an accepted connection together with the one to the target.
type linkConn struct {
	ctx   context.Context // until it is closed
	close func()
	from  *Process // nil if unknown
}

// Proxy starts a link to target ("host:port") on a loopback port. The link ends
// with the test.
func Proxy(tb TB, target string) *Link {
	tb.Helper()
	return Balance(tb, target)
}

// Balance is [Proxy] for several targets: like a load balancer, it uses the
// next target for each connection.
func Balance(tb TB, targets ...string) *Link {
	tb.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("etcdtest: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Link{
		targets:  targets,
		listener: listener,
		ctx:      ctx,
		cutFrom:  map[*Process]bool{},
		changed:  make(chan struct{}),
		conns:    map[*linkConn]struct{}{},
	}
	l.wg.Go(l.accept)
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close()
		l.Reset()
		l.wg.Wait()
	})
	return l
}

// Addr returns the address to dial, "127.0.0.1:port".
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Accepted returns the number of connections accepted so far.
func (l *Link) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Cut makes the link a black hole: existing connections stall, and new ones get
// no answer. (The kernel still completes the TCP handshake.) Data that was sent
// is not lost: it arrives after [Link.Heal].
func (l *Link) Cut() { l.change(func() { l.cut = true }) }

// Delay delays each piece of data from the target by the result of by, which is
// called for each piece.
func (l *Link) Delay(by func() time.Duration) { l.change(func() { l.delay = by }) }

// Heal undoes [Link.Cut] and [Link.Delay].
func (l *Link) Heal() { l.change(func() { l.cut, l.delay = false, nil }) }

// Reset resets all existing connections. New connections are accepted unless
// the link is cut.
func (l *Link) Reset() {
	l.mu.Lock()
	conns := l.conns
	l.conns = map[*linkConn]struct{}{}
	l.mu.Unlock()
	for c := range conns {
		c.close()
	}
}

// setCutFrom cuts or heals the link for the connections of one process.
func (l *Link) setCutFrom(p *Process, cut bool) {
	l.change(func() {
		if cut {
			l.cutFrom[p] = true
		} else {
			delete(l.cutFrom, p)
		}
	})
}

func (l *Link) change(how func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how()
	close(l.changed)
	l.changed = make(chan struct{})
}

// linger waits for the delay of a piece of data from the target.
func (l *Link) linger(ctx context.Context) error {
	l.mu.Lock()
	by := l.delay
	l.mu.Unlock()
	if by == nil {
		return nil
	}
	return clock.System{}.Sleep(ctx, by())
}

// wait returns when stalls returns false or ctx is done.
func (l *Link) wait(ctx context.Context, stalls func() bool) error {
	for {
		l.mu.Lock()
		stalled, changed := stalls(), l.changed
		l.mu.Unlock()
		if !stalled {
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Link) accept() {
	for l.wait(l.ctx, func() bool { return l.cut }) == nil {
		conn, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client has disconnected already
		}
		l.wg.Go(func() { l.serve(conn) })
	}
}

// serve connects in to the target until either side ends or the link is closed.
func (l *Link) serve(in net.Conn) {
	ctx, cancel := context.WithCancel(l.ctx)
	c := &linkConn{ctx: ctx, close: sync.OnceFunc(func() { cancel(); abort(in) })}
	defer c.close()
	l.mu.Lock()
	target := l.targets[l.count%len(l.targets)]
	l.count++
	l.conns[c] = struct{}{}
	source := l.source
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, c)
	}()
	if source != nil {
		c.from = source(in)
	}
	if l.wait(ctx, func() bool { return l.cut || l.cutFrom[c.from] }) != nil {
		return
	}
	var dialer net.Dialer
	out, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer abort(out)
	stop := context.AfterFunc(ctx, func() { abort(out) })
	defer stop()
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(c, out, in, context.Context.Err) })
	pumps.Go(func() { l.pump(c, in, out, l.linger) })
	pumps.Wait()
	if ctx.Err() == nil { // both sides are done; a reset would discard data
		_, _ = in.Close(), out.Close()
	}
}

// pump copies data from src to dst, each piece after a pause, until src has sent all or
// the connection breaks.
func (l *Link) pump(c *linkConn, dst, src net.Conn, pause func(context.Context) error) {
	buf := make([]byte, 32<<10)
	for {
		n, readErr := src.Read(buf)
		if l.wait(c.ctx, func() bool { return l.cut || l.cutFrom[c.from] }) != nil || pause(c.ctx) != nil {
			return
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			c.close()
			return
		}
		if errors.Is(readErr, io.EOF) {
			if half, ok := dst.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // errors show in the other pump
			}
			return
		}
		if readErr != nil {
			c.close()
			return
		}
	}
}

// abort closes a connection with a reset.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
