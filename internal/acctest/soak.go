// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// soakFor is the duration of the rounds without SOAK.
const soakFor = 3 * time.Minute

// soakSeed is the seed without SOAK_SEED: a test that decides whether a change
// may land does the same each time. Its first eight rounds contain every change
// and nearly every fault.
const soakSeed = 79055

// NeedSoak skips a soak unless SOAK or ETCD_TEST_FULL is set.
func NeedSoak(t *testing.T) {
	t.Helper()
	if os.Getenv("SOAK") == "" && !etcdtest.Full() {
		t.Skip("a soak takes minutes: set SOAK=3m or ETCD_TEST_FULL=1")
	}
}

// SoakSettings returns the duration and the seed of a soak.
func SoakSettings(t *testing.T) (time.Duration, uint64) {
	t.Helper()
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), soakFor.String()))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	if os.Getenv("SOAK_SEED") == "random" {
		return limit, uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("SOAK_SEED"), strconv.Itoa(soakSeed)), 10, 64)
	if err != nil {
		t.Fatalf("SOAK_SEED: %v", err)
	}
	return limit, seed
}

// Tally formats how often each kind occurred.
func Tally(counts map[string]int) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return strings.Join(out, ", ")
}
