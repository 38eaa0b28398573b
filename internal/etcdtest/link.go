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
	cutWay  [2]bool           // by direction
	delay   [2]func() time.Duration
	changed chan struct{} // closed and replaced when one of these changes
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

// Way is a direction through a link.
type Way uint8

// In is what goes to the target, Out what comes from it.
const (
	In Way = iota
	Out
)

// CutWay is [Link.Cut] for one direction: the other one goes on.
func (l *Link) CutWay(w Way) { l.change(func() { l.cutWay[w] = true }) }

// Delay holds up what goes in a direction: each piece by what by returns, which
// is called for each.
func (l *Link) Delay(w Way, by func() time.Duration) { l.change(func() { l.delay[w] = by }) }

// Heal undoes [Link.Cut], [Link.CutWay] and [Link.Delay].
func (l *Link) Heal() {
	l.change(func() { l.cut, l.cutWay, l.delay = false, [2]bool{}, [2]func() time.Duration{} })
}

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

// linger waits for as long as a piece in that direction is held up.
func (l *Link) linger(ctx context.Context, way Way) error {
	l.mu.Lock()
	by := l.delay[way]
	l.mu.Unlock()
	if by == nil {
		return nil
	}
	return clock.System{}.Sleep(ctx, by())
}

// wait returns once nothing stalls a connection, or ctx is done.
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
	pumps.Go(func() { l.pump(c, In, out, in) })
	pumps.Go(func() { l.pump(c, Out, in, out) })
	pumps.Wait()
	if ctx.Err() == nil { // both have said all; a reset would discard some
		_, _ = in.Close(), out.Close()
	}
}

// pump passes on what src sends, until it has sent all or the connection is
// broken.
func (l *Link) pump(c *linkConn, way Way, dst, src net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, readErr := src.Read(buf)
		if l.wait(c.ctx, func() bool { return l.cut || l.cutFrom[c.from] || l.cutWay[way] }) != nil || l.linger(c.ctx, way) != nil {
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
