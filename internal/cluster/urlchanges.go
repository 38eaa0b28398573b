// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// URLChanges stores the last change of peer URLs of each member in the cluster itself, at
// <metadata prefix><cluster ID>/peer_urls/<member ID>, until it is proven: every Terraform
// run sees it, whatever its state has. They are written under the lock on membership changes.
type URLChanges interface {
	// List returns all changes on record. The error is a [*Malformed] if a key holds
	// something else; the readable changes are returned with it.
	List(ctx context.Context) ([]membership.URLChange, error)
	// Put writes a change, in place of an earlier change of the same member.
	Put(ctx context.Context, c membership.URLChange) error
	// Delete deletes the change of a member, by the text form of its ID. It is not an
	// error if there is none. The error is a [*NotDeleted].
	Delete(ctx context.Context, id string) error
}

type urlChanges struct{ metadata }

// urlChange is the stored form of a [membership.URLChange].
type urlChange struct {
	Format   int       `json:"format"`
	PeerURLs []string  `json:"peer_urls"`
	Before   []string  `json:"before,omitempty"`
	Start    string    `json:"start,omitempty"`
	Since    time.Time `json:"since"`
	By       string    `json:"by"`
}

func (s urlChanges) List(ctx context.Context) ([]membership.URLChange, error) {
	kvs, err := s.list(ctx)
	var out []membership.URLChange
	for _, kv := range kvs {
		c, bad := s.parse(kv)
		if bad != nil {
			err = bad
			continue
		}
		out = append(out, c)
	}
	return out, err
}

// parse reads a change. The error is a [*Malformed].
func (s urlChanges) parse(kv *mvccpb.KeyValue) (membership.URLChange, error) {
	var c urlChange
	err := strictly(kv.Value, &c, &c.Format)
	id, badID := membership.ParseMemberID(strings.TrimPrefix(string(kv.Key), s.prefix))
	urls, badURL := urlsFrom(c.PeerURLs)
	before, badBefore := urlsFrom(c.Before)
	err = cmp.Or(err, badID, badURL, badBefore, plain("the author", c.By), plain("the start time", c.Start))
	if err != nil {
		return membership.URLChange{}, malformed(kindURLs, string(kv.Key), kv.Value, err)
	}
	return membership.URLChange{ID: id, PeerURLs: urls, Before: before, Start: c.Start, Since: c.Since, By: c.By, Revision: kv.ModRevision}, nil
}

func (s urlChanges) Put(ctx context.Context, c membership.URLChange) error {
	if connection.PlainName(c.By) != nil {
		c.By = connection.Quote(c.By) // for display only
	}
	value, err := json.Marshal(urlChange{format, c.PeerURLs, c.Before, c.Start, c.Since.UTC().Truncate(time.Second), c.By})
	if err != nil {
		return err
	}
	return s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		_, err := kv.Put(ctx, s.key(c.ID.String()), string(value))
		return err
	})
}

// processStart matches the line of a process's metrics that says when it started, in
// seconds since 1970 by the clock of its machine (3.4 to 3.7, on Linux and Windows).
var processStart = regexp.MustCompile(`(?m)^process_start_time_seconds ([0-9.e+]{1,32})$`)

// StartTime implements [Cluster].
func (c *Client) StartTime(ctx context.Context, of membership.MemberID) (string, error) {
	body, _, err := c.metrics(ctx, of)
	if err != nil {
		return "", err
	}
	found := processStart.FindSubmatch(body)
	if found == nil || len(activePeers(body, of)) == 0 { // or it is from another member
		return "", nil
	}
	return string(found[1]), nil
}
