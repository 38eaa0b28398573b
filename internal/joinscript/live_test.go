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
	if err := p.WaitLog(etcdtest.WaitContext(t), text); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
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
