// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// What starts, stops and joins is tested by the tests that use it. Here is what would
// let them pass for nothing.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdict records the outcome of a test.
type verdict string

func (*verdict) Helper()                 {}
func (v *verdict) Skipf(string, ...any)  { *v += "skipped" }
func (v *verdict) Fatalf(string, ...any) { *v += "failed " }

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		program, ci, missing string
		want                 verdict
	}{
		{"sh", "true", "", ""},
		{"no-such-program", "", "", "skipped"},
		{"no-such-program", "true", "", "failed skipped"}, // this Fatalf returns
		{"no-such-program", "true", " other no-such-program", "skipped"},
		{"no-such", "true", "no-such-program", "failed skipped"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("CI_MISSING", c.missing)
		var got verdict
		if path := Need(&got, c.program); got != c.want || (path == "") != (c.want != "") {
			t.Errorf("%s, CI=%s CI_MISSING=%s: %q, %q; want %q", c.program, c.ci, c.missing, path, got, c.want)
		}
	}
}

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
		"before the first":    {acks, at(-900), at(600), Gap{at(-900), at(100)}},
		"within another":      {acks, at(200), at(600), Gap{at(200), at(500)}},
		"at the end":          {acks, at(505), at(600), Gap{at(520), at(600)}},
		"one that is all":     {acks[:1], time.Time{}, at(130), Gap{}},
		"nothing was written": {nil, at(0), at(50), Gap{at(0), at(50)}},
	} {
		if got := longestGap(c.acks, c.from, c.end); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A leader that is cut off from the others acknowledges no write. The writer goes on
// through the others, counts what failed, and finds each write that is lost.
func TestLostWritesAreFound(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, Options{Links: true})
	client, ctx := c.Client(t), WaitContext(t)
	w := c.NewWriter(t, 10*time.Millisecond)
	old := c.Leader(t)
	c.Split(old)
	Until(t, "another leader", func() bool { return c.Leader(t) != old })
	before := len(w.acknowledged())
	Until(t, "writes fail, and go on", func() bool { failures, _ := w.Failures(); return failures > 0 && len(w.acknowledged()) > before })
	c.Heal()
	c.WaitHealthy(t)
	w.Stop()
	lost, err := w.Lost(ctx, client)
	if err != nil || len(lost) != 0 {
		t.Errorf("lost: %v, %v", lost, err)
	}
	acks := w.acknowledged()
	gone, changed := acks[0], acks[len(acks)-1]
	_, err = client.Delete(ctx, gone.Key)
	must.Succeed(t, err)
	_, err = client.Put(ctx, changed.Key, "something else")
	must.Succeed(t, err)
	lost, err = w.Lost(ctx, client)
	if err != nil || len(lost) != 2 || lost[0] != gone || lost[1] != changed {
		t.Errorf("lost: %v, %v; want %v and %v", lost, err, gone, changed)
	}
}
