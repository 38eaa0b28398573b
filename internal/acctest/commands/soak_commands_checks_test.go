// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// checkMembers finds members that are not configured, and nodes without a member.
func (a *actor) checkMembers() {
	var want []string
	for _, key := range a.now.keys() {
		name := a.now.memberName(key)
		if n := a.now.nodes[key]; n.Joins == "learner" && !n.Promote {
			name += " (learner)"
		}
		want = append(want, name)
	}
	want = slices.DeleteFunc(want, func(name string) bool { return a.leftToOthers(name) })
	slices.Sort(want)
	if got := acctest.Summary(a.list()); !slices.Equal(got, want) {
		a.tr.find("other members", "the plan is empty, the members are %v, and the configuration has %v", got, want)
	}
	for _, m := range a.list() {
		if !m.IsLearner {
			a.soon("a member does not serve", func() error { return a.serves(m) })
		}
	}
}

// leftToOthers reports whether a configuration waits for its member to be added
// outside Terraform: it was created or replaced after the members were given
// up, and the provider knows that it has no member.
func (a *actor) leftToOthers(name string) bool {
	status := a.entries()[a.wanted()[name]["etcd_member_config"]].values["status"]
	return a.now.removed && !a.holds(name, "etcd_member") && (status == "pending" || status == "stale") && a.idIn(name) == 0
}

// soon reports a violation if f does not succeed within the time for which a
// lock can outlive its holder, and some more.
func (a *actor) soon(class string, f func() error) {
	end := time.Now().Add(40 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			a.tr.find(class, "%v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// checkKeys finds records of members that no longer exist, open turns, and a
// held lock.
func (a *actor) checkKeys() {
	a.soon("orphan key", func() error {
		var problem error
		a.ask(func(ctx context.Context, c *clientv3.Client) error {
			list, err := c.MemberList(ctx)
			if err != nil {
				return err
			}
			prefix := fmt.Sprintf("/_terraform/etcd/%x/", list.Header.ClusterId)
			all, err := c.Get(ctx, prefix, clientv3.WithPrefix())
			if err != nil {
				return err
			}
			keys := map[string]string{}
			for _, kv := range all.Kvs {
				keys[strings.TrimPrefix(string(kv.Key), prefix)] = string(kv.Value)
			}
			problem = a.orphans(keys)
			return nil
		})
		return problem
	})
}

// orphans returns what is wrong with the keys below the prefix of the cluster.
func (a *actor) orphans(keys map[string]string) error {
	records := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if name, turn := strings.CutPrefix(key, "turns/"); turn && a.now.has(name) {
			continue // all members are alive: it is over, and the next removal deletes it
		}
		if !strings.HasPrefix(key, "members/") {
			return fmt.Errorf("nobody is at work, and there is %s = %s", key, keys[key])
		}
		var r acctest.OwnershipRecord
		if err := json.Unmarshal([]byte(keys[key]), &r); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if !a.now.has(r.Name) && r.State == "removed" && a.forgotten[r.Name] {
			continue // it is deleted with its configuration or successor: the resource was dropped from the state
		}
		if !a.now.has(r.Name) {
			return fmt.Errorf("a record of somebody who is gone: %s = %s", key, keys[key])
		}
		if records[r.Name]++; records[r.Name] > 1 {
			return fmt.Errorf("two records of %s: %v", r.Name, keys)
		}
	}
	return nil
}

// checkBootstrap finds that the bootstrap in the state is not that of the
// cluster: it must not be replaced after it has formed one.
func (a *actor) checkBootstrap() {
	e, held := a.entries()[bootstrapPart+".this"]
	if !held {
		return
	}
	var id string
	a.ask(func(ctx context.Context, c *clientv3.Client) error {
		list, err := c.MemberList(ctx)
		if err == nil {
			id = fmt.Sprintf("%x", list.Header.ClusterId)
		}
		return err
	})
	if got := fmt.Sprint(e.values["cluster_id"]); got != id {
		a.tr.find("bootstrap replaced", "the bootstrap is of cluster %s, and the cluster is %s", got, id)
	}
}

// checkWrites finds acknowledged writes that are missing.
func (a *actor) checkWrites() {
	a.writer.Stop()
	var lost int
	a.ask(func(_ context.Context, c *clientv3.Client) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		writes, err := a.writer.Lost(ctx, c)
		lost = len(writes)
		return err
	})
	if all := len(a.writer.Acknowledged()); lost > 0 || all == 0 {
		a.tr.find("lost writes", "%d of %d acknowledged writes are lost", lost, all)
	}
}
