// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

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
		foreign := append(env, "ETCD_PEER_TRUSTED_CA_FILE="+pki.Foreign().CAFile, "ETCD_PEER_CERT_FILE="+pki.Peer.CertFile, "ETCD_PEER_KEY_FILE="+pki.Peer.KeyFile)
		ask(t, sh, false, nil, foreign...).want(t, exitRetry, "", "certificate problem")
		ask(t, sh, true, nil, foreign...).want(t, exitRetry, "", "a peer is there but cannot be asked: "+peers[0])
		// A member without a certificate is rejected.
		ask(t, sh, true, nil, append(env, "ETCD_PEER_TRUSTED_CA_FILE="+pki.CAFile)...).want(t, exitRetry, "", "a peer is there but cannot be asked: "+peers[0])
	})
}
