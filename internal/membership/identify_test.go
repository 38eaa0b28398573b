// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

func TestCheckName(t *testing.T) {
	urls := []string{"http://10.0.0.4:2379"}
	for _, c := range []struct {
		name string
		m    Member
		ok   bool
	}{
		{"as wanted", Member{ID: 4, Name: "d", ClientURLs: urls}, true},
		{"as wanted, a learner", Member{ID: 4, Name: "d", ClientURLs: urls, Learner: true}, true},
		{"not published", Member{ID: 4, Learner: true}, true},
		{"an initial member that has not run", Member{ID: 4, Name: "z"}, true},
		{"another", Member{ID: 4, Name: "z", ClientURLs: urls, Learner: true}, false},
		{"another, with a vote", Member{ID: 4, Name: "z", ClientURLs: urls}, false},
	} {
		got, ok := CheckName(c.m, "d")
		if ok != c.ok || !ok && (got.Step != StepRefuse || got.Code != OtherName || got.Facts.Subject != 4 || got.Facts.Detail != "d") {
			t.Errorf("%s: %t, %+v", c.name, ok, got)
		}
	}
}
