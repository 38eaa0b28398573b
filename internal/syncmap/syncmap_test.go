// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package syncmap_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

func TestMap(t *testing.T) {
	t.Parallel()
	var m syncmap.Map[string, int]
	if v, ok := m.Get("a"); v != 0 || ok || m.Has("a") || len(m.Keys()) > 0 {
		t.Errorf("the empty map has %d, %v", v, m.Keys())
	}
	m.Delete("a")
	if before, keys := m.Set("b", 1); before != 0 || !slices.Equal(keys, []string{"b"}) {
		t.Errorf("got %d, %v", before, keys)
	}
	if before, keys := m.Set("b", 2); before != 1 || len(keys) != 1 {
		t.Errorf("got %d, %v", before, keys)
	}
	if v := m.GetOrMake("b", func() int { return 9 }); v != 2 {
		t.Errorf("got %d", v)
	}
	if v := m.GetOrMake("a", func() int { return 9 }); v != 9 || !slices.Equal(m.Keys(), []string{"a", "b"}) {
		t.Errorf("got %d, %v", v, m.Keys())
	}
	if m.Delete("b"); m.Has("b") || !m.Has("a") {
		t.Errorf("has %v", m.Keys())
	}
	var empty syncmap.Map[string, int]
	if empty.GetOrMake("a", func() int { return 3 }); !empty.Has("a") {
		t.Error("what was made is not kept")
	}
}

// TestMapSideBySide checks that each of many concurrent calls of Set counts once.
func TestMapSideBySide(t *testing.T) {
	t.Parallel()
	for range 100 {
		var m syncmap.Map[int, bool]
		var wg sync.WaitGroup
		sizes := make([]int, 5)
		for i := range sizes {
			wg.Go(func() {
				_, keys := m.Set(i, true)
				sizes[i] = len(keys)
			})
		}
		wg.Wait()
		if slices.Sort(sizes); !slices.Equal(sizes, []int{1, 2, 3, 4, 5}) {
			t.Fatalf("the sizes were %v", sizes)
		}
	}
}
