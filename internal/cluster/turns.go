// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Turns stores the replacements in progress in the cluster itself, at <metadata
// prefix><cluster ID>/turns/<name>, so that every Terraform run sees those that
// another run left unfinished. They are written under the lock on membership changes.
type Turns interface {
	// List returns all turns on record. The error is a [*Malformed] if a key
	// holds something else; the readable turns are returned with it.
	List(ctx context.Context) ([]membership.Turn, error)
	// Put writes a turn, in place of an earlier turn of the same name.
	Put(ctx context.Context, t membership.Turn) error
	// Delete deletes the turn of a name. It is not an error if there is none.
	// The error is a [*NotDeleted].
	Delete(ctx context.Context, name string) error
}

type turns struct{ metadata }

// turn is the stored form of a [membership.Turn].
type turn struct {
	Format int       `json:"format"`
	Voters int       `json:"voters"`
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
}

func (s turns) List(ctx context.Context) ([]membership.Turn, error) {
	kvs, err := s.list(ctx)
	var out []membership.Turn
	for _, kv := range kvs {
		t, bad := s.parse(kv)
		if bad != nil {
			err = bad
			continue
		}
		out = append(out, t)
	}
	return out, err
}

// parse reads a turn. The error is a [*Malformed].
func (s turns) parse(kv *mvccpb.KeyValue) (membership.Turn, error) {
	var t turn
	name := strings.TrimPrefix(string(kv.Key), s.prefix)
	err := read(kindTurn, kv, &t, &t.Format, func() error {
		if t.Voters < 1 {
			return fmt.Errorf("%d voters", t.Voters)
		}
		return cmp.Or(plain("the name", name), plain("the author", t.By))
	})
	if err != nil {
		return membership.Turn{}, err
	}
	return membership.Turn{Name: name, Voters: t.Voters, Since: t.Since, By: t.By, Key: string(kv.Key)}, nil
}

func (s turns) Put(ctx context.Context, t membership.Turn) error {
	if err := plain("the name", t.Name); err != nil {
		return err
	}
	by, since := displayed(t.By, t.Since)
	return s.put(ctx, t.Name, turn{format, t.Voters, since, by})
}
