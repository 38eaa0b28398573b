// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

func TestReleases(t *testing.T) {
	tests := []struct {
		version       string
		strict, alone bool
		learners      bool
		bug           string
	}{
		{"3.3.27", true, true, false, ""},
		{"3.4.0", true, true, true, ""},
		{"3.4.3", true, true, true, ""},
		{"3.4.4", true, false, true, ""},
		{"3.4.99", true, false, true, ""},
		{"3.5.0", true, false, true, ""},
		{"3.5.1", true, false, true, "etcd-io/etcd#19557"},
		{"3.5.19", true, false, true, "etcd-io/etcd#19557"},
		{"3.5.20", true, false, true, "etcd-io/etcd#20793"},
		{"3.5.25", true, false, true, "etcd-io/etcd#20793"},
		{"3.5.26", true, false, true, ""},
		{"3.5.29", true, false, true, ""},
		{"3.5.30", false, false, true, ""},
		{"3.6.0", true, false, true, ""},
		{"3.6.10", true, false, true, ""},
		{"3.6.11", false, false, true, ""},
		{"3.7.0-rc.1", false, false, true, ""},
		{"4.0.0", false, false, true, ""},
		{"", true, false, true, ""},
		{"3.6", true, false, true, ""},
		{"not decided", true, false, true, ""},
	}
	for _, tt := range tests {
		if got := wantsEveryVoter(tt.version); got != tt.strict {
			t.Errorf("wantsEveryVoter(%q) = %v", tt.version, got)
		}
		if got := cannotPromoteAlone(tt.version); got != tt.alone {
			t.Errorf("cannotPromoteAlone(%q) = %v", tt.version, got)
		}
		if got := !lacksLearners(tt.version); got != tt.learners {
			t.Errorf("!lacksLearners(%q) = %v", tt.version, got)
		}
		if got := promotionBug(tt.version); got != tt.bug {
			t.Errorf("promotionBug(%q) = %q, want %q", tt.version, got, tt.bug)
		}
	}
}

func TestQuorum(t *testing.T) {
	for n, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 9: 5} {
		if got := Quorum(n); got != want {
			t.Errorf("Quorum(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestMaxLag(t *testing.T) {
	for index, want := range map[uint64]uint64{0: 1000, 1000: 1000, 100_000: 1000, 100_100: 1001, 1 << 63: 1 << 63 / 100} {
		if got := maxLag(index); got != want {
			t.Errorf("maxLag(%d) = %d, want %d", index, got, want)
		}
	}
}
