// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// versions are the versions that the script supports.
var versions = []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37}

// supervised is the delay between an exit and the next start.
const supervised = 200 * time.Millisecond

// eachVersion runs f on every version, each under one shell. If quick names versions, the
// others are due with ETCD_TEST_FULL=1 only.
func eachVersion(t *testing.T, f func(t *testing.T, v etcdtest.Version, sh shell), quick ...etcdtest.Version) {
	t.Helper()
	for i, v := range versions {
		if len(quick) > 0 && !slices.Contains(quick, v) && !etcdtest.Full() {
			continue
		}
		t.Run(string(v), func(t *testing.T) {
			t.Parallel() // the tests mostly wait
			f(t, v, nth(t, i))
		})
	}
}

// before runs the script before each start of p, in the variant for a machine
// with its environment.
func (sh shell) before(t *testing.T, p *etcdtest.Process) {
	t.Helper()
	script := Static()
	for name := range p.Env {
		switch {
		case strings.Contains(name, "DISCOVERY"):
			script = Discovery()
		case name == RestoreVariable:
			script = Restore()
		}
	}
	p.PreStart = append(append([]string(nil), sh.argv...), script.write(t))
	if sh.path != "" {
		p.PreStart = append([]string{"env", "PATH=" + sh.path + ":" + os.Getenv("PATH")}, p.PreStart...)
	}
}

func ready(t *testing.T, processes ...*etcdtest.Process) {
	t.Helper()
	for _, p := range processes {
		if err := p.WaitReady(etcdtest.WaitContext(t)); err != nil {
			t.Fatalf("%s does not serve: %v", p.Name, err)
		}
	}
}

func logged(t *testing.T, p *etcdtest.Process, text string) {
	t.Helper()
	etcdtest.Until(t, p.Name+" logs "+text, func() bool { return strings.Contains(p.Log(), text) })
}

// settled repeats a membership change until the cluster accepts it.
func settled(t *testing.T, what string, change func(ctx context.Context) error) {
	t.Helper()
	etcdtest.Eventually(t, what, func() error {
		ctx, cancel := context.WithTimeout(etcdtest.WaitContext(t), 5*time.Second)
		defer cancel()
		return change(ctx)
	})
}

// listed returns the member with p's peer URL, or 0 if there is none.
func listed(t *testing.T, c *clientv3.Client, p *etcdtest.Process) (id uint64, learner bool) {
	t.Helper()
	list, err := c.MemberList(etcdtest.WaitContext(t))
	must.Succeed(t, err)
	for _, m := range list.Members {
		if len(m.PeerURLs) == 1 && m.PeerURLs[0] == p.PeerURL() {
			return m.ID, m.IsLearner
		}
	}
	return 0, false
}

// remove removes p's member. After an error it may already be removed.
func remove(t *testing.T, c *clientv3.Client, p *etcdtest.Process) {
	t.Helper()
	settled(t, p.Name+" is removed", func(ctx context.Context) error {
		id, _ := listed(t, c, p)
		if id == 0 {
			return nil
		}
		_, err := c.MemberRemove(ctx, id)
		return err
	})
}

// admit adds p, which waits for that, and promotes it. After an error it may already be added.
func admit(t *testing.T, c *clientv3.Client, p *etcdtest.Process) {
	t.Helper()
	starts := p.Starts()
	settled(t, p.Name+" is added", func(ctx context.Context) error {
		if id, _ := listed(t, c, p); id != 0 {
			return nil
		}
		_, err := c.MemberAddAsLearner(ctx, []string{p.PeerURL()})
		return err
	})
	etcdtest.Until(t, p.Name+" is started", func() bool { return p.Starts() != starts })
	ready(t, p)
	settled(t, p.Name+" is promoted", func(ctx context.Context) error {
		id, learner := listed(t, c, p)
		if id != 0 && !learner {
			return nil
		}
		_, err := c.MemberPromote(ctx, id)
		return err
	})
	ready(t, p)
}

// never expects that the script prevents the wiped p from starting.
func never(t *testing.T, p *etcdtest.Process) {
	t.Helper()
	starts := p.Starts()
	p.PowerOff()
	p.Wipe()
	p.Supervise(supervised)
	logged(t, p, "has run before")
	p.PowerOff()
	if p.Starts() != starts {
		t.Fatalf("the wiped %s was started", p.Name)
	}
}

// oneCluster expects n voters in one cluster. A server of 3.4 lists what it has applied
// itself, which may be less than what another one has answered.
func oneCluster(t *testing.T, n int, c *clientv3.Client, processes ...*etcdtest.Process) {
	t.Helper()
	var list *clientv3.MemberListResponse
	etcdtest.Eventually(t, fmt.Sprint(n, " members vote"), func() (err error) {
		if list, err = c.MemberList(etcdtest.WaitContext(t)); err != nil {
			return err
		}
		for _, m := range list.Members {
			if m.IsLearner || m.Name == "" {
				return fmt.Errorf("not a voter that has run: %v", m)
			}
		}
		if len(list.Members) != n {
			return fmt.Errorf("the cluster has %d members: %v", len(list.Members), list.Members)
		}
		return nil
	})
	for _, p := range processes {
		status, err := p.Client(t).Status(etcdtest.WaitContext(t), p.ClientURL())
		must.Succeed(t, err)
		if status.Header.ClusterId != list.Header.ClusterId {
			t.Errorf("%s is in another cluster", p.Name)
		}
	}
}

// machines returns n machines with variables, and with etcd where the script expects it.
func machines(t *testing.T, sh shell, v etcdtest.Version, n int, env map[string]string) (all []*etcdtest.Process) {
	t.Helper()
	for i := range n {
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: string(rune('a' + i)), Version: v, Env: env})
		p.Env["ETCD_JOIN_BIN"] = t.TempDir()
		link(t, p, "etcd", etcdtest.Binary(t, v))
		sh.before(t, p)
		all = append(all, p)
	}
	return all
}

func link(t *testing.T, p *etcdtest.Process, name, program string) {
	t.Helper()
	must.Succeed(t, os.Symlink(program, filepath.Join(p.Env["ETCD_JOIN_BIN"], name)))
}

// runningFounders returns n machines of [staticFounders] that serve.
func runningFounders(t *testing.T, sh shell, v etcdtest.Version, n int) []*etcdtest.Process {
	t.Helper()
	founders := staticFounders(t, sh, v, n)
	for _, p := range founders {
		p.Supervise(supervised)
	}
	ready(t, founders...)
	return founders
}

// staticFounders returns n machines with the environment of a static bootstrap
// whose window has just begun.
func staticFounders(t *testing.T, sh shell, v etcdtest.Version, n int) []*etcdtest.Process {
	t.Helper()
	founders := machines(t, sh, v, n, nil)
	var initial []string
	for _, p := range founders {
		initial = append(initial, p.Name+"="+p.PeerURL())
	}
	for _, p := range founders {
		p.Env["ETCD_INITIAL_CLUSTER"] = strings.Join(initial, ",")
		p.Env["ETCD_INITIAL_CLUSTER_STATE"] = "new"
		p.Env["ETCD_INITIAL_CLUSTER_TOKEN"] = strings.ReplaceAll(t.Name(), "/", "-")
	}
	now := time.Now().Unix()
	founders[0].Env[WindowVariable] = fmt.Sprintf("%d-%d", now, now+3600)
	return founders
}

func TestStaticFounders(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		founders := staticFounders(t, sh, v, 3)
		a, b, c := founders[0], founders[1], founders[2]
		a.Supervise(supervised)
		time.Sleep(500 * time.Millisecond) // b starts while a is alone
		b.Supervise(supervised)
		ready(t, a, b)

		// The third finds a formed cluster that lists it.
		c.Supervise(supervised)
		ready(t, c)
		client := a.Client(t)
		oneCluster(t, 3, client, a, b, c)
		if !strings.Contains(c.Log(), "etcd-join: added to the cluster: starting") {
			t.Error("the late founder did not start with the list that holds")
		}

		// After a crash, its data lets it start immediately. After its removal, which a
		// majority of the others confirms, it does not.
		c.Kill()
		ready(t, c)
		starts := c.Starts()
		remove(t, client, c)
		logged(t, c, "was removed from the cluster")
		c.PowerOff()
		if again := c.Starts() - starts; again > 1 {
			t.Errorf("the removed %s was started %d times", c.Name, again)
		}
		// It is added again on the same machine, with its data and then without.
		c.Supervise(supervised)
		admit(t, client, c)
		oneCluster(t, 3, client, a, b, c)
		never(t, c)
		remove(t, client, c)
		c.Supervise(supervised)
		logged(t, c, "etcd-join: not added yet")
		admit(t, client, c)
		oneCluster(t, 3, client, a, b, c)
	})
}

// Test TLS, and one known peer.
func TestJoinerOverTLS(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		pki := etcdtest.NewPKI(t)
		cluster := etcdtest.Start(t, 3, etcdtest.Options{Version: v, TLS: pki})
		client := cluster.Client(t)
		peer := cluster.Members()[1].PeerURL()
		p := cluster.NewJoiner(t, "joiner")
		delete(p.Env, "ETCD_INITIAL_CLUSTER")
		p.Env["ETCD_JOIN_PEERS"] = peer
		sh.before(t, p)
		p.Supervise(supervised)
		logged(t, p, "etcd-join: not added yet")
		admit(t, client, p)
		oneCluster(t, 4, client, p)
		p.Kill()
		ready(t, p)
		never(t, p)

		// A member that cannot verify the peers must wait, even an initial member, and one
		// without a certificate is rejected.
		sees := func(words, ca, says string) {
			row := "|" + words + " ETCD_INITIAL_ADVERTISE_PEER_URLS=https://127.0.0.1:1 ETCD_JOIN_PEERS=" + peer + " ETCD_PEER_TRUSTED_CA_FILE=" + ca
			newScene(t, sh, nil, "", rowOf(row+"| | wait | "+says)).play()
		}
		cert := " ETCD_PEER_CERT_FILE=" + pki.Peer.CertFile + " ETCD_PEER_KEY_FILE=" + pki.Peer.KeyFile
		foreign := etcdtest.NewPKI(t).CAFile
		sees(cert, foreign, "certificate problem")
		sees("initial window"+cert, foreign, "a peer is there but cannot be asked: "+peer)
		sees("initial window", pki.CAFile, "a peer is there but cannot be asked: "+peer)
	})
}
