// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// These tests check one rule on real clusters: an identity that has run never
// starts again without its data or after its removal.

// asks runs the script once, without pauses, for the machine of p. The given
// variables override those of p.
func asks(t *testing.T, sh shell, p *etcdtest.Process, env ...string) result {
	t.Helper()
	var all []string
	for key, value := range p.Env {
		all = append(all, key+"="+value)
	}
	return sh.run(t, append(all, env...)...)
}

// formed returns the n members of a static cluster that has formed.
func formed(t *testing.T, sh shell, v etcdtest.Version, n int) []*etcdtest.Process {
	t.Helper()
	members := staticFounders(t, sh, v, n)
	for _, p := range members {
		p.Supervise(supervised)
	}
	ready(t, members...)
	return members
}

// eachSize runs f for clusters of one, three and five members: all sizes on each
// version with ETCD_TEST_FULL=1, otherwise three on each and one on the latest.
func eachSize(t *testing.T, f func(t *testing.T, v etcdtest.Version, n int)) {
	t.Helper()
	latest := versions[len(versions)-1]
	for _, v := range versions {
		for _, n := range []int{1, 3, 5} {
			if n == 3 || n == 1 && v == latest || etcdtest.Full() {
				t.Run(fmt.Sprintf("%s %d", v, n), func(t *testing.T) {
					t.Parallel()
					f(t, v, n)
				})
			}
		}
	}
}

// Test that a wiped initial member of a formed cluster never starts after its
// window, whatever state its peers are in.
func TestWipedInitialMemberNeverStarts(t *testing.T) {
	t.Parallel()
	eachSize(t, func(t *testing.T, v etcdtest.Version, n int) {
		sh := nth(t, 0)
		members := formed(t, sh, v, n)
		oneCluster(t, n, members[0].Client(t), members...)

		now := time.Now()
		clocks := map[string]time.Time{"two days ahead": now.Add(48 * time.Hour), "1970": time.Unix(1000, 0)}
		for _, state := range []struct {
			name string
			set  func(p *etcdtest.Process)
			end  func(p *etcdtest.Process)
		}{
			{"hang", (*etcdtest.Process).Freeze, (*etcdtest.Process).Thaw},
			{"are stopped", (*etcdtest.Process).PowerOff, func(p *etcdtest.Process) { p.Supervise(supervised) }},
		} {
			t.Run("all "+state.name, func(t *testing.T) {
				for _, p := range members {
					state.set(p)
				}
				for _, p := range members {
					for clock, is := range clocks {
						t.Run(p.Name+" "+clock, func(t *testing.T) {
							r := asks(t, sh, p, "ETCD_DATA_DIR="+filepath.Join(t.TempDir(), "empty"), fmt.Sprintf("TEST_NOW=%d", is.Unix()))
							if (r.code != exitRetry && r.code != exitNever) || r.stdout != "" {
								t.Errorf("the wiped %s may start: exit code %d, standard output %q\n%s", p.Name, r.code, r.stdout, r.stderr)
							}
						})
					}
				}
				// It may start in its window while no peer answers. This is the
				// purpose of the window, and shows that the test can fail.
				if state.name == "are stopped" {
					for i, p := range members {
						code := exitRetry
						if i == 0 {
							code = 0
						}
						asks(t, sh, p, "ETCD_DATA_DIR="+filepath.Join(t.TempDir(), "empty"), fmt.Sprintf("TEST_NOW=%d", now.Unix())).want(t, code, "", "no peer answers")
					}
				}
				for _, p := range members {
					state.end(p)
				}
			})
		}
		ready(t, members...)
		if n > 1 {
			never(t, members[0])
		}
	})
}

// Test the same within the window, if a mark outside the data directory exists.
func TestMarkKeepsTheWipedInitialMemberFromStarting(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := formed(t, sh, v, 3)
		for _, p := range members {
			p.PowerOff()
		}
		members[0].Wipe()
		asks(t, sh, members[0]).want(t, exitRetry, "", "etcd was started here before, and its data is gone")
		// Its peers are back and answer.
		members[1].Supervise(supervised)
		members[2].Supervise(supervised)
		ready(t, members[1:]...)
		never(t, members[0])
	})
}

// Test that new machines form their cluster in any boot order, if the first
// boots within its window.
func TestMachinesThatBootLate(t *testing.T) {
	t.Parallel()
	minutes := []int{0, 2, 5}
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for i, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			sh, v := nth(t, 0), versions[i%len(versions)]
			members := staticFounders(t, sh, v, 3)
			for k, which := range order {
				p := members[which]
				// The clock of a machine that boots later.
				clock := tools(t, map[string]string{"date": fmt.Sprintf("#!/bin/sh\nPATH=${PATH#*:}\necho $(($(date +%%s) + %d))\n", minutes[k]*60)})
				p.PreStart = append([]string{"env", "PATH=" + clock + ":" + os.Getenv("PATH")}, p.PreStart...)
				p.Supervise(supervised)
				if k < 2 {
					if err := p.WaitLog(etcdtest.WaitContext(t), "etcd"); err != nil {
						t.Fatal(err)
					}
				}
			}
			ready(t, members...)
			oneCluster(t, 3, members[0].Client(t), members...)
		})
	}
}

// Test that a member with its data starts: after a power failure, without a
// network, one by one, with another URL, and with unknown members.
func TestMemberWithDataStarts(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := formed(t, sh, v, 3)
		starts := func(t *testing.T, p *etcdtest.Process, env ...string) {
			t.Helper()
			begun := time.Now()
			asks(t, sh, p, env...).want(t, 0, "", "")
			t.Logf("%s: %v", p.Name, time.Since(begun).Round(10*time.Millisecond))
		}
		c := members[2]
		t.Run("its peers answer", func(t *testing.T) { starts(t, c) })
		t.Run("another cluster answers", func(t *testing.T) {
			other := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			initial := ""
			for _, p := range other.Members() {
				initial += p.Name + "=" + p.PeerURL() + ","
			}
			starts(t, c, "ETCD_INITIAL_CLUSTER="+initial+c.Name+"="+c.PeerURL(), "ETCD_NAME=x")
		})
		t.Run("its URL was updated a moment ago", func(t *testing.T) {
			client := members[0].Client(t)
			id, _ := listed(t, client, c)
			settled(t, func(ctx context.Context) error {
				_, err := client.MemberUpdate(ctx, id, []string{"http://127.0.0.1:3"})
				return err
			})
			starts(t, c)
			starts(t, c, "ETCD_INITIAL_ADVERTISE_PEER_URLS=http://127.0.0.1:4")
			settled(t, func(ctx context.Context) error {
				_, err := client.MemberUpdate(ctx, id, []string{c.PeerURL()})
				return err
			})
		})
		t.Run("its peers hang", func(t *testing.T) {
			for _, p := range members[:2] {
				p.Freeze()
			}
			starts(t, c)
			for _, p := range members[:2] {
				p.Thaw()
			}
		})
		t.Run("no connection comes about", func(t *testing.T) {
			starts(t, c, "ETCD_INITIAL_CLUSTER=a="+full(t)+",b="+full(t)+","+c.Name+"="+c.PeerURL())
		})
		t.Run("after a power cut, one by one", func(t *testing.T) {
			for _, p := range members {
				p.PowerOff()
			}
			for _, p := range members {
				starts(t, p)
			}
			for _, p := range members {
				p.Supervise(supervised)
			}
			ready(t, members...)
		})
	})
}

// Test that a removed member with data is not started again after a majority of
// the others confirms its removal.
func TestRemovedMemberEnds(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := formed(t, sh, v, 3)
		a, b, c := members[0], members[1], members[2]
		starts := c.Starts()
		remove(t, a.Client(t), c)
		logged(t, c, "was removed from the cluster")
		c.PowerOff()
		if again := c.Starts() - starts; again > 1 {
			t.Errorf("the removed %s was started %d times", c.Name, again)
		}
		asks(t, sh, c).want(t, exitRetry, "", "was removed from the cluster")
		// One of two voters is not a majority.
		b.PowerOff()
		asks(t, sh, c).want(t, 0, "", "")
		a.PowerOff()
		asks(t, sh, c).want(t, 0, "", "")
		for _, p := range members[:2] {
			p.Supervise(supervised)
		}
		ready(t, a, b)
		// It is added again on the same machine, which still has its data.
		c.Supervise(supervised)
		admit(t, a.Client(t), c)
		oneCluster(t, 3, a.Client(t), c)
	})
}
