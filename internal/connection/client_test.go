// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve calls handle for each connection to a new loopback listener until the
// test ends. It returns the listener's address.
func serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if handle != nil {
				handle(conn)
			}
		}
	}()
	return listener.Addr().String()
}

// ask requests the member list with a new client. It returns the error and the
// duration.
func ask(t *testing.T, s Settings, endpoint string) (took time.Duration, err error) {
	t.Helper()
	begin := time.Now()
	c, err := connect(t, t.Context(), s, endpoint)
	if err == nil {
		err = c.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.MemberList(ctx)
			return err
		})
	}
	return time.Since(begin), err
}

// refusing returns an address where nothing listens.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// Test that a login timeout is a Timeout and not an interruption.
func TestTimeOfALoginIsOver(t *testing.T) {
	endpoint := "http://" + serve(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := connect(t, ctx, Settings{Endpoints: []string{endpoint}, Username: "root", Password: "x"}, endpoint)
	if KindOf(err) != Timeout || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFailsFastWithItsCause(t *testing.T) {
	t.Parallel()
	plainHTTP := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plainHTTP.Close)
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.EnableHTTP2 = true
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0)
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	hangUp := serve(t, func(c net.Conn) { _ = c.Close() })
	silent := serve(t, nil)
	dead := refusing(t)

	// An immediate failure must be reported before any timeout, which would hide
	// its kind, and silence after the dial timeout, before that of the request.
	const (
		long  = time.Hour
		short = 300 * time.Millisecond
	)
	for name, c := range map[string]struct {
		endpoint string
		kind     Kind
		text     string
		dial     time.Duration
	}{
		"refused":               {"http://" + dead, Refused, "http://" + dead + ": connection refused", long},
		"refused, TLS":          {"https://" + dead, Refused, "https://" + dead + ": connection refused", long},
		"name without address":  {"http://no-such-host.invalid:2379", DNS, "http://no-such-host.invalid:2379: host name not found (no-such-host.invalid)", long},
		"black hole":            {"http://" + silent, Timeout, "http://" + silent + ": no answer in time", short},
		"black hole, TLS":       {"https://" + silent, Timeout, "https://" + silent + ": no answer in time", short},
		"hangs up":              {"http://" + hangUp, NotEtcd, "http://" + hangUp + ": not an etcd server, or one that expects https (it closed the connection)", long},
		"web server":            {plainHTTP.URL, NotEtcd, plainHTTP.URL + `: not an etcd server, or one that expects https (its first bytes are not HTTP/2 but "HTTP")`, long},
		"https to a plain port": {"https://" + plainHTTP.Listener.Addr().String(), PlainServer, "https://" + plainHTTP.Listener.Addr().String() + ": server does not speak TLS", long},
		"http to a TLS port":    {"http://" + tlsServer.Listener.Addr().String(), NotEtcd, "http://" + tlsServer.Listener.Addr().String() + ": not an etcd server, or one that expects https (it closed the connection)", long},
		"unknown authority":     {tlsServer.URL, UnknownCA, tlsServer.URL + ": certificate signed by an unknown authority (x509: certificate signed by unknown authority)", long},
	} {
		for _, user := range []string{"", "root"} {
			t.Run(name+"/"+user, func(t *testing.T) {
				took, err := ask(t, Settings{Endpoints: []string{c.endpoint}, DialTimeout: c.dial, RequestTimeout: long, Username: user, Password: "swordfish"}, c.endpoint)
				var e *Error
				if !errors.As(err, &e) || e.Kind != c.kind || e.Endpoint != c.endpoint {
					t.Fatalf("got %v (%q), want %q", err, KindOf(err), c.kind)
				}
				if c.text != "" && err.Error() != c.text {
					t.Errorf("got  %s\nwant %s", err, c.text)
				}
				if c.kind == Timeout && took < c.dial {
					t.Errorf("took %s with a dial timeout of %s", took, c.dial)
				}
			})
		}
	}
}

// Test that an attempt to connect, and its diagnosis, sends no credentials.
func TestFailedConnectionSendsNoCredentials(t *testing.T) {
	received := make(chan string, 4)
	endpoint := "http://" + serve(t, func(c net.Conn) {
		got := make([]byte, 1024)
		n, _ := c.Read(got)
		received <- string(got[:n])
		_ = c.Close()
	})
	lent := &sharedToken{}
	lent.token.Store(new("swordfish"))
	for name, s := range map[string]Settings{
		"password": {Username: "root", Password: "swordfish"},
		"token":    {anonymous: true, token: lent},
	} {
		s.Endpoints = []string{endpoint}
		if _, err := ask(t, s, endpoint); KindOf(err) != NotEtcd {
			t.Errorf("%s: got %v", name, err)
		}
		for range 2 { // gRPC's attempt and the diagnosis
			if got := <-received; !strings.HasPrefix(got, "PRI * HTTP/2.0") || strings.Contains(got, "swordfish") {
				t.Errorf("%s: the server received %q", name, got)
			}
		}
	}
}
