// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// listener returns a server that must not be asked, and a request counter.
func listener(t *testing.T) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// Neither a v2 request nor one for metrics follows a redirect, so no password is sent to
// another host.
func TestV2FollowsNoRedirect(t *testing.T) {
	pool := &Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	other, asked := listener(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(other+"/v2/keys/a", code))
		defer server.Close()
		keys, err := pool.KeysV2(t.Context(), Settings{Endpoints: []string{server.URL}, Username: "root", Password: "secret"}, server.URL)
		must.Succeed(t, err)
		if _, _, err = keys.Node(t.Context(), "/a"); KindOf(err) != Redirected {
			t.Errorf("%d: got %v", code, err)
		}
		if _, _, err := pool.Metrics(t.Context(), Settings{}, server.URL); KindOf(err) != NotEtcd || !strings.Contains(err.Error(), strconv.Itoa(code)) {
			t.Errorf("%d: metrics: got %v", code, err)
		}
	}
	s := Settings{Endpoints: []string{"https://a:2379"}, Username: "root", Password: "secret"}
	_, v2 := pool.KeysV2(t.Context(), s, "http://a:2379")
	_, _, metrics := pool.Metrics(t.Context(), s, other)
	if KindOf(v2) != NotAsked || KindOf(metrics) != NotAsked || asked.Load() != 0 {
		t.Errorf("plain http: %v; a host that is not named: %v; the other host was asked %d times", v2, metrics, asked.Load())
	}
}

// Test that repeated reads use one connection, which is closed with the pool.
func TestMetricsOverOneConnection(t *testing.T) {
	var opened, closed atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	pool := &Pool{}
	get := func() {
		t.Helper()
		if body, at, err := pool.Metrics(t.Context(), Settings{}, server.URL); err != nil || string(body) != "/metrics" || at.IsZero() {
			t.Errorf("got %q at %v, %v", body, at, err)
		}
	}
	for range 3 {
		get()
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections", opened.Load())
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := pool.Metrics(t.Context(), Settings{}, server.URL); !errors.Is(err, errPoolClosed) {
		t.Errorf("after the end: %v", err)
	}
	etcdtest.Until(t, "the connection is closed", func() bool { return closed.Load() == 1 })
}

// A URL of metrics is asked at the host of the member, without a password, and also if the
// client URL is https. It gets the client certificate if it is https.
func TestMetricsOfTheirOwn(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	answer := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, _, sent := r.BasicAuth(); sent || r.URL.Path != "/metrics" {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
	})
	secure, shown := shows(t, pki, answer)
	plain := httptest.NewServer(answer)
	defer plain.Close()
	pool := &Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	for _, url := range []string{secure.URL, plain.URL} {
		metrics, err := ParseMetricsURL(strings.ReplaceAll(url, "127.0.0.1", "0.0.0.0"))
		must.Succeed(t, err)
		s := Settings{Endpoints: []string{"https://127.0.0.1:1"}, TLS: pki.ClientConfig(pki.Client("run")), Username: "root", Password: "secret", Metrics: metrics}
		if _, _, err := pool.Metrics(t.Context(), s, "https://127.0.0.1:1"); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if s.Metrics = ""; url == plain.URL {
			if _, _, err := pool.Metrics(t.Context(), s, url); KindOf(err) != NotAsked {
				t.Errorf("not named: %v", err)
			}
		}
	}
	if shown.Load() != 1 {
		t.Errorf("%d certificates were shown", shown.Load())
	}
}

// shows returns a TLS server and a counter of the client certificates it receives.
func shows(t *testing.T, pki *etcdtest.PKI, handler http.Handler) (server *httptest.Server, shown *atomic.Int32) {
	t.Helper()
	shown = &atomic.Int32{}
	server = pki.WebServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown.Add(int32(len(r.TLS.PeerCertificates)))
		handler.ServeHTTP(w, r)
	}))
	return server, shown
}

func TestWebClientRedirects(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	s := Settings{TLS: pki.ClientConfig(pki.Client("run")), Username: "root", Password: "secret"}
	ok := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a password was sent")
		}
	})
	last, lastShown := shows(t, pki, ok)
	plain, asked := listener(t)
	elsewhere := strings.Replace(last.URL, "127.0.0.1", "localhost", 1)
	for to, want := range map[string]string{
		"":        "",
		last.URL:  "", // another port of the same host
		plain:     "redirects to plain http",
		elsewhere: "redirects to another host",
	} {
		first, firstShown := shows(t, pki, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if to != "" {
				http.Redirect(w, r, to, http.StatusFound)
			}
		}))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, first.URL+"/new", nil)
		must.Succeed(t, err)
		resp, err := (&Pool{}).WebClient(s, first.URL).Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if want == "" && err != nil || want != "" && (!errors.As(err, new(RedirectError)) || !strings.Contains(err.Error(), want)) {
			t.Errorf("to %q: got %v, want %q", to, err, want)
		}
		if firstShown.Load() != 1 {
			t.Errorf("to %q: the server that is asked saw %d certificates", to, firstShown.Load())
		}
	}
	if asked.Load() != 0 || lastShown.Load() != 0 {
		t.Errorf("asked in the clear: %d, certificates after a redirect: %d", asked.Load(), lastShown.Load())
	}

	// The certificate is not shown to a server that only the system's CAs verify.
	system := s
	system.TLS = s.TLS.Clone()
	system.TLS.RootCAs = nil
	client, ok2 := (&Pool{}).WebClient(system, last.URL).Transport.(transport)
	if !ok2 || client.settings.hasCertificate() {
		t.Error("the certificate would be shown to any host that a public CA vouches for")
	}
	system.Endpoints = []string{withPort(last.URL)}
	client, ok2 = (&Pool{}).WebClient(system, last.URL).Transport.(transport)
	if !ok2 || !client.settings.hasCertificate() {
		t.Error("the certificate is not shown to an endpoint")
	}
}

// TestInput runs the stanzas of testdata/endpoints.txt. -rewrite rewrites the file.
func TestInput(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "endpoints.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			var typed []string
			for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
				quoted, err := strconv.QuotedPrefix(line)
				must.Succeed(t, err)
				text, _ := strconv.Unquote(quoted)
				typed, line = append(typed, text), line[len(quoted):]
			}
			got, err := parsed(t, d.Cmd, d.HasArg("tls"), typed)
			if err != nil {
				got = err
			}
			fmt.Fprintln(&out, got)
		}
		return out.String()
	})
}

// parsed is what becomes of what is typed.
func parsed(t *testing.T, what string, withTLS bool, typed []string) (any, error) {
	switch what {
	case "endpoints":
		return ParseEndpoints(typed, withTLS)
	case "metrics":
		return ParseMetricsURL(typed[0])
	case "map":
		pairs := map[string]string{}
		for i := 0; i < len(typed); i += 2 {
			pairs[typed[i]] = typed[i+1]
		}
		return ParseAddressMap(pairs, withTLS)
	}
	got, err := ParseEndpoint(typed[0], withTLS)
	if again, _ := ParseEndpoint(got, !withTLS); err == nil && again != got {
		t.Errorf("the normal form %q is not stable: %q", got, again)
	}
	return got, err
}

// masks matches what may be shown of a text that contains an @.
var masks = regexp.MustCompile(`(?is)^((https?://)?\*\*\*@)?[^@]*$`)

func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "https://H:2379/", "::1", "http://[::1%eth0]", "http://u:secret@h", "u:secret@://", "u:secret@http://h", "h:0", "h:65536", "a,b", "unix:///x", " h ", "http://h?x", "//h"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, raw string, withTLS bool) {
		got, err := ParseEndpoint(raw, withTLS)
		if err != nil {
			var refused *membership.URLError
			if !errors.As(err, &refused) || !masks.MatchString(refused.URL) || strings.Contains(string(refused.Problem), "@") {
				t.Fatalf("ParseEndpoint(%q) tells the password: %v", raw, err)
			}
			return
		}
		again, err := ParseEndpoint(got, !withTLS)
		if err != nil || again != got {
			t.Fatalf("ParseEndpoint(%q) = %q, and of that %q, %v", raw, got, again, err)
		}
		u, err := url.Parse(got)
		if err != nil || u.Host == "" || u.Port() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || (u.Scheme != "http" && u.Scheme != "https") {
			t.Fatalf("ParseEndpoint(%q) = %q: %+v, %v", raw, got, u, err)
		}
	})
}

func FuzzParseAddressMap(f *testing.F) {
	f.Add("https://a:2379", "127.0.0.1:1", "https://A:2379/", "127.0.0.1:2")
	f.Add("a", "http://b", "c", "https://d")
	f.Fuzz(func(t *testing.T, from1, to1, from2, to2 string) {
		raw := map[string]string{from1: to1, from2: to2}
		got, err := ParseAddressMap(raw, false)
		if err != nil {
			return
		}
		if again, err := ParseAddressMap(got, true); err != nil || len(again) != len(got) {
			t.Fatalf("ParseAddressMap(%q) = %q, and of that %q, %v", raw, got, again, err)
		}
		for from, to := range got {
			if a, b, _ := strings.Cut(from, ":"); !strings.HasPrefix(to, a+":") || b == "" {
				t.Fatalf("ParseAddressMap(%q) = %q", raw, got)
			}
		}
	})
}

func TestLoadTLS(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	cert := pki.Client("root")
	key := must.Read(t, cert.KeyFile)
	whole := TLSMaterial{CACert: pki.CAFile, Cert: cert.CertFile, Key: Secret(key)}

	config, err := LoadTLS(whole, time.Now())
	if err != nil || config.RootCAs == nil || len(config.Certificates) != 1 || config.InsecureSkipVerify || config.MinVersion != tls.VersionTLS12 || config.ServerName != "" {
		t.Errorf("got %+v, %v", config, err)
	}
	if config, err := LoadTLS(TLSMaterial{}, time.Now()); config != nil || err != nil {
		t.Errorf("nothing gave %+v, %v", config, err)
	}

	for name, c := range map[string]struct {
		change   func(*TLSMaterial)
		now      time.Time
		argument string
		problem  TLSProblem
	}{
		"other key":     {func(m *TLSMaterial) { m.Key = Secret(pki.Client("other").KeyFile) }, time.Now(), "key", KeyMismatch},
		"no key":        {func(m *TLSMaterial) { m.Key = "" }, time.Now(), "cert", CertWithoutKey},
		"no cert":       {func(m *TLSMaterial) { m.Cert = "" }, time.Now(), "key", KeyWithoutCert},
		"unreadable":    {func(m *TLSMaterial) { m.CACert = t.TempDir() }, time.Now(), "ca_cert", Unreadable},
		"garbage":       {func(m *TLSMaterial) { m.CACert = "-----BEGIN garbage" }, time.Now(), "ca_cert", NoPEM},
		"mangled key":   {func(m *TLSMaterial) { m.Key = Secret(mangle(key)) }, time.Now(), "key", NoPEM},
		"too early":     {func(*TLSMaterial) {}, time.Now().AddDate(-1, 0, 0), "cert", CertNotYetValid},
		"too late":      {func(*TLSMaterial) {}, time.Now().AddDate(1, 0, 0), "cert", CertExpired},
		"encrypted key": {func(m *TLSMaterial) { m.Key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED" }, time.Now(), "key", EncryptedKey},
	} {
		t.Run(name, func(t *testing.T) {
			m := whole
			c.change(&m)
			_, err := LoadTLS(m, c.now)
			var e *TLSError
			if !errors.As(err, &e) || e.Argument != c.argument || e.Problem != c.problem {
				t.Fatalf("got %v", err)
			}
			if c.problem == CertExpired || c.problem == CertNotYetValid {
				if e.When.IsZero() {
					t.Error("it does not say when")
				}
			}
			for _, line := range strings.Split(key, "\n")[1:3] {
				if line != "" && strings.Contains(err.Error(), line) {
					t.Errorf("the error holds a part of the key: %v", err)
				}
			}
		})
	}
}

// mangle damages the body of a PEM text but keeps its form.
func mangle(text string) string {
	lines := strings.Split(text, "\n")
	lines[1] = strings.Repeat("A", len(lines[1]))
	return strings.Join(lines, "\n")
}
