// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package rules

import "testing"

func TestDecide(t *testing.T) {
	all := Starts()
	if len(all) < 45 {
		t.Fatalf("only %d cases", len(all))
	}
	for _, s := range all {
		first, basis := s.Decide()
		s.Before = basis
		got, _ := s.Decide()
		if got != s.Want {
			t.Errorf("%s: %s, want %s", s.Name, got, s.Want)
		}
		// One round is not enough for what a moment may mislead to.
		if basis != "" && first != Wait && first != Never {
			t.Errorf("%s: %s in the first round", s.Name, first)
		}
	}
}
