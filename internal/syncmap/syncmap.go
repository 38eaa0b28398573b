// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package syncmap provides a map with which the resources of one process, which
// are planned and applied concurrently, share values.
package syncmap

import (
	"maps"
	"sync"
)

// Map is safe for concurrent use. The zero value is empty.
type Map[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

// with calls do with the map while no other call uses it.
func (m *Map[K, V]) with(do func(all map[K]V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[K]V{}
	}
	do(m.all)
}

// Set stores a value.
func (m *Map[K, V]) Set(key K, value V) { m.with(func(all map[K]V) { all[key] = value }) }

// Keep stores a value until end is called.
func (m *Map[K, V]) Keep(key K, value V) (end func()) {
	m.Set(key, value)
	return func() { m.Delete(key) }
}

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.with(func(all map[K]V) { value, ok = all[key] })
	return value, ok
}

// Has reports whether the key is there.
func (m *Map[K, V]) Has(key K) bool {
	_, ok := m.Get(key)
	return ok
}

// GetOrMake returns the value of a key. It creates the value if there is none.
func (m *Map[K, V]) GetOrMake(key K, create func() V) (value V) {
	m.with(func(all map[K]V) {
		if _, ok := all[key]; !ok {
			all[key] = create()
		}
		value = all[key]
	})
	return value
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) { m.with(func(all map[K]V) { delete(all, key) }) }

// All returns a copy of the map.
func (m *Map[K, V]) All() (copied map[K]V) {
	m.with(func(all map[K]V) { copied = maps.Clone(all) })
	return copied
}
