// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
	"time"
)

// The expected IDs were read from running servers: a static cluster of three on
// 3.6.16 (token tok-1, one initial member with two peer URLs) and a cluster of
// one with the default token and one added learner on 3.7.3.
func TestComputeIDsAsServersDo(t *testing.T) {
	three := []struct {
		urls []string
		want string
	}{
		{[]string{"http://127.0.0.1:23801"}, "f7875276d5273a18"},
		{[]string{"http://localhost:23812", "http://127.0.0.1:23802"}, "6085adc6bb1f46fc"},
		{[]string{"http://127.0.0.1:23803"}, "af92976edcf7c038"},
	}
	var ids []MemberID
	for _, tt := range three {
		got := ComputeMemberID(tt.urls, "tok-1", nil)
		if got.String() != tt.want {
			t.Errorf("ComputeMemberID(%q) = %s, want %s", tt.urls, got, tt.want)
		}
		ids = append(ids, got)
	}
	for range 2 {
		if got, want := ComputeClusterID(ids).String(), "2718c185704f1b71"; got != want {
			t.Errorf("ComputeClusterID(%v) = %s, want %s", ids, got, want)
		}
		slices.Reverse(ids)
	}

	one := ComputeMemberID([]string{"http://127.0.0.1:23801"}, "etcd-cluster", nil)
	if got, want := one.String(), "bdae9bbc11dd390d"; got != want {
		t.Errorf("the only initial member is %s, want %s", got, want)
	}
	if got, want := ComputeClusterID([]MemberID{one}).String(), "d1cfaf999eb97a2a"; got != want {
		t.Errorf("its cluster is %s, want %s", got, want)
	}
	at := time.Unix(1795221436, 438969924)
	added := ComputeMemberID([]string{"http://127.0.0.1:23805", "http://127.0.0.1:23804"}, "", &at)
	if got, want := added.String(), "84d8648d181217eb"; got != want {
		t.Errorf("the added member is %s, want %s", got, want)
	}
}

func TestParseIDs(t *testing.T) {
	for _, s := range []string{"8e9e05c52164694d", "1", "ffffffffffffffff", "D1CFAF999EB97A2A"} {
		m, err := ParseMemberID(s)
		if err != nil || m == 0 {
			t.Errorf("ParseMemberID(%q) = %v, %v", s, m, err)
		}
		if back, err := ParseMemberID(m.String()); err != nil || back != m {
			t.Errorf("ParseMemberID(%q) = %v, %v, want %v", m.String(), back, err, m)
		}
	}
	for _, s := range []string{"", "0", "0000", "-1", "+1", "0x1", "g", "11111111111111111", " 1", "1_0"} {
		if m, err := ParseMemberID(s); err == nil {
			t.Errorf("ParseMemberID(%q) = %v, want an error", s, m)
		}
		if c, err := ParseClusterID(s); err == nil {
			t.Errorf("ParseClusterID(%q) = %v, want an error", s, c)
		}
	}
}
