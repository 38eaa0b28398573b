// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The window of the tests is one hour from created.
const (
	created = 1_800_000_000
	window  = WindowVariable + "=1800000000-1800003600"
)

func at(seconds int) string { return fmt.Sprintf("TEST_NOW=%d", seconds) }

func TestFounderOfAStaticCluster(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a, b := newPeer(t), newPeer(t)
		ea, eb := ran(11, "a", a.url), ran(12, "b", b.url)
		const away = "ETCD_INITIAL_CLUSTER=us=" + own + ",x=" + dead
		here := "ETCD_INITIAL_CLUSTER=a=" + a.url + ",b=" + b.url + ",us=" + own
		open := []string{window, at(created)}
		cases := []struct {
			name   string
			set    func()
			env    []string
			code   int
			stdout string
			reason string
		}{
			// A peer that accepts a connection is alive, unless it closes it at once.
			{"one breaks off, the other is away", func() { a.handle(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) },
				append(open, "ETCD_INITIAL_CLUSTER=us="+own+",a="+a.url+",x="+dead), 0, "", "no peer answers: "},
			{"one breaks off, and the window is over", nil, []string{"ETCD_INITIAL_CLUSTER=us=" + own + ",a=" + a.url + ",x=" + dead, window, at(created + 4000)},
				exitRetry, "", "the bootstrap window of this member is over"},
			{"they hang", func() { a.handle(hang); b.handle(hang) }, append(open, hurry, here), exitRetry, "", "a peer is there but cannot be asked: "},
			// No peer is there: the first member may start in its window.
			{"nobody has such a name", nil, append(open, hurry, "ETCD_INITIAL_CLUSTER=us="+own+",x=http://nobody.invalid:1"), 0, "", "no peer answers: "},
			{"no connection comes about", nil, append(open, hurry, "ETCD_INITIAL_CLUSTER=us="+own+",x="+full(t)), 0, "", "no peer answers: "},
			{"at the end of its window", nil, []string{away, window, at(created + 3400)}, 0, "", "no peer answers"},
			{"loaded what an earlier run printed", nil, append(open, away, "ETCD_DISCOVERY_TOKEN="), 0,
				"ETCD_NAME=us\nETCD_INITIAL_ADVERTISE_PEER_URLS=" + own + "\n" + away + "\nETCD_INITIAL_CLUSTER_STATE=new\n" + noDiscovery +
					"ETCD_INITIAL_CLUSTER_TOKEN=etcd-cluster\n", "no peer answers"},
			{"another than the first", nil, []string{away, at(created)}, exitRetry, "", "waiting for us, the first initial member: no peer answers: "},
			{"before its window", nil, []string{away, window, at(created - 100000)}, exitRetry, "", "is before the creation of its configuration"},
			{"in 1970", nil, []string{away, window, at(0)}, exitRetry, "", "is before the creation of its configuration"},
			{"alone in 1970", nil, []string{"ETCD_INITIAL_CLUSTER=us=" + own, window, at(0)}, exitRetry, "", "is before the creation of its configuration"},
			{"no clock", nil, []string{away, window, "TEST_NOW=date: invalid"}, exitRetry, "", "is before the creation of its configuration"},
			{"a window that is none", nil, []string{away, WindowVariable + "=1800000000", at(created + 1)}, exitRetry, "", "the bootstrap window of this member is over"},
			{"without any bootstrap", nil, open, exitRetry, "", "an initial member needs ETCD_INITIAL_CLUSTER, ETCD_DISCOVERY or"},
			// systemd may still load the output of the last run of the script.
			{"loaded what an earlier run printed, as a joiner", func() { a.list(ea, eb); b.list(ea, eb) },
				append(open, here, "ETCD_INITIAL_CLUSTER_STATE=existing", "ETCD_DISCOVERY=", "ETCD_DISCOVERY_TOKEN="), exitRetry, "", "not added yet"},
		}
		for i, test := range cases {
			if test.set != nil {
				test.set()
			}
			if !sh.due(i) {
				continue
			}
			t.Run(test.name, func(t *testing.T) {
				ask(t, sh, true, nil, append([]string{"ETCD_DATA_DIR=" + filepath.Join(t.TempDir(), "data")}, test.env...)...).
					want(t, test.code, test.stdout, test.reason)
			})
		}
	}, "static", "discovery")
}

// Test that one observation is not enough: a starting member lists the others
// before it has read its own log.
func TestAFormingClusterIsSeenTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		nus := entry{ID: 20, Name: "us", PeerURLs: []string{own}}
		a.handle(func(w http.ResponseWriter, _ *http.Request) {
			a.list(ran(11, "a", a.url), ran(20, "us", own))
			reply(w, "cdf8", entry{ID: 11, Name: "a", PeerURLs: []string{a.url}}, nus)
		})
		ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=a="+a.url+",us="+own).want(t, exitRetry, "", "has run before")
	}, "static", "discovery")
}

// Test that the first initial member founds late in its window only after its
// peers were silent for a while: a machine that was recreated may not reach them
// at once.
func TestSilenceMustLastLateInTheWindow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		for _, c := range []struct {
			name                 string
			late, silent, answer int // answer is the exit code
			rounds               int32
		}{
			{"at once", 30, 100, 0, 2},
			{"after 20 minutes", 1200, 100, 0, 5},
			{"after 59 minutes", 3540, 100, 0, 7},
			{"after 20 minutes, and a peer comes back", 1200, 3, exitRetry, 10},
		} {
			t.Run(c.name, func(t *testing.T) {
				a := newPeer(t)
				a.handle(func(w http.ResponseWriter, _ *http.Request) {
					if a.asked.Load() <= int32(c.silent) {
						panic(http.ErrAbortHandler)
					}
					reply(w, "cdf8", ran(11, "a", a.url), ran(20, "us", own))
				})
				r := ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=us="+own+",a="+a.url, window, at(created+c.late), "TEST_STEP=5", "ETCD_DATA_DIR="+filepath.Join(t.TempDir(), "data"))
				if r.want(t, c.answer, "", "no peer answers"); a.asked.Load() != c.rounds {
					t.Errorf("it asked %d times, want %d", a.asked.Load(), c.rounds)
				}
			})
		}
	}, "static", "discovery")
}

// Test that a mark outside the data directory closes the window only if the
// data is gone: etcd may have failed before it created its log.
func TestMark(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		token := fmt.Sprintf("test-%s-%d", sh.name, os.Getpid())
		run := func(dir string, env ...string) result {
			return ask(t, sh, true, nil, append([]string{"ETCD_INITIAL_CLUSTER=us=" + own + ",x=" + dead, "ETCD_INITIAL_CLUSTER_TOKEN=" + token, window, at(created), "ETCD_DATA_DIR=" + dir}, env...)...)
		}
		t.Run("beside", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "deep", "data")
			run(dir).want(t, 0, "", "no peer answers")
			run(dir).want(t, 0, "", "no peer answers")
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the data directory is %v, %v; want mode 0700", info, err)
			}
			wipe(t, dir)
			run(dir+"/").want(t, exitRetry, "", "etcd was started here before, and its data is gone from "+dir)
			// Another bootstrap is not affected.
			run(dir, WindowVariable+"=1800000001-1800003601", at(created+1)).want(t, 0, "", "no peer answers")
		})
		t.Run("elsewhere", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			mark := "etcd-join-" + token + "-1800000000-1800003600"
			// No file can be created next to the data directory.
			put(t, dir+"."+mark, "")
			own := "/var/tmp/" + mark
			_ = os.Remove(own)
			t.Cleanup(func() { _ = os.Remove(own) })
			run(dir).want(t, 0, "", "no peer answers")
			wipe(t, dir)
			run(dir).want(t, exitRetry, "", "etcd was started here before")
		})
	}, "static", "discovery")
}

// Test that files in the data directory get the owner that etcd needs.
func TestMarkBelongsToTheOwnerOfTheDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	each(t, func(t *testing.T, sh shell) {
		for _, made := range []bool{false, true} {
			parent := t.TempDir()
			dir := filepath.Join(parent, "data")
			theirs := parent
			if made {
				theirs = dir
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(theirs, 4711, 4712); err != nil {
				t.Fatal(err)
			}
			ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=us="+own, window, at(created), "ETCD_DATA_DIR="+dir).want(t, 0, "", "no peer answers")
			for _, path := range []string{dir, filepath.Join(dir, "member")} {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != 4711 || s.Gid != 4712 {
					t.Errorf("%s belongs to %v, want 4711:4712", path, info.Sys())
				}
			}
		}
	}, "static", "discovery")
}

// full returns a URL whose host drops connection requests because the queue of
// its port is full.
func full(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	bound, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("the port is %T", name)
	}
	address := fmt.Sprintf("127.0.0.1:%d", bound.Port)
	for range 16 {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			if !strings.Contains(err.Error(), "timeout") {
				t.Fatal(err)
			}
			return "http://" + address
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("the port takes every connection")
	return ""
}
