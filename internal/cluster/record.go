// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// RecordState says how far an announcement got.
type RecordState string

const (
	// Intended: the announcement is about to be made, or was made and its
	// answer never arrived.
	Intended RecordState = "intended"
	// Announced: the member with the ID in the record is ours.
	Announced RecordState = "announced"
	// Removed: the member was ours and was taken out; the machine's
	// configuration still exists, so the same identity may be announced again.
	Removed RecordState = "removed"
)

// Record is the ownership record: what was announced by whom. It is written
// before the announcement, so that a run that dies in between loses nothing,
// and it is what adoption and the backstop act on, never names or URLs alone.
type Record struct {
	// Owner is the config_id of the member, or "name:" and its name where it
	// has none. It is the last part of the record's key.
	Owner string `json:"owner"`
	// Name and PeerURLs are those of the announcement.
	Name     string   `json:"name"`
	PeerURLs []string `json:"peer_urls"`
	// MemberID is empty while the state is Intended.
	MemberID string      `json:"member_id,omitempty"`
	State    RecordState `json:"state"`
	// Started is true once the member has run: from then on its identity
	// cannot be used again after somebody else has removed it.
	Started bool `json:"started,omitempty"`
	// Awaited is true when the run that made the announcement waits for the
	// member's start itself, so that no state speaks of the member before.
	Awaited bool `json:"awaited,omitempty"`

	// revision is the record's modification revision, 0 for a new one.
	revision int64
}

// ID returns the member's ID, 0 if none is recorded.
func (r Record) ID() membership.MemberID {
	id, err := membership.ParseMemberID(r.MemberID)
	if err != nil {
		return 0
	}
	return id
}

// ErrRecordChanged means that someone else wrote the record since it was read:
// another run works on the same member.
var ErrRecordChanged = errors.New("the ownership record was changed by another run")

// Records keeps the ownership records of one cluster in the cluster itself, at
// <metadata prefix><cluster ID>/members/<owner>.
type Records interface {
	// Get returns the record of an owner; ok is false if there is none.
	Get(ctx context.Context, owner string) (r Record, ok bool, err error)
	// Put writes the record, in place of those of other owners that are given,
	// if none of them has changed since it was read, and returns it as it now
	// stands. The error is [ErrRecordChanged] otherwise. Putting an unchanged
	// record is how a wait lets a small write through.
	Put(ctx context.Context, r Record, instead ...Record) (Record, error)
	// List returns all records, by owner.
	List(ctx context.Context) ([]Record, error)
	// Owners returns the owners whose records say that the member with the ID
	// is theirs.
	Owners(ctx context.Context, id membership.MemberID) ([]string, error)
	// Delete removes the record of an owner, whatever it holds.
	Delete(ctx context.Context, owner string) error
}

type records struct{ metadata }

func (s records) Get(ctx context.Context, owner string) (Record, bool, error) {
	var out Record
	var found bool
	err := s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Get(ctx, s.key(owner))
		if err != nil || len(resp.Kvs) == 0 {
			return err
		}
		if err := json.Unmarshal(resp.Kvs[0].Value, &out); err != nil {
			return fmt.Errorf("the ownership record %s is not what this provider writes: %w", s.key(owner), err)
		}
		out.revision, found = resp.Kvs[0].ModRevision, true
		return nil
	})
	return out, found, err
}

func (s records) Put(ctx context.Context, r Record, instead ...Record) (Record, error) {
	value, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	unchanged := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.key(r.Owner)), "=", r.revision)}
	write := []clientv3.Op{clientv3.OpPut(s.key(r.Owner), string(value))}
	for _, other := range instead {
		unchanged = append(unchanged, clientv3.Compare(clientv3.ModRevision(s.key(other.Owner)), "=", other.revision))
		write = append(write, clientv3.OpDelete(s.key(other.Owner)))
	}
	err = s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Txn(ctx).
			If(unchanged...).
			Then(write...).
			Else(clientv3.OpGet(s.key(r.Owner))).
			Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			r.revision = resp.Header.Revision
			return nil
		}
		// A write whose answer was lost, and which was sent again through
		// another endpoint, finds its own value.
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) == 1 && string(kvs[0].Value) == string(value) {
			r.revision = kvs[0].ModRevision
			return nil
		}
		return ErrRecordChanged
	})
	return r, err
}

func (s records) List(ctx context.Context) ([]Record, error) {
	var out []Record
	err := s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Get(ctx, s.key(""), clientv3.WithPrefix())
		if err != nil {
			return err
		}
		out = nil
		for _, pair := range resp.Kvs {
			var r Record
			// What does not parse was not written by this provider.
			if json.Unmarshal(pair.Value, &r) == nil && s.key(r.Owner) == string(pair.Key) {
				r.revision = pair.ModRevision
				out = append(out, r)
			}
		}
		return nil
	})
	return out, err
}

func (s records) Owners(ctx context.Context, id membership.MemberID) ([]string, error) {
	all, err := s.List(ctx)
	var out []string
	for _, r := range all {
		if r.ID() == id && r.State == Announced {
			out = append(out, r.Owner)
		}
	}
	return out, err
}

func (s records) Delete(ctx context.Context, owner string) error {
	return s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		_, err := kv.Delete(ctx, s.key(owner))
		return err
	})
}
