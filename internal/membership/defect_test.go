// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A release that is named as the way out has none of the defects, no patch release before
// it is without one of those that it is named for, and the releases that were current when
// the table was written have none but those without a fix.
func TestDefectsAreFixed(t *testing.T) {
	for minor := 4; minor <= 8; minor++ {
		for patch := range 60 {
			for _, bypasses := range []bool{false, true} {
				version := fmt.Sprintf("3.%d.%d", minor, patch)
				has, fixed := DefectsOf(version, bypasses)
				left, again := DefectsOf(fixed, bypasses)
				if len(left) > 0 || len(has) == 0 && fixed != version {
					t.Errorf("%s has %v, fixed in %q, which has %v, fixed in %q", version, has, fixed, left, again)
				}
				if later, _ := DefectsOf(fmt.Sprintf("3.%d.%d", minor, patch+1), bypasses); len(later) > len(has) {
					t.Errorf("the patch release after %s has more defects", version)
				}
			}
		}
	}
	for _, version := range []string{"3.5.35", "3.6.16", "3.7.3", "", "3.6", "4.0.0", "2.3.8"} {
		harm, _ := DefectsOf(version, false)
		bypasses, _ := DefectsOf(version, true)
		unfixed := func(source string) bool { return source == "etcd-io/etcd#22386" && version == "3.5.35" }
		if len(harm) > 0 || !slices.ContainsFunc(bypasses, unfixed) && len(bypasses) > 0 {
			t.Errorf("%q has %v %v", version, harm, bypasses)
		}
	}
}

// A certificate is told of in its last 30 days, and later.
func TestEndingCertificates(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		left []time.Duration // -1 is http
		want string
	}{
		"http":                {[]time.Duration{-1, -1}, ""},
		"30 days":             {[]time.Duration{30 * 24 * time.Hour, -1}, ""},
		"less than 30 days":   {[]time.Duration{31 * 24 * time.Hour, 30*24*time.Hour - time.Second}, "[2] 2026-12-26T23:59:59Z"},
		"both, the first end": {[]time.Duration{24 * time.Hour, -time.Hour}, "[1 2] 2026-11-26T23:00:00Z"},
	} {
		s := Snapshot{Answers: map[MemberID]Answer{}}
		for i, d := range tt.left {
			id := MemberID(i + 1)
			s.Members = append(s.Members, Member{ID: id})
			if s.Answers[id] = (Answer{State: Answered}); d != -1 {
				s.Answers[id] = Answer{State: Answered, CertificateEnd: now.Add(d)}
			}
		}
		got := ""
		for _, w := range s.endingCertificates(now) {
			got += fmt.Sprintf("%d %s", w.Facts.Others, w.Facts.Detail)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
