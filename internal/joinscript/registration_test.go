// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Test that an initial member registers like etcd 3.6, with the same ID: a
// member started without the script takes the same place.
func TestRegistration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		g := newRegistry(t)
		env := []string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + g.url}
		registers := func(t *testing.T, urls, value string, of ...string) {
			t.Helper()
			g.set(t, "3")
			ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_INITIAL_ADVERTISE_PEER_URLS="+urls)...).want(t, exitRetry, "", "registered: waiting")
			id := membership.ComputeMemberID(of, "T", nil)
			if want := fmt.Sprintf("/_etcd/registry/T/members/%x %s", uint64(id), value); !slices.Equal(g.members(t), []string{want}) {
				t.Errorf("registered are %q, want %q", g.members(t), want)
			}
		}
		registers(t, own, "us="+own, own)
		registers(t, "http://127.0.0.1:9, http://[::1]:1,http://127.0.0.1:10", "us=http://127.0.0.1:10,us=http://127.0.0.1:9,us=http://[::1]:1",
			"http://127.0.0.1:9", "http://[::1]:1", "http://127.0.0.1:10")
		// etcd writes no leading zeros in an ID.
		short := own
		for i := 2; membership.ComputeMemberID([]string{short}, "T", nil)>>60 != 0; i++ {
			short = fmt.Sprint("http://127.0.0.1:", i)
		}
		registers(t, short, "us="+short, short)

		for _, urls := range []string{own + "/", "http://127.0.0.1", own + "," + "ftp://127.0.0.1:1", own + ",," + own, "http://user@127.0.0.1:1," + own} {
			g.set(t, "3")
			r := ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_INITIAL_ADVERTISE_PEER_URLS="+urls)...)
			r.want(t, exitNever, "", "ETCD_INITIAL_ADVERTISE_PEER_URLS is not a list of URLs with a port: ")
			if got := g.members(t); got != nil {
				t.Errorf("with %s it registers %q", urls, got)
			}
		}
		// A registry that can be read and not written.
		p := newPeer(t)
		p.handle(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v3/kv/txn" {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"error":"etcdserver: permission denied"}`)
				return
			}
			_, _ = io.WriteString(w, `{"kvs":[{"key":"`+base64.StdEncoding.EncodeToString([]byte(prefix+"_config/size"))+`","value":"Mw==","create_revision":"2"}]}`)
		})
		ask(t, sh, true, nil, "ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS="+p.url, "ETCD_DATA_DIR="+t.TempDir()).
			want(t, exitRetry, "", "cannot register: "+p.url+": HTTP status 403, etcdserver: permission denied")
	}, "discovery")
}

// Test that etcd 3.6 and later registers itself, only after its settings are
// valid: a registration is permanent. The script waits for an etcd that does
// not run yet.
func TestWhoRegisters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		g := newRegistry(t)
		const own, etcd, broken = "registered: waiting for the other initial members", "", "/etcd does not run"
		for i, c := range []struct{ program, reason string }{
			{"echo etcd Version: 3.4.13", own},
			{"echo etcd Version: 3.5.35; echo Git SHA: 3.6", own},
			{"echo etcd Version: 3.6.0-rc.1", etcd},
			{"echo etcd Version: 3.7.3; echo Go Version: go1.5", etcd},
			{"echo etcd Version: 3.10.0", etcd},
			{"echo etcd Version: 4.0.0", etcd},
			{"exit 1", broken},
			{"", broken},
			{"none", broken},
		} {
			if !sh.due(i) {
				continue
			}
			g.set(t, "3")
			bin := t.TempDir()
			if c.program != "none" {
				bin = tools(t, map[string]string{"etcd": "#!/bin/sh\n" + c.program + "\n"})
			}
			r := ask(t, sh, true, nil, "ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS="+g.url, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_JOIN_BIN="+bin)
			code := exitRetry
			if c.reason == etcd {
				code = 0
			}
			r.want(t, code, "", c.reason)
			if got := g.members(t); (len(got) == 1) != (c.reason == own) {
				t.Errorf("%s: registered are %q", c.program, got)
			}
		}
		t.Run("etcd may be anywhere", func(t *testing.T) {
			if _, err := os.Stat("/usr/local/bin/etcd"); err == nil {
				t.Skip("there is an etcd in the directory that the script looks in by default")
			}
			g.set(t, "3")
			ask(t, sh, true, nil, "ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS="+g.url, "ETCD_DATA_DIR="+t.TempDir(), "ETCD_JOIN_BIN=").want(t, exitRetry, "", own)
			if got := g.members(t); len(got) != 1 {
				t.Errorf("registered are %q", got)
			}
		})
	}, "discovery")
}

// Test that a registered initial member may start until etcd has created its
// log: the mark in its place persists across runs of the script. It is lost
// with the log and with the data.
func TestRegistrationOfOneThatHasNotRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		g, a := newRegistry(t), newPeer(t)
		dir, elsewhere := filepath.Join(t.TempDir(), "deep", "data"), filepath.Join(t.TempDir(), "wal")
		try := func(env ...string) result {
			t.Helper()
			return ask(t, sh, true, nil, append([]string{"ETCD_DISCOVERY_TOKEN=T", "ETCD_DISCOVERY_ENDPOINTS=" + g.url, "ETCD_DATA_DIR=" + dir}, env...)...)
		}
		const waits, mayHaveRun = "registered: waiting for the other initial members", "registered before, so this member may have run"
		rus, ra := "us="+own, "a="+a.url
		for _, wal := range []string{filepath.Join(dir, "member", "wal"), elsewhere} {
			env := ""
			if wal == elsewhere {
				env = "ETCD_WAL_DIR=" + wal
			}
			g.set(t, "2")
			a.answer(http.StatusServiceUnavailable, "")
			try(env).want(t, exitRetry, "", waits)
			if info, err := os.Stat(wal); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the place of the log is %v, %v; want mode 0700", info, err)
			}
			// Wiped while no cluster can have formed: as if it were new.
			wipe(t, dir)
			wipe(t, wal)
			try(env).want(t, exitRetry, "", waits)
			if got := g.members(t); len(got) != 1 || !strings.HasSuffix(got[0], " "+rus) {
				t.Errorf("registered are %q, want %q", got, rus)
			}
			// A machine that stops between its registration and the start of
			// etcd, or before etcd has created its log, continues. A peer
			// without a useful answer does not prevent that.
			for _, other := range []string{ra, ra, "a=" + dead} {
				g.set(t, "2", rus, other)
				try(env).want(t, 0, started("T", rus, other), "starting with the initial members of the token")
			}
			g.set(t, "2", ra, "b="+dead)
			try(env).want(t, exitRetry, "", "the token is full and this member is not among its first 2")
			// etcd replaces the mark with its log.
			g.set(t, "2", rus, "a="+dead)
			wipe(t, wal)
			try(env).want(t, exitRetry, "", mayHaveRun)
			a.list(ran(11, "a", a.url), ran(20, "us", own))
			g.set(t, "2", rus, ra)
			try(env).want(t, exitRetry, "", "has run before")
			wipe(t, dir)
		}
		// Without a mark it does not register.
		g.set(t, "2")
		put(t, dir, "")
		try().want(t, exitRetry, "", "cannot write to "+filepath.Join(dir, "member", "wal")+": run this as the user of etcd")
		if got := g.members(t); got != nil {
			t.Errorf("registered are %q", got)
		}
	}, "discovery")
}
