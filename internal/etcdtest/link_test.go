// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// echo starts a server that sends back the data that it receives.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	noError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	noError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// expect reads len(want) bytes within d and compares them with want.
func expect(conn net.Conn, want string, d time.Duration) error {
	if err := conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	buf := make([]byte, len(want))
	if _, err := io.ReadFull(conn, buf); err != nil {
		return err
	}
	if string(buf) != want {
		return errors.New("other bytes: " + string(buf))
	}
	return nil
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	noError(t, err)
}

func TestLinkCutAndHeal(t *testing.T) {
	t.Parallel()
	link := Proxy(t, echo(t))
	before := dial(t, link.Addr())
	send(t, before, "hello")
	noError(t, expect(before, "hello", WaitLimit))

	link.Cut()
	send(t, before, "into the dark")
	during := dial(t, link.Addr())
	send(t, during, "anyone?")
	for _, conn := range []net.Conn{before, during} {
		if err := expect(conn, "x", 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("over a cut link: %v", err)
		}
	}

	link.Heal()
	noError(t, expect(before, "into the dark", WaitLimit))
	noError(t, expect(during, "anyone?", WaitLimit))
}

func TestLinkBalances(t *testing.T) {
	t.Parallel()
	link := Balance(t, echo(t), "127.0.0.1:1", echo(t))
	for i, alive := range []bool{true, false, true, true, false} {
		if err := call(link.Addr()); (err == nil) != alive {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// call dials and expects to receive the data that it sends. If no server
// listens at the target, the reset can arrive before the dial has returned.
func call(addr string) (err error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		return err
	}
	return expect(conn, "hello", WaitLimit)
}

func TestLinkReset(t *testing.T) {
	t.Parallel()
	link := Proxy(t, echo(t))
	conn := dial(t, link.Addr())
	send(t, conn, "hello")
	noError(t, expect(conn, "hello", WaitLimit))
	link.Cut()
	link.Reset() // also resets stalled connections
	if err := expect(conn, "x", WaitLimit); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("after Reset: %v", err)
	}
	link.Heal()
	again := dial(t, link.Addr())
	send(t, again, "again")
	noError(t, expect(again, "again", WaitLimit))
}

func TestLinkPassesEndOfStreamOn(t *testing.T) {
	t.Parallel()
	link := Proxy(t, echo(t))
	conn, ok := dial(t, link.Addr()).(*net.TCPConn)
	if !ok {
		t.Fatal("no TCP connection")
	}
	text := strings.Repeat("much ", 1<<18) // larger than any buffer
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.CloseWrite()
	}()
	noError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != text {
		t.Errorf("%d of %d bytes came back: %v", len(got), len(text), err)
	}
}

func TestLinkToNobody(t *testing.T) {
	t.Parallel()
	link := Proxy(t, "127.0.0.1:1")
	conn, err := net.DialTimeout("tcp", link.Addr(), 5*time.Second)
	if err == nil {
		err = errors.Join(expect(conn, "x", WaitLimit), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("nobody listens at the target: %v", err)
	}
}

func TestLinkOneWay(t *testing.T) {
	t.Parallel()
	link := Proxy(t, echo(t))
	for _, way := range []Way{In, Out} {
		conn := dial(t, link.Addr())
		link.CutWay(way)
		send(t, conn, "anyone?")
		if err := expect(conn, "x", 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("cut in direction %d: %v", way, err)
		}
		link.Heal()
		noError(t, expect(conn, "anyone?", WaitLimit))

		const held = 100 * time.Millisecond
		link.Delay(way, func() time.Duration { return held })
		begun := time.Now()
		send(t, conn, "late")
		noError(t, expect(conn, "late", WaitLimit))
		if took := time.Since(begun); took < held {
			t.Errorf("held up for %v in direction %d, an answer came after %v", held, way, took)
		}
		link.Heal()
	}
}
