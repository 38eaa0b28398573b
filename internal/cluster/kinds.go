// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// turnKind stores a replacement in progress at turns/<name>.
var turnKind = kind[membership.Turn]{
	what: "record of a replacement", at: "turns/",
	form: func(t membership.Turn) (string, any) {
		by, since := displayed(t.By, t.Since)
		return t.Name, turn{format, t.Voters, since, by}
	},
	read: func(name string, kv *mvccpb.KeyValue) (membership.Turn, error) {
		var t turn
		err := strictly(kv.Value, &t, &t.Format)
		if err == nil && t.Voters < 1 {
			err = fmt.Errorf("%d voters", t.Voters)
		}
		err = cmp.Or(err, plain("the name", name), plain("the author", t.By))
		return membership.Turn{Name: name, Voters: t.Voters, Since: t.Since, By: t.By, Key: string(kv.Key)}, err
	},
}

// turn is the stored form of a [membership.Turn].
type turn struct {
	Format int       `json:"format"`
	Voters int       `json:"voters"`
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
}

// urlChangeKind stores the last change of peer URLs of a member at peer_urls/<member ID>,
// until it is proven.
var urlChangeKind = kind[membership.URLChange]{
	what: "record of a change of peer URLs", at: "peer_urls/",
	form: func(c membership.URLChange) (string, any) {
		by, since := displayed(c.By, c.Since)
		return c.ID.String(), urlChange{format, c.PeerURLs, c.Before, c.Start, since, by}
	},
	read: func(name string, kv *mvccpb.KeyValue) (membership.URLChange, error) {
		var c urlChange
		err := strictly(kv.Value, &c, &c.Format)
		id, badID := membership.ParseMemberID(name)
		urls, badURL := urlsFrom(c.PeerURLs)
		before, badBefore := urlsFrom(c.Before)
		err = cmp.Or(err, badID, badURL, badBefore, plain("the author", c.By), plain("the start time", c.Start))
		return membership.URLChange{ID: id, PeerURLs: urls, Before: before, Start: c.Start, Since: c.Since, By: c.By, Revision: kv.ModRevision}, err
	},
}

// urlChange is the stored form of a [membership.URLChange].
type urlChange struct {
	Format   int       `json:"format"`
	PeerURLs []string  `json:"peer_urls"`
	Before   []string  `json:"before,omitempty"`
	Start    string    `json:"start,omitempty"`
	Since    time.Time `json:"since"`
	By       string    `json:"by"`
}

// ObjectRecord says which etcd_cluster changes the nodes of the cluster. The cluster has
// one, without a name, at cluster.
type ObjectRecord struct {
	// Object is the id of the etcd_cluster. It is "" if there is no record.
	Object string `json:"object"`
	// By wrote the record at the time Since. Both are for display.
	By    string    `json:"by"`
	Since time.Time `json:"since"`
}

// objectKind stores an [ObjectRecord].
var objectKind = kind[ObjectRecord]{
	what: "record of the etcd_cluster", at: "cluster",
	form: func(r ObjectRecord) (string, any) {
		r.By, r.Since = displayed(r.By, r.Since)
		return "", storedObject{format, r}
	},
	read: func(_ string, kv *mvccpb.KeyValue) (ObjectRecord, error) {
		var r storedObject
		err := strictly(kv.Value, &r, &r.Format)
		return r.ObjectRecord, cmp.Or(err, plain("the object", r.Object), plain("the author", r.By))
	},
}

// storedObject is the stored form of an [ObjectRecord].
type storedObject struct {
	Format int `json:"format"`
	ObjectRecord
}
