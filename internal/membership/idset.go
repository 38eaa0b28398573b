// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// union returns the IDs of all lists, sorted and without duplicates, or nil if none.
func union(lists ...[]MemberID) []MemberID {
	all := slices.Concat(lists...)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil
	}
	return all
}

// in returns what is in the first list and also in the second list.
func in[E comparable](list, set []E) (out []E) {
	for _, e := range list {
		if slices.Contains(set, e) {
			out = append(out, e)
		}
	}
	return out
}

// IDs returns the IDs of members.
func IDs(members []Member) []MemberID {
	var out []MemberID
	for _, m := range members {
		out = append(out, m.ID)
	}
	return out
}
