// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package syncmap_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

func TestMap(t *testing.T) {
	t.Parallel()
	var m syncmap.Map[string, int]
	if v, ok := m.Get("a"); v != 0 || ok || m.Has("a") || len(m.All()) > 0 {
		t.Errorf("the empty map has %d, %v", v, m.All())
	}
	m.Delete("a")
	m.Set("b", 1)
	m.Set("b", 2)
	if v := m.GetOrMake("b", func() int { return 9 }); v != 2 {
		t.Errorf("got %d", v)
	}
	if v := m.GetOrMake("a", func() int { return 9 }); v != 9 || !maps.Equal(m.All(), map[string]int{"a": 9, "b": 2}) {
		t.Errorf("got %d, %v", v, m.All())
	}
	if m.Delete("b"); m.Has("b") || !m.Has("a") {
		t.Errorf("has %v", m.All())
	}
	var empty syncmap.Map[string, int]
	if empty.GetOrMake("a", func() int { return 3 }); !empty.Has("a") {
		t.Error("what was made is not kept")
	}
}

// TestMapSideBySide checks that of many concurrent calls of GetOrMake one makes the value.
func TestMapSideBySide(t *testing.T) {
	t.Parallel()
	for range 100 {
		var m syncmap.Map[int, int]
		var wg sync.WaitGroup
		made := 0
		for range 5 {
			wg.Go(func() { m.GetOrMake(1, func() int { made++; return made }) })
		}
		wg.Wait()
		if v, _ := m.Get(1); v != 1 || made != 1 {
			t.Fatalf("made %d times, %d is there", made, v)
		}
	}
}
