// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// The Patroni and PostgreSQL of Debian on the user data of examples/patroni: etcd is rolled
// to another version, grows and loses its leader while transactions are written. Patroni
// fails over in none of it, and no acknowledged transaction is lost. A quorum that the
// provider loses does not return, because etcd adds no member without it. So a limit of
// Patroni that a loaded machine does not reach finds that too.
func TestPatroni(t *testing.T) {
	need(t)
	if _, err := os.Stat(filepath.Join(guest(), "usr", "bin", "patroni")); err != nil {
		t.Skipf("the machines have no Patroni: %v", err)
	}
	c := newCluster(t, "patroni", "3.5")
	c.secure()
	p := newDatabases(c)
	p.limits(120, 10, 50)
	p.through("a roll of three from 3.5 to 3.6", func() {
		c.image = "3.6"
		applies := 0
		for ; applies < 10 && c.Plan().ExitCode == 2; applies++ {
			c.Apply().MustSucceed()
		}
		if applies != 3 {
			t.Errorf("%d applies, want one for each member", applies)
		}
	})
	p.through("growth from three to five", func() {
		c.add("d", "e")
		for _, name := range []string{"d", "e"} {
			c.certs[name] = c.pki.Host(name, c.nodes[name].Address)
		}
		c.Apply().MustSucceed()
	})
	p.through("a lost leader of etcd", p.loseLeader)
	p.mustNotice()
	p.stop()
	c.destroys()
}

// databases are two machines with Patroni, and writers.
type databases struct {
	*cluster
	addresses map[string]string
	leader    string
	stop      func() // the writers

	mu    sync.Mutex
	next  int
	acked []int
	last  error // of the latest write that failed
}

// newDatabases creates the cluster, and its databases, with one apply, and starts writers.
func newDatabases(c *cluster) *databases {
	c.t.Helper()
	p := &databases{cluster: c, addresses: map[string]string{"db1": c.cloud.address(101), "db2": c.cloud.address(102)}}
	c.Write("user-data.yaml.tftpl", must.Read(c.t, filepath.Join("..", "..", "examples", "patroni", "user-data.yaml.tftpl")))
	cert := c.pki.Client("patroni")
	c.more["databases"] = p.addresses
	c.more["client"] = map[string]string{"ca": must.Read(c.t, c.pki.CAFile), "cert": must.Read(c.t, cert.CertFile), "key": must.Read(c.t, cert.KeyFile)}
	c.fromNothing()
	for name := range p.addresses {
		c.mustHaveBooted(name)
	}
	etcdtest.Eventually(c.t, "a leader and a synchronous standby", func() error {
		members, err := p.list()
		for _, m := range members {
			if m.Role == "leader" {
				p.leader = m.Name
			}
		}
		if err != nil || len(members) != 2 || !slices.ContainsFunc(members, func(m database) bool { return m.Role == "sync_standby" }) {
			return errors.Join(fmt.Errorf("databases %+v", members), err)
		}
		_, err = p.sql(p.leader, "CREATE TABLE IF NOT EXISTS written (n int PRIMARY KEY)")
		return err
	})
	ctx, stop := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() { p.write(ctx) })
	}
	p.stop = func() {
		stop()
		writers.Wait()
	}
	c.t.Cleanup(p.stop)
	return p
}

// database is a member of Patroni's cluster.
type database struct {
	Name, Role, State string
	Timeline          int
}

// list returns the members of Patroni's cluster, as the first one that answers says.
func (p *databases) list() ([]database, error) {
	var said struct{ Members []database }
	var errs []error
	for _, address := range p.addresses {
		text, err := p.rest(http.MethodGet, address, "cluster", "")
		if err == nil {
			return said.Members, errors.Join(json.Unmarshal(text, &said))
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// rest asks Patroni.
func (p *databases) rest(method, address, path, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+":8008/"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("patroni", "p")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return text, err
}

// sql runs a statement on a machine.
func (p *databases) sql(name, statement string) (string, error) {
	out, err := p.cloud.machine(name).run("runuser", "-u", "postgres", "--", "env", "--chdir=/",
		"/usr/lib/postgresql/15/bin/psql", "--host=/var/run/postgresql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command="+statement)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", statement, err, out)
	}
	return out, nil
}

// write writes numbered rows until ctx is done.
func (p *databases) write(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		p.next++
		n := p.next
		p.mu.Unlock()
		_, err := p.sql(p.leader, fmt.Sprintf("INSERT INTO written VALUES (%d)", n))
		p.mu.Lock()
		if err == nil {
			p.acked = append(p.acked, n)
		} else {
			p.last = err
		}
		p.mu.Unlock()
	}
}

// acknowledged returns the rows that are acknowledged, and the error of the latest one that is not.
func (p *databases) acknowledged() ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.acked), p.last
}

// limits sets Patroni's own. Without failsafe_mode, the leader gives up when it has not
// reached etcd for retry.
func (p *databases) limits(ttl, loop, retry int) {
	p.t.Helper()
	_, err := p.rest(http.MethodPatch, p.addresses[p.leader], "config",
		fmt.Sprintf(`{"failsafe_mode": false, "ttl": %d, "loop_wait": %d, "retry_timeout": %d}`, ttl, loop, retry))
	must.Succeed(p.t, err)
	client := p.client()
	etcdtest.Eventually(p.t, "the leader has a lease of the new length", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		lock, err := client.Get(ctx, "/service/main/leader")
		if err != nil || len(lock.Kvs) == 0 {
			return errors.Join(errors.New("no database leads"), err)
		}
		lease, err := client.TimeToLive(ctx, clientv3.LeaseID(lock.Kvs[0].Lease))
		if err != nil || lease.GrantedTTL != int64(ttl) {
			return errors.Join(fmt.Errorf("the lease is %+v", lease), err)
		}
		return nil
	})
}

// through does something while rows are written.
func (p *databases) through(what string, do func()) {
	p.t.Helper()
	before, _ := p.acknowledged()
	p.underWriter(what, do)
	after, last := p.acknowledged()
	p.t.Logf("%s: %d transactions", what, len(after)-len(before))
	if len(after) == len(before) {
		p.t.Errorf("%s: no transaction was acknowledged: %v", what, last)
	}
	if err := p.failedOver(); err != nil {
		p.t.Errorf("%s: %v", what, err)
	}
	p.mustHave(after)
}

// failedOver returns nil if the leader has led since the beginning.
func (p *databases) failedOver() error {
	var members []database
	etcdtest.Eventually(p.t, "both databases have a timeline", func() error {
		var err error
		members, err = p.list()
		if err != nil || len(members) != 2 || members[0].Timeline == 0 || members[1].Timeline == 0 {
			return errors.Join(fmt.Errorf("databases %+v", members), err)
		}
		return nil
	})
	for _, m := range members {
		if m.Timeline != 1 || (m.Role == "leader") != (m.Name == p.leader) {
			return fmt.Errorf("Patroni has failed over: %s led on timeline 1, now %+v", p.leader, members)
		}
	}
	return nil
}

// mustHave fails the test unless both databases have all of these rows.
func (p *databases) mustHave(rows []int) {
	p.t.Helper()
	for name := range p.addresses {
		etcdtest.Eventually(p.t, name+" has all acknowledged rows", func() error {
			text, err := p.sql(name, "SELECT n FROM written")
			have := map[string]bool{}
			for row := range strings.FieldsSeq(text) {
				have[row] = true
			}
			lost := slices.DeleteFunc(slices.Clone(rows), func(n int) bool { return have[strconv.Itoa(n)] })
			if err != nil || len(lost) > 0 {
				return errors.Join(fmt.Errorf("it lacks %d of %d: %v", len(lost), len(rows), lost), err)
			}
			return nil
		})
	}
}

// loseLeader switches off the leader of etcd permanently. The plan replaces it.
func (p *databases) loseLeader() {
	p.t.Helper()
	client := p.client()
	before, err := p.members(client)
	must.Succeed(p.t, err)
	status, err := client.Status(etcdtest.WaitContext(p.t), p.endpoints()[0])
	must.Succeed(p.t, err)
	var lost string
	for name, m := range before {
		if m.ID == status.Leader {
			lost = name
		}
	}
	p.Write("lost_override.tf", "resource \"etcd_cluster\" \"this\" {\n  replace_unreachable_after = \"20s\"\n}\n")
	must.Succeed(p.t, p.cloud.machine(lost).powerOff())
	etcdtest.Eventually(p.t, "the plan replaces "+lost, func() error {
		p.Apply().MustSucceed()
		now, err := p.members(client)
		if err != nil || now[lost] == nil || now[lost].ID == before[lost].ID {
			return errors.Join(fmt.Errorf("members %v", now), err)
		}
		return nil
	})
}

// mustNotice fails the test unless a quorum that is lost for a while is a failover, and
// still no lost transaction.
func (p *databases) mustNotice() {
	p.t.Helper()
	p.limits(20, 1, 3)
	off := []string{"a", "b", "c"}
	for _, name := range off {
		must.Succeed(p.t, p.cloud.machine(name).powerOff())
	}
	etcdtest.Eventually(p.t, "without a quorum of etcd, the leader gives up", func() error {
		if out, err := p.sql(p.leader, "SELECT pg_is_in_recovery()"); err != nil || out != "t" {
			return errors.Join(fmt.Errorf("in recovery: %q", out), err)
		}
		return nil
	})
	for _, name := range off {
		must.Succeed(p.t, p.cloud.machine(name).powerOn())
	}
	p.mustStand()
	etcdtest.Eventually(p.t, "a database leads again", func() error {
		members, err := p.list()
		if !slices.ContainsFunc(members, func(m database) bool { return m.Role == "leader" && m.Timeline > 0 }) {
			return errors.Join(fmt.Errorf("databases %+v", members), err)
		}
		return nil
	})
	if p.failedOver() == nil {
		p.t.Error("the leader has given up, and that is no failover")
	}
	rows, _ := p.acknowledged()
	p.mustHave(rows)
}
