// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Test that a member that is not trusted needs no other address.
func TestWayToAMemberThatIsNotAsked(t *testing.T) {
	s := membership.Snapshot{ClusterID: 1, Members: []membership.Member{{ID: 2, Name: "b", ClientURLs: []string{"https://b:2379"}}}}
	for detail, want := range map[string]string{
		"not asked: it is not in endpoints or address_map": "to endpoints in the provider block, then apply again.",
		"answered by member 3":                             "map the URL of each member in the provider's address_map (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/bastions-and-load-balancers), then apply again.",
	} {
		s.Answers = map[membership.MemberID]membership.Answer{2: {State: membership.Unprobed, Endpoint: "https://b:2379", Detail: detail}}
		got := refused("add", "c", membership.Decision{Code: membership.NotProbed, Facts: membership.Facts{Others: []membership.MemberID{2}}}, s).Detail
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q", detail, got)
		}
	}
}
