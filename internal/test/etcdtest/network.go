// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// Link is a TCP proxy in front of a target. It can be cut: members and clients
// that dial the link are then cut off from the target, which keeps running.
type Link struct {
	target   string
	listener net.Listener
	ctx      context.Context // until the test ends
	wg       sync.WaitGroup

	mu      sync.Mutex
	cut     bool
	cutFrom map[*Process]bool       // processes whose connections are cut while the link is not
	changed chan struct{}           // closed and replaced when one of these changes
	source  func(net.Conn) *Process // returns the dialling process; nil if this is not needed
}

// Proxy starts a link to a target ("host:port") on a loopback port. The link ends with the
// test.
func Proxy(tb TB, target string) *Link {
	tb.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Succeed(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	l := &Link{target: target, listener: listener, ctx: ctx, cutFrom: map[*Process]bool{}, changed: make(chan struct{})}
	l.wg.Go(l.accept)
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close()
		l.wg.Wait()
	})
	return l
}

// Addr returns the address to dial, "127.0.0.1:port".
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Cut makes the link a black hole: existing connections stall, and new ones get
// no answer. (The kernel still completes the TCP handshake.) Data that was sent
// is not lost: it arrives after [Link.Heal].
func (l *Link) Cut() { l.change(func() { l.cut = true }) }

// Heal undoes [Link.Cut].
func (l *Link) Heal() { l.change(func() { l.cut = false }) }

// setCutFrom cuts or heals the link for the connections of one process.
func (l *Link) setCutFrom(p *Process, cut bool) { l.change(func() { l.cutFrom[p] = cut }) }

func (l *Link) change(how func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how()
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait returns when the link is not cut for that process, nil if it is unknown, or ctx
// is done.
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
			continue // the client has disconnected already
		}
		l.wg.Go(func() { l.serve(conn) })
	}
}

// serve connects in to the target until either side ends or the link is closed.
func (l *Link) serve(in net.Conn) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer abort(in)
	defer cancel()
	l.mu.Lock()
	source := l.source
	l.mu.Unlock()
	var from *Process
	if source != nil {
		from = source(in)
	}
	if l.wait(ctx, from) != nil {
		return
	}
	var dialer net.Dialer
	out, err := dialer.DialContext(ctx, "tcp", l.target)
	if err != nil {
		return
	}
	defer abort(out)
	stop := context.AfterFunc(ctx, func() { abort(in); abort(out) })
	defer stop()
	var pumps sync.WaitGroup
	pump := func(dst, src net.Conn) {
		if !l.pump(ctx, from, dst, src) {
			cancel()
		}
	}
	pumps.Go(func() { pump(out, in) })
	pumps.Go(func() { pump(in, out) })
	pumps.Wait()
	if ctx.Err() == nil { // both sides are done; a reset would discard data
		_, _ = in.Close(), out.Close()
	}
}

// pump copies data from src to dst until src has sent all. It returns false if the
// connection breaks.
func (l *Link) pump(ctx context.Context, from *Process, dst, src net.Conn) bool {
	buf := make([]byte, 32<<10)
	for {
		n, readErr := src.Read(buf)
		if l.wait(ctx, from) != nil {
			return false
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return false
		}
		if errors.Is(readErr, io.EOF) {
			if half, ok := dst.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // errors show in the other pump
			}
			return true
		}
		if readErr != nil {
			return false
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

// Split separates the peers of the cluster into two sides: the given members
// and all others. Clients still reach all of them. It replaces the effect of an
// earlier Split. Options.Links must be set.
func (c *Cluster) Split(members ...*Process) {
	c.tb.Helper()
	if _, err := os.Stat(tcpTable); err != nil || !c.opts.Links {
		c.tb.Fatalf("etcdtest: members cannot be cut off from each other without Options.Links and %s: %v", tcpTable, err)
	}
	all := c.withLinks()
	for _, to := range all {
		for _, from := range all {
			if to != from {
				to.link.setCutFrom(from, slices.Contains(members, to) != slices.Contains(members, from))
			}
		}
	}
}

// Heal undoes [Cluster.Split].
func (c *Cluster) Heal() { c.tb.Helper(); c.Split() }

// withLinks returns all processes of the cluster, of which each has a link.
func (c *Cluster) withLinks() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.linked)
}

// source returns the process that dialled conn, or nil if none of them did. All members
// dial a member at the same URL. To tell them apart, it asks the kernel which process
// holds the other end of the connection.
func (c *Cluster) source(conn net.Conn) *Process {
	inode := socketInode(conn.RemoteAddr(), conn.LocalAddr())
	for _, p := range c.withLinks() {
		if pid := p.PID(); inode != "" && pid != 0 && holdsSocket(pid, inode) {
			return p
		}
	}
	return nil
}

// tcpTable is Linux's list of IPv4 TCP sockets.
const tcpTable = "/proc/net/tcp"

// socketInode returns the inode of the IPv4 loopback socket with these local
// and remote addresses, or "" if it is closed already.
func socketInode(local, remote net.Addr) string {
	table, _ := os.ReadFile(tcpTable)
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[1] == tableAddress(local) && f[2] == tableAddress(remote) && f[9] != "0" {
			return f[9]
		}
	}
	return ""
}

// tableAddress formats an address as in tcpTable: its four bytes are one number
// in the byte order of the machine.
func tableAddress(addr net.Addr) string {
	tcp := addr.(*net.TCPAddr)
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port)
}

func holdsSocket(pid int, inode string) bool {
	sockets, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(sockets, func(path string) bool {
		target, err := os.Readlink(path)
		return err == nil && target == "socket:["+inode+"]"
	})
}

// Lies are the answers of a [Liar]. For a nil answer, the liar sends an empty
// message. Set them with [Liar.Tell]; answers must not be changed afterwards.
type Lies struct {
	// Status is the answer to a status request, Members to every member list,
	// Range to every read, Txn to every transaction.
	Status  *pb.StatusResponse
	Members *pb.MemberListResponse
	Range   *pb.RangeResponse
	Txn     *pb.TxnResponse
}

// Liar is a server that speaks etcd's protocol and returns the answers that a
// test sets, including those that no real server gives. It has neither
// authentication nor TLS.
type Liar struct {
	// URL is the URL on which the liar listens.
	URL string

	lies atomic.Pointer[Lies]
}

// NewLiar starts a liar on a port of a loopback address, such as 127.0.0.1. It
// stops when the test ends.
func NewLiar(tb TB, host string, lies Lies) *Liar {
	tb.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	must.Succeed(tb, err)
	l := &Liar{URL: "http://" + listener.Addr().String()}
	l.Tell(lies)
	server := grpc.NewServer(grpc.MaxSendMsgSize(1<<30), grpc.UnknownServiceHandler(l.answer))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until Stop
	}()
	tb.Cleanup(func() {
		server.Stop()
		<-done
	})
	return l
}

// Tell replaces the answers.
func (l *Liar) Tell(lies Lies) { l.lies.Store(&lies) }

// answer answers any method.
func (l *Liar) answer(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	lies := l.lies.Load()
	answers := map[string]proto.Message{"Status": lies.Status, "MemberList": lies.Members, "Range": lies.Range, "Txn": lies.Txn}
	answer, ok := answers[path.Base(method)]
	if !ok {
		return status.Errorf(codes.Unimplemented, "no lie for %s", method)
	}
	if err := s.RecvMsg(new(emptypb.Empty)); err != nil { // whatever it is
		return err
	}
	return s.SendMsg(answer)
}
