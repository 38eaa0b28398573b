// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package discovery speaks with the registries through which the founders of a
// cluster find each other: a key space of another etcd. A token names one
// bootstrap in a registry; it says how many founders there are, and collects
// who they are.
package discovery

import (
	"cmp"
	"context"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// DefaultPrefix is the key under which every registry keeps its tokens.
// Members that use protocol v3 look nowhere else.
const DefaultPrefix = "/_etcd/registry"

// Registry is a place where tokens are kept. Its implementations are safe for
// concurrent use.
type Registry interface {
	// Create reserves token for size founders, and returns where it is. It
	// never changes a token that exists: that is an [*ExistsError]; and it makes
	// none among other keys: that is an [*OthersError]. An [*UnsureError] says that ctx ended before it was known whether the token
	// was written; the same Create can then be repeated.
	//
	// Other errors: [*connection.Unreachable], [*DeniedError]; both mean that nothing was
	// written.
	Create(ctx context.Context, token string, size int) (Place, error)

	// Status returns what the registry knows of token. Errors: [ErrNotFound],
	// [*BadSizeError] (with the members of the Status set), [*connection.Unreachable],
	// [*DeniedError].
	Status(ctx context.Context, token string) (Status, error)

	// Delete removes token and the registrations under it, and no other key.
	// Errors: [*OthersError] (the token is gone, other keys were left),
	// [ErrNotFound], [*connection.Unreachable], [*DeniedError].
	Delete(ctx context.Context, token string) error
}

// Place says where a token is.
type Place struct {
	// Token is the token's name in its registry.
	Token string
	// URL is what a member takes as its discovery URL; empty with v3, where
	// members are given endpoints and a token.
	URL string
}

// Status is what a registry knows of one token.
type Status struct {
	// Size is the number of founders.
	Size int
	// Members are the first Size that registered, in that order: they are the
	// cluster. A race can leave more registrations behind, which do not count.
	Members []Member
}

// Complete tells whether all founders have registered. From then on the
// registry turns everyone else away ("discovery: cluster is full").
func (s Status) Complete() bool { return s.Size > 0 && len(s.Members) >= s.Size }

// registration is what a registry holds of one member. created is greater for
// those that came later.
type registration struct {
	id, value string
	created   uint64
}

// statusOf reads a token from all that is registered with it, in the order in
// which it was, and from the value of its size key, nil if there is none.
func statusOf(all []registration, size *string) (Status, error) {
	var s Status
	slices.SortFunc(all, func(a, b registration) int { return cmp.Compare(a.created, b.created) })
	for _, r := range all {
		if m, ok := parseMember(r.id, r.value); ok {
			s.Members = append(s.Members, m)
		}
	}
	if size == nil {
		return s, ErrNotFound
	}
	n, err := parseSize(*size)
	if err != nil {
		return s, err
	}
	s.Size = n
	s.Members = s.Members[:min(len(s.Members), n)]
	return s, nil
}

// log writes down what was read of a token.
func (s Status) log(ctx context.Context, err error) {
	var names []string
	for _, m := range s.Members {
		names = append(names, m.Name)
	}
	log.Debug(ctx, log.Discovery, "registrations read", "size", s.Size, "registered", names, "error", err)
}

// Member is one registration.
type Member struct {
	// ID is the ID that the member has in the cluster it founds.
	ID membership.MemberID
	// Name is the member's name.
	Name string
	// PeerURLs are the peer URLs it advertises, in the order it gave them.
	PeerURLs []string
}
