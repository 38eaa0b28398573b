// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import "sync"

// founding is which configurations of initial members this apply has made. A plan
// cannot tell which are missing: their resources may be planned later, or be left
// out by -target.
type founding struct {
	mu sync.Mutex
	// made are the names of the configurations, by bootstrap token.
	made map[string]map[string]bool
	// of are the bootstraps of the configurations, by ID.
	of map[string]bootstrapOf
}

type bootstrapOf struct {
	token    string
	founders []string
}

// NoteFounding notes that this apply has made the configuration of that name for
// a cluster that is still to be formed by the founders.
func (b *Backend) NoteFounding(config, name, token string, founders []string) {
	b.founding.mu.Lock()
	defer b.founding.mu.Unlock()
	if b.founding.made == nil {
		b.founding.made, b.founding.of = map[string]map[string]bool{}, map[string]bootstrapOf{}
	}
	if b.founding.made[token] == nil {
		b.founding.made[token] = map[string]bool{}
	}
	b.founding.made[token][name] = true
	b.founding.of[config] = bootstrapOf{token, founders}
}

// MissingFounders returns the founders of the cluster of a configuration for which
// this apply has made no configuration, nil if it has not made that one either.
func (b *Backend) MissingFounders(config string) (names []string) {
	b.founding.mu.Lock()
	defer b.founding.mu.Unlock()
	of := b.founding.of[config]
	for _, name := range of.founders {
		if !b.founding.made[of.token][name] {
			names = append(names, name)
		}
	}
	return names
}
