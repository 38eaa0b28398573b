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
func in[E comparable](list, set []E) []E {
	return keep(list, func(e E) bool { return slices.Contains(set, e) })
}

// keep returns those of a list for which is returns true, or nil if there are none.
func keep[E any](list []E, is func(E) bool) (out []E) {
	for _, e := range list {
		if is(e) {
			out = append(out, e)
		}
	}
	return out
}

// find returns the first of a list for which is returns true.
func find[E any](list []E, is func(E) bool) (found E, ok bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return found, false
}

// IDs returns the IDs of members.
func IDs(members []Member) []MemberID {
	var out []MemberID
	for _, m := range members {
		out = append(out, m.ID)
	}
	return out
}
