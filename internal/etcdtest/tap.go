// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Call is a request that passed through a [Tap].
type Call struct {
	// Method is the last part of a gRPC method, such as MemberAdd, or the
	// method and path of a plain HTTP request, such as "GET /metrics".
	Method string
	// Nth counts the calls of a method from 1, since the last [Tap.Watch].
	Nth int
}

// String implements fmt.Stringer.
func (c Call) String() string { return fmt.Sprintf("%s %d", c.Method, c.Nth) }

// Moment is a point in time during a call.
type Moment uint8

const (
	// Before: the client has sent the request, and the server has not received it.
	Before Moment = iota
	// After: the server has answered, and the client has not received the answer.
	After
)

// String implements fmt.Stringer.
func (m Moment) String() string {
	if m == After {
		return "after"
	}
	return "before"
}

// Tap is a proxy between a client and several servers. It forwards all data
// byte by byte and identifies each call. At one moment of one call it stops and
// lets the test act.
type Tap struct {
	tb     TB
	ctx    context.Context // until the test ends
	wg     sync.WaitGroup
	listen []net.Listener

	mu    sync.Mutex
	calls []Call
	count map[string]int
	at    Call
	when  Moment
	act   func() (goOn bool)
	fired bool
}

// NewTap returns a tap without servers. It stops when the test ends.
func NewTap(tb TB) *Tap {
	ctx, cancel := context.WithCancel(context.Background())
	t := &Tap{tb: tb, ctx: ctx, count: map[string]int{}}
	tb.Cleanup(func() {
		cancel()
		for _, l := range t.listen {
			_ = l.Close()
		}
		t.wg.Wait()
	})
	return t
}

// Front returns the URL to dial instead of target, an http URL without TLS.
func (t *Tap) Front(target string) string {
	t.tb.Helper()
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" {
		t.tb.Fatalf("etcdtest: no tap for %s", target)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.tb.Fatalf("etcdtest: %v", err)
	}
	t.listen = append(t.listen, listener)
	t.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				t.wg.Go(func() { t.serve(conn, u.Host) })
			}
		}
	})
	return "http://" + listener.Addr().String()
}

// Watch clears the recorded calls. When the call at reaches the moment when,
// the tap calls act once. The call continues if act returns true; otherwise its
// connection is reset. If act is nil, the tap only records calls.
func (t *Tap) Watch(at Call, when Moment, act func() (goOn bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls, t.at, t.when, t.act, t.fired = nil, at, when, act, false
	clear(t.count)
}

// Calls returns the calls since the last Watch.
func (t *Tap) Calls() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Fired reports whether the moment of the last Watch has been reached.
func (t *Tap) Fired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fired
}

// note records and numbers a call.
func (t *Tap) note(method string) Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[method]++
	c := Call{method, t.count[method]}
	t.calls = append(t.calls, c)
	return c
}

// moment calls act if c is the watched call, and reports whether to continue.
func (t *Tap) moment(c Call, when Moment) bool {
	t.mu.Lock()
	act := t.act
	if act == nil || t.fired || c != t.at || when != t.when {
		t.mu.Unlock()
		return true
	}
	t.fired = true
	t.mu.Unlock()
	return act()
}

// tapped is a connection through a tap.
type tapped struct {
	tap     *Tap
	in, out net.Conn

	mu      sync.Mutex
	streams map[uint32]Call // calls without an answer so far
}

func (t *Tap) serve(in net.Conn, target string) {
	defer abort(in)
	var dialer net.Dialer
	out, err := dialer.DialContext(t.ctx, "tcp", target)
	if err != nil {
		return // the client sees a reset instead of a refused connection
	}
	defer abort(out)
	stop := context.AfterFunc(t.ctx, func() { abort(in); abort(out) })
	defer stop()
	c := &tapped{tap: t, in: in, out: out, streams: map[uint32]Call{}}
	from := bufio.NewReaderSize(in, 64<<10)
	head, err := from.Peek(len(http2.ClientPreface))
	if len(head) == 0 {
		return
	}
	pass := c.passHTTP2
	if err != nil || string(head) != http2.ClientPreface {
		pass = c.passHTTP1
	}
	pass(from, bufio.NewReaderSize(out, 64<<10))
}

// passHTTP1 forwards one request.
func (c *tapped) passHTTP1(from, back *bufio.Reader) {
	line, err := from.ReadString('\n')
	if err != nil {
		return
	}
	words := strings.Fields(line)
	call := c.tap.note(strings.Join(words[:min(2, len(words))], " "))
	if !c.tap.moment(call, Before) {
		return
	}
	if _, err := io.WriteString(c.out, line); err != nil {
		return
	}
	c.tap.wg.Go(func() { _, _ = io.Copy(c.out, from) })
	if _, err := back.Peek(1); err != nil || !c.tap.moment(call, After) {
		return
	}
	_, _ = io.Copy(c.in, back)
	_ = c.in.Close()
}

func (c *tapped) passHTTP2(from, back *bufio.Reader) {
	c.tap.wg.Go(func() {
		_ = c.frames(back, c.in, c.answer)
		abort(c.in)
	})
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(from, preface); err != nil {
		return
	}
	if _, err := c.out.Write(preface); err != nil {
		return
	}
	_ = c.frames(from, c.out, c.request)
}

// frames calls see with each frame, then forwards it, until see returns false
// or a side ends. A continued header block is seen and forwarded as one frame.
func (c *tapped) frames(from io.Reader, to io.Writer, see func(http2.Frame) bool) error {
	var raw bytes.Buffer
	framer := http2.NewFramer(nil, io.TeeReader(from, &raw))
	// Every header block must be decoded: each depends on earlier ones.
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.SetMaxReadFrameSize(1<<24 - 1)
	for {
		raw.Reset()
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		if !see(frame) {
			return nil
		}
		if _, err := to.Write(raw.Bytes()); err != nil {
			return err
		}
	}
}

// request handles the frames of the client.
func (c *tapped) request(frame http2.Frame) bool {
	headers, ok := frame.(*http2.MetaHeadersFrame)
	if !ok || headers.PseudoValue("path") == "" {
		return true
	}
	path := headers.PseudoValue("path")
	call := c.tap.note(path[strings.LastIndexByte(path, '/')+1:])
	c.mu.Lock()
	c.streams[headers.StreamID] = call
	c.mu.Unlock()
	return c.tap.moment(call, Before)
}

// answer handles the frames of the server: the first header block of a stream
// answers its call.
func (c *tapped) answer(frame http2.Frame) bool {
	headers, ok := frame.(*http2.MetaHeadersFrame)
	if !ok {
		return true
	}
	c.mu.Lock()
	call, open := c.streams[headers.StreamID]
	delete(c.streams, headers.StreamID)
	c.mu.Unlock()
	return !open || c.tap.moment(call, After)
}
