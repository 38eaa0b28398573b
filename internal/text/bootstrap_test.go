// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// TestBootstrapTexts compares the texts about the replacement of a bootstrap
// with testdata/bootstrap.txt. UPDATE=1 rewrites the file. Every refusal of a
// plan contains the command that destroys everything instead.
func TestBootstrapTexts(t *testing.T) {
	const at = "https://10.0.0.1:2379"
	answers := &connection.Unreachable{Answers: []connection.Answer{{Endpoint: at, Err: errors.New("connection refused")}}}
	kind := func(k connection.Kind) error {
		return &connection.Unreachable{Answers: []connection.Answer{{Endpoint: at, Err: &connection.Error{Endpoint: at, Kind: k, Err: errors.New("the original error")}}}}
	}
	two := membership.Snapshot{ClusterID: 0x2b, Members: []membership.Member{{ID: 1, Name: "x"}, {ID: 2, Name: "y"}}}
	var b strings.Builder
	for _, c := range []struct {
		plan bool
		text Message
	}{
		{true, DiscoveryBootstrapped("replace", []string{"c", "a", "b"})},
		{true, DiscoveryBootstrapped("change", []string{"a"})},
		{true, DiscoveryBootstrapped("replace", nil)},
		{true, DiscoveryMayHaveFormed("replace", DiscoverySilent(answers))},
		{true, DiscoveryMayHaveFormed("replace", DiscoveryTokenGone)},
		{true, DiscoveryMayHaveFormed("replace", DiscoverySizeDoubtful(3, []string{"b", "c", "a"}))},
		{true, DiscoveryMayHaveFormed("change", DiscoveryEndpointsLater)},
		{true, DiscoveryMayHaveFormed("replace", DiscoveryNoEndpoints.Detail)},
		{false, Explain(reconfigure.ActionAdd, "a", &reconfigure.NoCluster{Name: "a", Forming: true, Cause: kind(connection.Refused)})},
		{false, ImportClusterID("x")},
		{false, ImportOtherCluster("2a", two)},
		{false, ImportClusterSilent("2a", kind(connection.Refused))},
	} {
		mustFollowPattern(t, c.text)
		mustBeShort(t, c.text)
		fmt.Fprintf(&b, "%s\n\n%s\n\n----\n\n", c.text.Summary, c.text.Detail)
		if c.plan && !strings.Contains(c.text.Detail, "\n\n  terraform destroy -refresh=false") {
			t.Errorf("the refusal %q does not say how to destroy everything", c.text.Summary)
		}
	}
	mustBeGolden(t, "bootstrap.txt", b.String())
}
