// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"context"
	"fmt"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func (w *walk) Records(id membership.ClusterID) cluster.Records {
	w.mustBeKnown(id)
	return walkRecords{w}
}

func (w *walk) Turns(id membership.ClusterID) cluster.Turns {
	w.mustBeKnown(id)
	return walkTurns{w}
}

// mustBeKnown fails the test if the engine reads or writes data of another
// cluster.
func (w *walk) mustBeKnown(id membership.ClusterID) {
	if id != clusterID {
		w.t.Errorf("the engine means cluster %s, it is %s%v", id, clusterID, w.log)
	}
}

type walkRecords struct{ *walk }

func (w walkRecords) stored(owner string) (cluster.Record, bool) {
	r := w.s.records[0]
	out := cluster.Record{Owner: owner, Name: nameOf(r.node), PeerURLs: []string{urlOf(r.node)}, Started: r.ran, Awaited: true}
	out.State = [...]cluster.RecordState{"", cluster.Intended, cluster.Announced, cluster.Removed}[r.state]
	if r.state == announced || r.state == removed {
		out.MemberID = idOf(r.node, r.gen).String()
	}
	return out, r.state != noRecord
}

func (w walkRecords) Get(_ context.Context, owner string) (cluster.Record, bool, error) {
	if w.loose == "read" || w.s.tasks[0].pc == lForget || w.s.tasks[0].pc == done {
		w.loose = ""
		w.pass()
		if !w.s.led() {
			return cluster.Record{}, false, cluster.ErrAmbiguous
		}
		r, ok := w.stored(owner)
		return r, ok, nil
	}
	w.pass()
	r, ok := w.stored(owner)
	if !w.call("Records.Get", jRecord, wRecord) {
		w.loose = "look"
		return cluster.Record{}, false, cluster.ErrAmbiguous
	}
	return r, ok, nil
}

func (w walkRecords) Put(_ context.Context, r cluster.Record, _ ...cluster.Record) (cluster.Record, error) {
	switch pc := w.s.tasks[0].pc; pc {
	case jMembers, jWatch, jSureVote: // join.nudge
		if old, ok := w.stored(r.Owner); !ok || fmt.Sprint(old) != fmt.Sprint(r) {
			w.t.Errorf("the record is written anew as %+v, it is %+v", r, old)
		}
		return r, nil
	case lForget:
		return r, w.delete("Records.Put")
	}
	w.pass()
	if !w.call("Records.Put", jIntend, jAnnounced, jRan) {
		w.loose = "read"
		return r, cluster.ErrAmbiguous
	}
	if now, _ := w.stored(r.Owner); fmt.Sprint(now) != fmt.Sprint(r) {
		w.t.Errorf("the engine writes %+v, the model %+v%v", r, now, w.log)
	}
	return r, nil
}

func (w walkRecords) Delete(context.Context, string) error { return w.delete("Records.Delete") }

func (w *walk) delete(name string) error {
	w.pass()
	if w.s.tasks[0].pc == lForget && !w.s.led() {
		return cluster.ErrAmbiguous // the engine retries for a while
	}
	if !w.call(name, lForget, wDrop) {
		return cluster.ErrAmbiguous
	}
	return nil
}

// List returns records that other runs left for the same member; there are none.
func (w walkRecords) List(context.Context) ([]cluster.Record, []*cluster.Malformed, error) {
	return nil, nil, nil
}

// Owners returns the owners of learners that may have been adopted; there are none.
func (w walkRecords) Owners(context.Context, membership.MemberID) ([]string, error) { return nil, nil }

type walkTurns struct{ *walk }

func (w walkTurns) List(context.Context) (out []membership.Turn, err error) {
	for i, n := range w.s.turns {
		if n > 0 {
			out = append(out, membership.Turn{Name: nameOf(uint8(i)), Voters: int(n)})
		}
	}
	return out, nil
}

func (w walkTurns) Put(context.Context, membership.Turn) error {
	w.pass()
	if !w.call("Turns.Put", lBegin) {
		return cluster.ErrAmbiguous
	}
	return nil
}

func (w walkTurns) Delete(context.Context, string) error { return nil } // part of other steps
