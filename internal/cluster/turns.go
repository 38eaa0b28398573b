// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Turns keeps on record which replacements are under way, in the cluster itself
// at <metadata prefix><cluster ID>/turns/<name>, so that every run learns of one
// that another run has left unfinished. They are written under the lock on membership changes.
type Turns interface {
	// List returns all that are on record.
	List(ctx context.Context) ([]membership.Turn, error)
	// Put writes one, in place of an earlier one of the same name.
	Put(ctx context.Context, t membership.Turn) error
	// Delete removes that of a name; none is no error.
	Delete(ctx context.Context, name string) error
}

type turns struct{ metadata }

// turn is a [membership.Turn] as it is kept.
type turn struct {
	Voters int       `json:"voters"`
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
}

func (s turns) List(ctx context.Context) ([]membership.Turn, error) {
	var out []membership.Turn
	err := s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Get(ctx, s.prefix, clientv3.WithPrefix())
		if err != nil {
			return err
		}
		out = nil
		for _, pair := range resp.Kvs {
			var t turn
			// What does not parse was not written by this provider.
			if json.Unmarshal(pair.Value, &t) == nil {
				out = append(out, membership.Turn{Name: strings.TrimPrefix(string(pair.Key), s.prefix), Voters: t.Voters, Since: t.Since, By: t.By})
			}
		}
		return nil
	})
	return out, err
}

func (s turns) Put(ctx context.Context, t membership.Turn) error {
	value, err := json.Marshal(turn{t.Voters, t.Since.UTC().Truncate(time.Second), t.By})
	if err != nil {
		return err
	}
	return s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		_, err := kv.Put(ctx, s.key(t.Name), string(value))
		return err
	})
}

func (s turns) Delete(ctx context.Context, name string) error {
	return s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		_, err := kv.Delete(ctx, s.key(name))
		return err
	})
}
