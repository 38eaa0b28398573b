// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// versions are the versions that the script supports.
var versions = []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37}

// supervised is the delay between an exit and the next start.
const supervised = 200 * time.Millisecond

// eachVersion runs f on every version, each under one shell. With
// ETCD_TEST_FULL=1 it runs on every version under dash, and on the latest under
// the other shells.
func eachVersion(t *testing.T, all []etcdtest.Version, f func(t *testing.T, v etcdtest.Version, sh shell)) {
	t.Helper()
	for i, v := range all {
		for _, sh := range shells(t) {
			latest := i == len(all)-1
			if etcdtest.Full() && sh.index > 0 && !latest || !etcdtest.Full() && !sh.due(i) {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", v, sh.name), func(t *testing.T) {
				t.Parallel() // the tests mostly wait
				sh.must(t)
				f(t, v, sh)
			})
		}
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
func settled(t *testing.T, change func(ctx context.Context) error) {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	for {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := change(one)
		cancel()
		var e rpctypes.EtcdError
		if err == nil {
			return
		}
		if ctx.Err() != nil || (!errors.As(err, &e) && !errors.Is(err, context.DeadlineExceeded)) {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// listed returns the member with p's peer URL, or 0 if there is none.
func listed(t *testing.T, c *clientv3.Client, p *etcdtest.Process) (id uint64, learner bool) {
	t.Helper()
	list, err := c.MemberList(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
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
	settled(t, func(ctx context.Context) error {
		id, _ := listed(t, c, p)
		if id == 0 {
			return nil
		}
		_, err := c.MemberRemove(ctx, id)
		return err
	})
}

// admit adds p, which waits for that, and promotes it. It returns the time
// between adding and starting p.
func admit(t *testing.T, c *clientv3.Client, p *etcdtest.Process) time.Duration {
	t.Helper()
	starts := p.Starts()
	var announced time.Time
	settled(t, func(ctx context.Context) error {
		if id, _ := listed(t, c, p); id != 0 {
			return nil // added by an attempt that returned an error
		}
		_, err := c.MemberAddAsLearner(ctx, []string{p.PeerURL()})
		announced = time.Now()
		return err
	})
	for p.Starts() == starts {
		if time.Since(announced) > etcdtest.WaitLimit {
			t.Fatalf("%v after it was announced, %s has not been started", etcdtest.WaitLimit, p.Name)
		}
		time.Sleep(5 * time.Millisecond)
	}
	gap := time.Since(announced)
	ready(t, p)
	settled(t, func(ctx context.Context) error {
		id, learner := listed(t, c, p)
		if id != 0 && !learner {
			return nil
		}
		_, err := c.MemberPromote(ctx, id)
		return err
	})
	ready(t, p)
	return gap
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
		if err != nil {
			t.Fatal(err)
		}
		if status.Header.ClusterId != list.Header.ClusterId {
			t.Errorf("%s is in another cluster", p.Name)
		}
	}
}

// staticFounders returns n machines with the environment of a static bootstrap
// whose window has just begun.
func staticFounders(t *testing.T, sh shell, v etcdtest.Version, n int) []*etcdtest.Process {
	t.Helper()
	var founders []*etcdtest.Process
	var initial []string
	for i := range n {
		name := string(rune('a' + i))
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: v})
		founders = append(founders, p)
		initial = append(initial, name+"="+p.PeerURL())
	}
	for _, p := range founders {
		p.Env["ETCD_INITIAL_CLUSTER"] = strings.Join(initial, ",")
		p.Env["ETCD_INITIAL_CLUSTER_STATE"] = "new"
		p.Env["ETCD_INITIAL_CLUSTER_TOKEN"] = strings.ReplaceAll(t.Name(), "/", "-")
		sh.before(t, p)
	}
	now := time.Now().Unix()
	founders[0].Env[WindowVariable] = fmt.Sprintf("%d-%d", now, now+3600)
	return founders
}

func TestStaticFounders(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
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
		asks(t, sh, c).want(t, exitRetry, "", "was removed from the cluster")
		b.PowerOff() // one of two voters is not a majority
		asks(t, sh, c).want(t, 0, "", "")
		a.PowerOff()
		asks(t, sh, c).want(t, 0, "", "")
		a.Supervise(supervised)
		b.Supervise(supervised)
		ready(t, a, b)
		// It is added again on the same machine, with its data and then without.
		c.Supervise(supervised)
		admit(t, client, c)
		oneCluster(t, 3, client, a, b, c)
		never(t, c)
		remove(t, client, c)
		c.Supervise(supervised)
		logged(t, c, "etcd-join: not added yet")
		t.Logf("announced and not started: %v", admit(t, client, c))
		oneCluster(t, 3, client, a, b, c)
	})
}

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

// Test TLS, one known peer, and a directory left by a failed start.
func TestJoinerOverTLS(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		pki := etcdtest.NewPKI(t)
		cluster := etcdtest.Start(t, 3, etcdtest.Options{Version: v, TLS: pki})
		client := cluster.Client(t)
		peers := []string{cluster.Members()[1].PeerURL()}
		p := cluster.NewJoiner(t, "joiner")
		p.Start()
		if code, err := p.WaitExit(etcdtest.WaitContext(t)); err != nil || code != 1 {
			t.Fatalf("before it is announced the joiner ends with %d, %v; want 1", code, err)
		}
		if _, err := os.Stat(p.Dir()); err != nil {
			t.Fatalf("the start that failed left no directory: %v", err)
		}
		delete(p.Env, "ETCD_INITIAL_CLUSTER")
		p.Env["ETCD_JOIN_PEERS"] = peers[0]
		sh.before(t, p)
		p.Supervise(supervised)
		logged(t, p, "etcd-join: not added yet")
		t.Logf("announced and not started: %v", admit(t, client, p))
		oneCluster(t, 4, client, p)
		p.Kill()
		ready(t, p)
		never(t, p)

		// A member that cannot verify the peers must wait, even an initial member.
		env := []string{"ETCD_NAME=x", "ETCD_INITIAL_ADVERTISE_PEER_URLS=https://127.0.0.1:1", "ETCD_INITIAL_CLUSTER=a=" + peers[0]}
		foreign := append(env, "ETCD_PEER_TRUSTED_CA_FILE="+etcdtest.NewPKI(t).CAFile, "ETCD_PEER_CERT_FILE="+pki.Peer.CertFile, "ETCD_PEER_KEY_FILE="+pki.Peer.KeyFile)
		ask(t, sh, false, nil, foreign...).want(t, exitRetry, "", "certificate problem")
		ask(t, sh, true, nil, foreign...).want(t, exitRetry, "", "a peer is there but cannot be asked: "+peers[0])
		// A member without a certificate is rejected.
		ask(t, sh, true, nil, append(env, "ETCD_PEER_TRUSTED_CA_FILE="+pki.CAFile)...).want(t, exitRetry, "", "a peer is there but cannot be asked: "+peers[0])
	})
}
