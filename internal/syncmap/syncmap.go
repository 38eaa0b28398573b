// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package syncmap is a map for what the resources of one process, which are
// planned and applied side by side, tell each other.
package syncmap

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Map may be used by many at a time. The zero value is empty.
type Map[K cmp.Ordered, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

// Set stores a value, and returns the one before and the keys there are now.
func (m *Map[K, V]) Set(key K, value V) (before V, keys []K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[K]V{}
	}
	before = m.all[key]
	m.all[key] = value
	return before, slices.Sorted(maps.Keys(m.all))
}

// Keep stores a value until the function returned is called.
func (m *Map[K, V]) Keep(key K, value V) (end func()) {
	m.Set(key, value)
	return func() { m.Delete(key) }
}

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.all[key]
	return value, ok
}

// Has reports whether the key is there.
func (m *Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// GetOrMake returns the value of a key, which it makes if there is none.
func (m *Map[K, V]) GetOrMake(key K, create func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.all[key]
	if !ok {
		value = create()
		if m.all == nil {
			m.all = map[K]V{}
		}
		m.all[key] = value
	}
	return value
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// Keys returns the keys, sorted.
func (m *Map[K, V]) Keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.all))
}
