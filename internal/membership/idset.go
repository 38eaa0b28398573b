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

// in returns the IDs of the first list that are also in the second list.
func in(ids, set []MemberID) []MemberID {
	var out []MemberID
	for _, id := range ids {
		if slices.Contains(set, id) {
			out = append(out, id)
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
