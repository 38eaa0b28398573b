// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
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
	members := map[string][]string{"b": {"http://10.0.0.2:2380", "http://10.1.0.2:2380"}, "a": {"http://10.0.0.1:2380"}}
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
		{true, InitialClusterFormed("2a")},
		{true, InitialClusterMayHaveFormed("2a", WhyNotFormed(membership.Snapshot{}, kind(connection.Refused)), members)},
		{true, InitialClusterMayHaveFormed("2a", WhyNotFormed(membership.Snapshot{}, cluster.ErrNoEndpoints), members)},
		{true, InitialClusterMayHaveFormed("2a", WhyNotFormed(two, nil), members)},
		{true, ClusterExists(two)},
		{true, ClusterRefusesUs(kind(connection.WrongPassword))},
		{true, FounderURLs("a", []string{"https://10.0.0.9:2380"}, []string{"https://10.0.0.1:2380", "https://10.1.0.1:2380"})},
		{true, FounderName("etcd-a", "a", "https://10.0.0.1:2380")},
		{true, RegistryIsCluster("a", at)},
		{false, Explain(reconfigure.ActionAdd, "a", &reconfigure.NoCluster{Name: "a", Forming: true, Missing: []string{"etcd-a", "etcd-b"}, Cause: kind(connection.Refused)})},
		{false, ImportClusterID("x")},
		{false, ImportOtherCluster("2a", two)},
		{false, ImportClusterSilent("2a", kind(connection.Refused))},
		{false, BootstrapKept("a")},
		{false, BootstrapWindowOver("a", time.Unix(1_800_003_600, 0))},
		{false, ClusterGone("d", kind(connection.Refused))},
		{false, ClusterGone("d", kind(connection.WrongPassword))},
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
