// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Link is a TCP connection point that passes everything on to its target, and
// that can be cut. Members and clients that dial it instead of the target can
// be cut off from the target, and the target goes on.
type Link struct {
	targets  []string // one after the other
	listener net.Listener
	ctx      context.Context // until the test ends
	wg       sync.WaitGroup

	mu      sync.Mutex
	count   int
	cut     bool
	cutFrom map[*Process]bool // whose connections are cut, though the link is not
	changed chan struct{}     // closed and replaced when cut or cutFrom change
	conns   map[*linkConn]struct{}
	source  func(net.Conn) *Process // who dialled; nil where that is not asked
}

// linkConn is a connection that was accepted, with the one to the target.
type linkConn struct {
	ctx   context.Context // until it is closed
	close func()
	from  *Process // nil if unknown
}

// Proxy starts a link to target ("host:port") on a loopback port; it ends
// with the test.
func Proxy(tb TB, target string) *Link {
	tb.Helper()
	return Balance(tb, target)
}

// Balance is [Proxy] for several targets, as a load balancer is: every
// connection leads to the next one.
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

// Accepted returns how many connections were accepted so far.
func (l *Link) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Cut makes the link a black hole: what is connected stalls, and who dials
// gets no answer. (The kernel completes the handshake of TCP, nothing else.)
// Nothing that was sent is lost: it arrives after [Link.Heal].
func (l *Link) Cut() { l.change(func() { l.cut = true }) }

// Heal undoes [Link.Cut].
func (l *Link) Heal() { l.change(func() { l.cut = false }) }

// Reset resets all connections there are; new ones are welcome unless the
// link is cut.
func (l *Link) Reset() {
	l.mu.Lock()
	conns := l.conns
	l.conns = map[*linkConn]struct{}{}
	l.mu.Unlock()
	for c := range conns {
		c.close()
	}
}

// setCutFrom cuts, or heals, the link for the connections of one process.
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

// wait returns once nothing stalls connections of from, or ctx is done.
func (l *Link) wait(ctx context.Context, from *Process) error {
	for {
		l.mu.Lock()
		stalled, changed := l.cut || l.cutFrom[from], l.changed
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
	for l.wait(l.ctx, nil) == nil {
		conn, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the dialler has gone again
		}
		l.wg.Go(func() { l.serve(conn) })
	}
}

// serve connects in with the target until either side ends, or the link does.
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
	if l.wait(ctx, c.from) != nil {
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
	pumps.Go(func() { l.pump(c, out, in) })
	pumps.Go(func() { l.pump(c, in, out) })
	pumps.Wait()
	if ctx.Err() == nil { // both have said all; a reset would discard some
		_, _ = in.Close(), out.Close()
	}
}

// pump passes on what src sends, until it has sent all or the connection is
// broken.
func (l *Link) pump(c *linkConn, dst, src net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, readErr := src.Read(buf)
		if l.wait(c.ctx, c.from) != nil {
			return
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			c.close()
			return
		}
		if errors.Is(readErr, io.EOF) {
			if half, ok := dst.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // what goes wrong shows in the other pump
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
