// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Only the servers know their --max-learners, and they answer only a request to add a
// learner. So before a voter is removed to be replaced while learners stay, a placeholder
// is added and removed again. It is a learner, which changes no quorum, and no process can
// have its URL: names in .invalid have no addresses (RFC 6761). Whoever finds it left by
// an interrupted run removes it.

// placeholderHost is the host of a placeholder.
const placeholderHost = "learner-placeholder.invalid:2380"

const placeholderRemoved note = "the placeholder was removed"

// placeholder returns the placeholder in the list.
func placeholder(s membership.Snapshot) (membership.Member, bool) {
	i := slices.IndexFunc(s.Members, func(m membership.Member) bool {
		return m.Learner && !m.Started() && len(m.PeerURLs) == 1 && strings.HasSuffix(m.PeerURLs[0], "://"+placeholderHost)
	})
	if i < 0 {
		return membership.Member{}, false
	}
	return s.Members[i], true
}

// place asks the servers whether they accept a successor beside the learners that stay, if
// that matters and was not asked. It returns nil if they do.
func (l *leave) place(r membership.RemoveRequest) error {
	d := membership.DecidePlace(l.snap, r, l.accepted)
	switch d.Verdict {
	case membership.Go:
		return nil
	case membership.Wait:
	case membership.Refuse, membership.Done:
		return stopping(l.refusal(d, l.snap))
	}
	scheme, _, _ := strings.Cut(l.req.PeerURLs[0], "://")
	via, _, _ := l.snap.MajorityLeader()
	held, err := l.hold.change(l.snap, func(ctx context.Context) error {
		_, err := l.Cluster.AddLearner(ctx, via, []string{scheme + "://" + placeholderHost})
		return err
	})
	switch {
	case held != nil:
		return kept(held)
	case errors.Is(err, cluster.ErrLearnerSlotTaken):
		d.Verdict = membership.Refuse
		return stopping(l.refusal(d, l.snap))
	case err == nil:
		l.accepted = d.Facts.Others
	}
	return sent(err, "the servers accept another learner")
}

// removeLearner removes a learner that never started.
func (h *hold) removeLearner(snap membership.Snapshot, id membership.MemberID, done note) error {
	via, _, _ := snap.MajorityLeader()
	held, err := h.change(snap, func(ctx context.Context) error { return h.engine.Cluster.Remove(ctx, via, id) })
	if held != nil {
		return kept(held)
	}
	log.Debug(h.ctx, log.Membership, "member remove", "member", h.name, "id", id, "answer", err)
	if errors.Is(err, cluster.ErrNotFound) {
		err = nil
	}
	return sent(err, done)
}
