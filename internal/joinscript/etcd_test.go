// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// versions are those that the script promises to serve.
var versions = []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37}

// supervised is the delay between an exit and the next start.
const supervised = 200 * time.Millisecond

// eachVersion runs f on every version, under dash, and once more under busybox
// on the latest.
func eachVersion(t *testing.T, all []etcdtest.Version, f func(t *testing.T, v etcdtest.Version, sh shell)) {
	t.Helper()
	for _, sh := range shells(t) {
		of := all
		if sh.path != "" {
			of = all[len(all)-1:]
		}
		for _, v := range of {
			t.Run(fmt.Sprintf("%s %s", v, sh.name), func(t *testing.T) {
				t.Parallel() // most of it passes in waiting
				f(t, v, sh)
			})
		}
	}
}

// before lets the script decide before each start of p.
func (sh shell) before(t *testing.T, p *etcdtest.Process, params Params) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "etcd-join")
	if err := os.WriteFile(file, []byte(Render(params)), 0o700); err != nil {
		t.Fatal(err)
	}
	p.PreStart = append(append([]string(nil), sh.argv...), file)
	if sh.path != "" {
		p.PreStart = append([]string{"env", "PATH=" + sh.path + ":" + os.Getenv("PATH")}, p.PreStart...)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func ready(t *testing.T, processes ...*etcdtest.Process) {
	t.Helper()
	for _, p := range processes {
		if err := p.WaitReady(within(t, 40*time.Second)); err != nil {
			t.Fatalf("%s does not serve: %v", p.Name, err)
		}
	}
}

func logged(t *testing.T, p *etcdtest.Process, text string) {
	t.Helper()
	if err := p.WaitLog(within(t, 40*time.Second), text); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
}

// settled repeats a change of membership while the cluster asks for patience.
func settled(t *testing.T, change func(ctx context.Context) error) {
	t.Helper()
	ctx := within(t, 40*time.Second)
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

// listed returns the member with p's peer URL, nil if there is none.
func listed(t *testing.T, c *clientv3.Client, p *etcdtest.Process) (id uint64, learner bool) {
	t.Helper()
	list, err := c.MemberList(within(t, 10*time.Second))
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

// remove takes p's member out of the cluster; it may be gone after an error.
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

// admit announces p, which waits for it, and promotes it; it returns how long
// p was announced and not started.
func admit(t *testing.T, c *clientv3.Client, p *etcdtest.Process) time.Duration {
	t.Helper()
	starts := p.Starts()
	var announced time.Time
	settled(t, func(ctx context.Context) error {
		if id, _ := listed(t, c, p); id != 0 {
			return nil // by an attempt that ended in an error
		}
		_, err := c.MemberAddAsLearner(ctx, []string{p.PeerURL()})
		announced = time.Now()
		return err
	})
	for p.Starts() == starts {
		if time.Since(announced) > 20*time.Second {
			t.Fatalf("20 s after it was announced, %s has not been started", p.Name)
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

// never expects that the script forbids the wiped p to start.
func never(t *testing.T, p *etcdtest.Process) {
	t.Helper()
	starts := p.Starts()
	p.PowerOff()
	p.Wipe()
	p.Supervise(supervised)
	code, err := p.WaitExit(within(t, 20*time.Second))
	if err != nil || code != ExitNever {
		t.Fatalf("the wiped %s ends with %d, %v; want %d", p.Name, code, err, ExitNever)
	}
	if p.Starts() != starts {
		t.Fatalf("the wiped %s was started", p.Name)
	}
}

// oneCluster expects n voters in one cluster.
func oneCluster(t *testing.T, n int, c *clientv3.Client, processes ...*etcdtest.Process) {
	t.Helper()
	list, err := c.MemberList(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Members) != n {
		t.Errorf("the cluster has %d members, want %d: %v", len(list.Members), n, list.Members)
	}
	for _, m := range list.Members {
		if m.IsLearner || m.Name == "" {
			t.Errorf("not a voter that has run: %v", m)
		}
	}
	for _, p := range processes {
		status, err := p.Client(t).Status(within(t, 10*time.Second), p.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		if status.Header.ClusterId != list.Header.ClusterId {
			t.Errorf("%s is in another cluster", p.Name)
		}
	}
}

// versionDecided waits until the cluster has decided on its version, some time
// in its first four seconds. Until then it lets nobody join ("incompatible
// with current running cluster"), and a 3.5 leader that asks a member which is
// cut off for its version then does so without a timeout, and never decides.
func versionDecided(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	for _, p := range c.Members() {
		for {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ClientURL()+"/version", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(body), "not_decided") {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func TestStaticFounders(t *testing.T) {
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		var founders []*etcdtest.Process
		var initial []string
		for _, name := range []string{"a", "b", "c"} {
			p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: v})
			founders = append(founders, p)
			initial = append(initial, name+"="+p.PeerURL())
		}
		for _, p := range founders {
			p.Env["ETCD_INITIAL_CLUSTER"] = strings.Join(initial, ",")
			p.Env["ETCD_INITIAL_CLUSTER_STATE"] = "new"
			sh.before(t, p, Params{Name: p.Name, PeerURLs: []string{p.PeerURL()}, Founder: true})
		}
		a, b, c := founders[0], founders[1], founders[2]
		a.Supervise(supervised)
		time.Sleep(500 * time.Millisecond) // b comes while a is alone
		b.Supervise(supervised)
		ready(t, a, b)

		// The third finds a cluster that has formed, with a place for it.
		c.Supervise(supervised)
		ready(t, c)
		client := a.Client(t)
		oneCluster(t, 3, client, a, b, c)
		if !strings.Contains(c.Log(), "etcd-join: announced: starting") {
			t.Error("the late founder did not start with the list that holds")
		}

		// After a crash its data lets it start at once.
		c.Kill()
		ready(t, c)

		never(t, c)
		remove(t, client, c)
		c.Supervise(supervised)
		logged(t, c, "etcd-join: not announced yet")
		gap := admit(t, client, c)
		t.Logf("announced and not started: %v", gap)
		if gap > 5*time.Second {
			t.Errorf("announced and not started for %v, want well under a second", gap)
		}
		oneCluster(t, 3, client, a, b, c)
	})
}

// Over TLS, with one peer known, and a directory left by a start that failed.
func TestJoinerOverTLS(t *testing.T) {
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		pki := etcdtest.NewPKI(t)
		cluster := etcdtest.Start(t, 3, etcdtest.Options{Version: v, TLS: pki})
		client := cluster.Client(t)
		peers := []string{cluster.Members()[1].PeerURL()}
		p := cluster.NewJoiner(t, "joiner")
		p.Start()
		if code, err := p.WaitExit(within(t, 20*time.Second)); err != nil || code != 1 {
			t.Fatalf("before it is announced the joiner ends with %d, %v; want 1", code, err)
		}
		if _, err := os.Stat(p.Dir()); err != nil {
			t.Fatalf("the start that failed left no directory: %v", err)
		}
		delete(p.Env, "ETCD_INITIAL_CLUSTER")
		sh.before(t, p, Params{Name: p.Name, PeerURLs: []string{p.PeerURL()}, Peers: peers})
		p.Supervise(supervised)
		logged(t, p, "etcd-join: not announced yet")
		gap := admit(t, client, p)
		t.Logf("announced and not started: %v", gap)
		if gap > 5*time.Second {
			t.Errorf("announced and not started for %v, want well under a second", gap)
		}
		oneCluster(t, 4, client, p)
		p.Kill()
		ready(t, p)
		never(t, p)

		// Who cannot verify the peers knows nothing, as a founder neither.
		env := []string{"ETCD_NAME=x", "ETCD_INITIAL_ADVERTISE_PEER_URLS=https://127.0.0.1:1", "ETCD_INITIAL_CLUSTER=a=" + peers[0]}
		foreign := append(env, "ETCD_PEER_TRUSTED_CA_FILE="+pki.Foreign().CAFile, "ETCD_PEER_CERT_FILE="+pki.Peer.CertFile, "ETCD_PEER_KEY_FILE="+pki.Peer.KeyFile)
		ask(t, sh, false, nil, foreign...).want(t, ExitRetry, "", "certificate problem")
		ask(t, sh, true, nil, foreign...).want(t, ExitRetry, "", "a peer is there but cannot be asked: "+peers[0])
		// Who shows no certificate is turned away.
		ask(t, sh, true, nil, append(env, "ETCD_PEER_TRUSTED_CA_FILE="+pki.CAFile)...).want(t, ExitRetry, "", "a peer is there but cannot be asked: "+peers[0])
	})
}

// One voter becomes two; and a frozen peer holds nobody up.
func TestJoinerBesideOneVoterAndBesideAFrozenOne(t *testing.T) {
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		cluster := etcdtest.Start(t, 1, etcdtest.Options{Version: v})
		client := cluster.Client(t)
		join := func(name string) *etcdtest.Process {
			p := cluster.NewJoiner(t, name)
			delete(p.Env, "ETCD_INITIAL_CLUSTER")
			sh.before(t, p, Params{Name: name, PeerURLs: []string{p.PeerURL()}, Peers: []string{cluster.Members()[0].PeerURL()}})
			p.Supervise(supervised)
			logged(t, p, "etcd-join: not announced yet")
			t.Logf("%s announced and not started: %v", name, admit(t, client, p))
			cluster.Track(p)
			return p
		}
		join("second")
		third := join("third")
		oneCluster(t, 3, client, third)

		late := cluster.NewJoiner(t, "late")
		sh.before(t, late, Params{Name: "late", PeerURLs: []string{late.PeerURL()}, Wait: time.Minute})
		late.Supervise(supervised)
		logged(t, late, "etcd-join: not announced yet")
		// Announced while all are well; then one of them hangs.
		settled(t, func(ctx context.Context) error {
			_, err := client.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
			return err
		})
		third.Freeze()
		defer third.Thaw()
		time.Sleep(3 * time.Second) // the script has seen it hang
		settled(t, func(ctx context.Context) error {
			list, err := client.MemberList(ctx)
			if err != nil {
				return err
			}
			for _, m := range list.Members {
				if m.PeerURLs[0] == "http://127.0.0.1:1" {
					_, err = client.MemberUpdate(ctx, m.ID, []string{late.PeerURL()})
				}
			}
			return err
		})
		begun := time.Now()
		for late.Starts() == 0 {
			if time.Since(begun) > 20*time.Second {
				t.Fatal("the joiner waits for the peer that hangs")
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Logf("beside a frozen peer announced and not started: %v", time.Since(begun))
	})
}

// An ex-member that was cut off when it was removed still runs, and repeats
// the list on which an old identity at the joiner's address has run.
func TestJoinerIsNotMisledByAnExMember(t *testing.T) {
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		cluster := etcdtest.Start(t, 4, etcdtest.Options{Version: v, Names: []string{"a", "b", "ex", "p"}, Links: true})
		client := cluster.Member("a").Client(t)
		ex, p := cluster.Member("ex"), cluster.Member("p")
		sh.before(t, p, Params{Name: "p", PeerURLs: []string{p.PeerURL()}})
		// ex listens behind its link; ask it directly, as no one else can.
		p.Env["ETCD_JOIN_PEERS"] = ex.Env["ETCD_LISTEN_PEER_URLS"]
		versionDecided(t, cluster)
		cluster.Isolate(ex)
		remove(t, client, ex)
		p.PowerOff()
		p.Wipe()
		remove(t, client, p)
		p.Env["ETCD_INITIAL_CLUSTER_STATE"] = "existing"
		p.Supervise(supervised)
		logged(t, p, "etcd-join: not announced yet")
		admit(t, client, p)
		oneCluster(t, 3, client, p)
		if !ex.Running() {
			t.Fatal("the ex-member did not run all the time: the test has shown nothing")
		}
	})
}
