// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"strconv"
	"strings"
)

// release is a server version: major, minor, patch.
type release [3]int

// parseRelease parses a version such as "3.6.16" or "3.7.0-rc.1". It ignores what
// follows the third number. ok is false for anything else.
func parseRelease(s string) (r release, ok bool) {
	s, _, _ = strings.Cut(s, "-")
	s, _, _ = strings.Cut(s, "+")
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return release{}, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return release{}, false
		}
		r[i] = int(n)
	}
	return r, true
}

// before reports whether r is older than 3.minor.patch.
func (r release) before(minor, patch int) bool {
	return slices.Compare(r[:], []int{3, minor, patch}) < 0
}

// wantsEveryVoter reports whether a server of that version accepts a new member
// only if every voter has been connected for its health interval of 5 s: up to
// 3.5.29, up to 3.6.10, and in all of 3.4. Later versions need as many connected
// voters as the quorum with one voter more (etcd-io/etcd#21641). A version that
// cannot be parsed counts as strict.
func wantsEveryVoter(version string) bool { return lacksFix(version, 30, 11) }

// lacksFix reports whether a version is without a fix of 3.5.in5 and 3.6.in6, or cannot be
// parsed.
func lacksFix(version string, in5, in6 int) bool {
	r, ok := parseRelease(version)
	if ok && r[0] == 3 && r[1] == 6 {
		return r.before(6, in6)
	}
	return !ok || r.before(5, in5)
}

// isBefore reports whether a version is older than 3.minor.patch. One that cannot be parsed
// is not.
func isBefore(version string, minor, patch int) bool {
	r, ok := parseRelease(version)
	return ok && r.before(minor, patch)
}

// lacksLearners reports whether servers of that version support no learners, as
// before 3.4. A version that cannot be parsed counts as supporting them: the server
// refuses what it does not support.
func lacksLearners(version string) bool { return isBefore(version, 4, 0) }

// cannotPromoteAlone reports whether a cluster of one cannot promote a learner
// on that version (up to 3.4.3, etcd-io/etcd#11633).
func cannotPromoteAlone(version string) bool { return isBefore(version, 4, 4) }

// promotionBug returns the upstream issue because of which a promotion may not
// last on that version, or "": 3.5.1 to 3.5.19 do not persist it
// (etcd-io/etcd#19557), and up to 3.5.25 a snapshot may still spread what an
// older release left behind (etcd-io/etcd#20793).
func promotionBug(version string) string {
	r, ok := parseRelease(version)
	switch {
	case !ok || r.before(5, 1) || !r.before(5, 26):
		return ""
	case r.before(5, 20):
		return "etcd-io/etcd#19557"
	}
	return "etcd-io/etcd#20793"
}

// badReleases returns one warning for each upstream issue that affects members
// that answer.
func (s Snapshot) badReleases(subject MemberID) (out []Warning) {
	for _, issue := range []string{"etcd-io/etcd#19557", "etcd-io/etcd#20793"} {
		if exposed, _ := s.tooOld(func(version string) bool { return promotionBug(version) == issue }); len(exposed) > 0 {
			out = append(out, Warning{KnownBadRelease, Facts{Subject: subject, Others: exposed, Detail: issue}})
		}
	}
	return out
}

// newEnough refuses a change on members that answer and run a version for which rule
// returns true.
func (s Snapshot) newEnough(subject MemberID, rule func(version string) bool) Decision {
	if ids, v := s.tooOld(rule); len(ids) > 0 {
		return refuse(VersionTooOld, Facts{Subject: subject, Others: ids, Detail: v})
	}
	return Decision{Verdict: Go}
}

// tooOld returns the members that answer and run a version for which rule returns
// true, and the version of the first of them.
func (s Snapshot) tooOld(rule func(version string) bool) (ids []MemberID, version string) {
	for _, m := range s.Members {
		if v := s.Answer(m.ID).Version; s.answers(m.ID) && rule(v) {
			if ids = append(ids, m.ID); version == "" {
				version = v
			}
		}
	}
	return union(ids), version
}
