// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// snapshot serves a stream of the database as it is at the first message: Snapshot,
// server/etcdserver/api/v3rpc/maintenance.go. Learners serve it too. Each message is
// a call.
func (n *Network) snapshot(s stream, call Call) error {
	request, ctx := &pb.SnapshotRequest{}, s.Context()
	if err := s.RecvMsg(request); err != nil {
		return err
	}
	call.Request = request
	var p *Process
	var life chan struct{}
	var left []*pb.SnapshotResponse
	for first := true; first || len(left) > 0; first = false {
		ctx, err := n.begin(ctx, call)
		if err != nil {
			return err
		}
		n.mu.Lock()
		if first {
			if p, err = n.reach(ctx, call.Run, call.Address); err == nil {
				life, left = p.life(), p.snapshot()
			}
		} else if err = n.wait(ctx, p, 0, nil, func() bool { return !p.frozen && !n.silent(call.Run, call.Address) }); err == nil && p.life() != life {
			err = errGone
		}
		n.mu.Unlock()
		var message proto.Message
		if err == nil {
			message, left = left[0], left[1:]
		}
		if message, err = n.after(ctx, call, message, err); err != nil {
			return err
		}
		if err := s.SendMsg(message); err != nil {
			return err
		}
	}
	return nil
}

// chunk is snapshotSendBufferSize, server/etcdserver/api/v3rpc/maintenance.go.
const chunk = 32 << 10

// snapshot returns the messages of a snapshot: the database, and then its hash.
func (p *Process) snapshot() (out []*pb.SnapshotResponse) {
	db, version := p.database(), p.Version.storageVersion()
	hash := sha256.Sum256(db)
	left := uint64(len(db))
	for blob := range slices.Chunk(db, chunk) {
		left -= uint64(len(blob))
		out = append(out, &pb.SnapshotResponse{RemainingBytes: left, Blob: blob, Version: version})
	}
	return append(out, &pb.SnapshotResponse{Blob: hash[:], Version: version})
}

// database returns the database of a process, without its leases. Equal states make
// equal databases. The buckets are those of server/storage/schema.
func (p *Process) database() []byte {
	number := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	meta := map[string]string{"consistent_index": number(p.c.index(p.applied)), "term": number(p.term)}
	if version := p.Version.storageVersion(); version != "" {
		meta["storageVersion"] = version
	}
	members, removed := map[string]string{}, map[string]string{}
	lowest := p.Version
	for _, m := range p.state.members {
		text, _ := json.Marshal(m)
		members[fmt.Sprintf("%x", m.ID)] = string(text)
		if q := p.c.process(m.ID); q != nil {
			lowest = min(lowest, q.Version)
		}
	}
	for id := range p.state.removed {
		removed[fmt.Sprintf("%x", id)] = "removed"
	}
	return etcdtest.Bolt(map[string]map[string]string{
		"key": p.state.changes(), "meta": meta, "members": members, "members_removed": removed,
		"cluster": {"clusterVersion": fmt.Sprintf("%.3s.0", lowest)},
	})
}

// changes returns the changes that a compaction leaves: the last one of each key up to
// its revision, unless that is an earlier deletion, and all later ones. See doCompact,
// server/storage/mvcc/key_index.go.
func (s *store) changes() map[string]string {
	out, before := map[string]string{}, map[string]string{}
	var rev, sub int64
	for _, e := range s.history {
		if sub++; e.kv.ModRevision != rev {
			rev, sub = e.kv.ModRevision, 0
		}
		at, kv := etcdtest.Revision(rev, sub), e.kv
		if e.deleted {
			at, kv = at+"t", &mvccpb.KeyValue{Key: kv.Key}
		}
		if rev <= s.compacted {
			delete(out, before[string(kv.Key)])
			before[string(kv.Key)] = at
		}
		if !e.deleted || rev >= s.compacted {
			text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(kv)
			out[at] = string(text)
		}
	}
	return out
}
