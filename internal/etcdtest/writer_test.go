// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"testing"
	"time"
)

func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestLongestGap(t *testing.T) {
	t.Parallel()
	var acks []Write
	for _, ms := range []int{130, 100, 110, 500, 520} { // not sorted
		acks = append(acks, Write{Acked: at(ms)})
	}
	for name, c := range map[string]struct {
		acks      []Write
		from, end time.Time
		want      Gap
	}{
		"in the middle":       {acks, time.Time{}, at(600), Gap{at(130), at(500)}},
		"at the end":          {acks, time.Time{}, at(2000), Gap{at(520), at(2000)}},
		"before the first":    {acks, at(-900), at(600), Gap{at(-900), at(100)}},
		"within another":      {acks, at(200), at(600), Gap{at(200), at(500)}},
		"after the long one":  {acks, at(505), at(600), Gap{at(520), at(600)}},
		"none in that time":   {acks, at(700), at(900), Gap{at(700), at(900)}},
		"one that is all":     {acks[:1], time.Time{}, at(130), Gap{}},
		"nothing was written": {nil, at(0), at(50), Gap{at(0), at(50)}},
	} {
		if got := longestGap(c.acks, c.from, c.end); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestWriterSeesALeaderDieAndNothingLost(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, Options{Version: V36, Password: "secret"})
	client := c.Client(t)
	w := c.NewWriter(t, WriterOptions{Timeout: 500 * time.Millisecond})
	time.Sleep(300 * time.Millisecond)
	calm := w.LongestGap()

	begin := time.Now()
	leader := c.Leader(t)
	leader.Kill()
	Until(t, "writes go on", func() bool {
		acks := w.Acknowledged()
		return acks[len(acks)-1].Sent.After(begin.Add(500 * time.Millisecond))
	})
	gap := w.LongestGapSince(begin)
	// On a busy machine the other members may have missed heartbeats before the
	// leader died, and then elect a new leader at once.
	t.Logf("longest gap before: %v, after: %v", calm, gap)
	if gap.Duration() <= 0 {
		t.Error("there is no gap between two writes")
	}
	leader.Start()
	noError(t, c.WaitHealthy(WaitContext(t)))
	w.Stop()
	if failures, err := w.Failures(); failures == 0 || err == nil {
		t.Errorf("no write failed, though one member was dead")
	}
	acks := w.Acknowledged()
	time.Sleep(30 * time.Millisecond)
	if len(acks) < 30 || len(w.Acknowledged()) != len(acks) {
		t.Errorf("%d writes acknowledged, then %d after Stop", len(acks), len(w.Acknowledged()))
	}
	lost, err := w.Lost(WaitContext(t), client)
	if err != nil || len(lost) != 0 {
		t.Errorf("lost: %v, %v", lost, err)
	}

	// Lost detects lost writes: one key is deleted, one overwritten.
	gone, changed := acks[3], acks[len(acks)-1]
	_, err = client.Delete(WaitContext(t), gone.Key)
	noError(t, err)
	_, err = client.Put(WaitContext(t), changed.Key, "something else")
	noError(t, err)
	lost, err = w.Lost(WaitContext(t), client)
	if err != nil || len(lost) != 2 || lost[0] != gone || lost[1] != changed {
		t.Errorf("lost: %v, %v; want %v and %v", lost, err, gone, changed)
	}
}

// All members are replaced, one after the other. At the end the writer uses the
// new ones.
func TestWriterFollowsTheMembers(t *testing.T) {
	t.Parallel()
	c := Start(t, 1, Options{})
	old := c.Member("infra1")
	w := c.NewWriter(t, WriterOptions{})
	p := c.AddLearner(t, "infra2")
	c.Promote(t, p)
	noError(t, c.WaitHealthy(WaitContext(t)))
	if c.Leader(t) == old {
		_, err := old.Client(t).MoveLeader(WaitContext(t), c.MemberID(t, p))
		noError(t, err)
	}
	client := p.Client(t)
	id := c.MemberID(t, old)
	noError(t, poll(WaitContext(t), 200*time.Millisecond, func(ctx context.Context) error {
		_, err := client.MemberRemove(ctx, id)
		return err
	}))
	c.Untrack(old)
	old.PowerOff()
	begin := time.Now()
	Until(t, "a write through the new member", func() bool {
		acks := w.Acknowledged()
		return acks[len(acks)-1].Sent.After(begin)
	})
	w.Stop()
	lost, err := w.Lost(WaitContext(t), client)
	if err != nil || len(lost) != 0 {
		t.Errorf("lost: %v, %v", lost, err)
	}
}
