// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// owned returns a request for d by one of several configurations.
func owned(p *etcdtest.Process, owner string, goal reconfigure.Stage) reconfigure.JoinRequest {
	r := request(p, goal)
	r.Owner = owner
	return r
}

// mustOwn fails the test unless these are all owners on record.
func (b *bench) mustOwn(t *testing.T, want ...string) {
	t.Helper()
	all, _, err := b.engine.Cluster.Records(b.id(t)).List(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		got = append(got, r.Owner)
	}
	if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
		t.Errorf("on record are %v, want %v", got, want)
	}
}

// A member that gets the name and the addresses of a removed member also replaces
// its record, which no other operation deletes if its configuration was removed
// from the state without a destroy. Another name or address means another member.
func TestTheRecordOfARemovedMemberEndsWithItsSuccessor(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	removed := func(owner, name, url string) {
		t.Helper()
		if _, err := b.engine.Cluster.Records(b.id(t)).Put(etcdtest.WaitContext(t), cluster.Record{
			Owner: owner, Name: name, PeerURLs: []string{url}, MemberID: "1d40a5c04518179a", State: cluster.Removed,
		}); err != nil {
			t.Fatal(err)
		}
	}
	removed("first", "d", d.PeerURL())
	removed("named", "e", d.PeerURL())
	removed("placed", "d", "http://127.0.0.1:1")
	if _, err := b.engine.Join(etcdtest.WaitContext(t), owned(d, "second", reconfigure.Announced)); err != nil {
		t.Fatal(err)
	}
	b.mustOwn(t, "named", "placed", "second")
}

// The next Terraform run adopts the member of an interrupted run. It has
// another configuration, because the first never got into a state: the same
// member, and one record.
func TestAnAbandonedAnnouncementIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, b *bench, p *etcdtest.Process){
		"announced": func(t *testing.T, b *bench, p *etcdtest.Process) {
			b.announce(t, b.process(t, "first@ops1", claim.LockTTL), owned(p, "first", reconfigure.Voting))
		},
		"about to": func(t *testing.T, b *bench, p *etcdtest.Process) {
			ctx := etcdtest.WaitContext(t)
			_, err1 := b.engine.Cluster.Records(b.id(t)).Put(ctx, cluster.Record{
				Owner: "first", Name: p.Name, PeerURLs: []string{p.PeerURL()}, State: cluster.Intended, Awaited: true,
			})
			_, err2 := b.engine.Cluster.AddLearner(ctx, 0, []string{p.PeerURL()})
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
		},
		"about to, in vain": func(t *testing.T, b *bench, p *etcdtest.Process) {
			if _, err := b.engine.Cluster.Records(b.id(t)).Put(etcdtest.WaitContext(t), cluster.Record{
				Owner: "first", Name: p.Name, PeerURLs: []string{p.PeerURL()}, State: cluster.Intended, Awaited: true,
			}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, 1, etcdtest.Options{})
			d := b.NewJoiner(t, "d")
			leave(t, b, d)
			was := b.learner(t)
			var got reconfigure.Joined
			var err error
			over := make(chan struct{})
			go func() {
				defer close(over)
				got, err = b.engine.Join(etcdtest.WaitContext(t), owned(d, "second", reconfigure.Voting))
			}()
			// A member that has started is not adopted.
			etcdtest.Until(t, "on record for the second run, or over", func() bool {
				select {
				case <-over:
					return true
				default:
					_, recorded, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), "second")
					return recorded && err == nil
				}
			})
			d.Supervise(100 * time.Millisecond)
			if <-over; err != nil {
				t.Fatal(err)
			}
			if was != 0 && got.Member.ID != was {
				t.Errorf("%s joined, and %s was announced", got.Member.ID, was)
			}
			if m := b.members(t); len(m) != 2 {
				t.Errorf("the members are %v", m)
			}
			b.mustOwn(t, "second")
		})
	}
}

// learner returns the ID of the learner in the list, 0 if there is none.
func (b *bench) learner(t *testing.T) membership.MemberID {
	t.Helper()
	for _, m := range b.members(t) {
		if m.Learner {
			return m.ID
		}
	}
	return 0
}

// A member is not adopted if another Terraform run works on it, if another run
// only added it and has it in its state, or if it runs.
func TestWhatIsNotAbandonedIsLeftAlone(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, err error, code membership.Code) {
		t.Helper()
		var u *reconfigure.Unidentified
		if !errors.As(err, &u) || u.Identity.Code != code {
			t.Errorf("the second run: %v, want %s", err, code)
		}
	}
	t.Run("at work", func(t *testing.T) {
		t.Parallel()
		b := start(t, 1, etcdtest.Options{})
		d := b.NewJoiner(t, "d")
		first := make(chan error, 1)
		go func() {
			_, err := b.process(t, "first@ops1", claim.LockTTL).Join(etcdtest.WaitContext(t), owned(d, "first", reconfigure.Voting))
			first <- err
		}()
		etcdtest.Until(t, "d is announced", func() bool { return b.learner(t) != 0 })
		_ = runOut(t, func(err error) bool {
			busy, ok := errors.AsType[*claim.BusyError](err)
			return ok && busy.Holder.Who == "first@ops1"
		}, func(ctx context.Context) error {
			_, err := b.engine.Join(ctx, owned(d, "second", reconfigure.Voting))
			return err
		})
		b.mustOwn(t, "first")
		d.Supervise(100 * time.Millisecond)
		if err := <-first; err != nil {
			t.Errorf("the first run: %v", err)
		}
	})
	t.Run("announced for a state", func(t *testing.T) {
		t.Parallel()
		b := start(t, 1, etcdtest.Options{})
		d := b.NewJoiner(t, "d")
		if _, err := b.engine.Join(etcdtest.WaitContext(t), owned(d, "first", reconfigure.Announced)); err != nil {
			t.Fatal(err)
		}
		_, err := b.engine.Join(etcdtest.WaitContext(t), owned(d, "second", reconfigure.Voting))
		refused(t, err, membership.AnnouncedElsewhere)
		// The same holds after the interruption of a run that waits for the learner.
		taker := owned(d, "taker", reconfigure.Voting)
		taker.ID = b.learner(t)
		b.announce(t, b.engine, taker)
		_, err = b.engine.Join(etcdtest.WaitContext(t), owned(d, "second", reconfigure.Voting))
		refused(t, err, membership.AnnouncedElsewhere)
		b.mustOwn(t, "first", "taker")
	})
	t.Run("started", func(t *testing.T) {
		t.Parallel()
		b := start(t, 1, etcdtest.Options{})
		d := b.NewJoiner(t, "d")
		b.announce(t, b.engine, owned(d, "first", reconfigure.Voting))
		d.Supervise(100 * time.Millisecond)
		etcdtest.Until(t, "d has started", func() bool { m, ok := named(b.members(t), "d"); return ok && m.Started() })
		_, err := b.engine.Join(etcdtest.WaitContext(t), owned(d, "second", reconfigure.Voting))
		refused(t, err, membership.AlreadyMember)
		b.mustOwn(t, "first")
	})
	t.Run("for another name", func(t *testing.T) {
		t.Parallel()
		b := start(t, 1, etcdtest.Options{})
		d := b.NewJoiner(t, "d")
		b.announce(t, b.engine, owned(d, "first", reconfigure.Voting))
		other := owned(d, "second", reconfigure.Voting)
		other.Name = "e"
		_, err := b.engine.Join(etcdtest.WaitContext(t), other)
		refused(t, err, membership.AnnouncedElsewhere)
		b.mustOwn(t, "first")
	})
}
