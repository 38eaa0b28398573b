// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestInitialClusterTexts(t *testing.T) {
	another := membership.Snapshot{ClusterID: 0x2b, Members: []membership.Member{{ID: 1, Name: "x"}, {ID: 2, Name: "y"}}}
	for _, tt := range []struct{ got, want Message }{
		{NoFounders, Message{"No members", "members is empty; a cluster is formed by at least one member."}},
		{ClusterTokenInvalid("", "is empty"), Message{
			"Invalid cluster token",
			`cluster_token = "" is empty. It may hold letters, digits, "-", "_" and "." only. Leave it out to have one made.`,
		}},
		{LoopbackFounder("b", "http://127.0.0.1:1", "a"), Message{
			"An initial member that the others cannot reach",
			"http://127.0.0.1:1 of b can be reached on its own machine only, and a is elsewhere. Give the URL at which the others reach b.",
		}},
		{NoRandomness(errors.New("out of dice")), Message{"No random numbers", "The system gave none: out of dice. Nothing was made."}},
		{OtherClusterAnswers("2a", another), Message{
			"Another cluster answers",
			"The initial members of this bootstrap form cluster 2a. At the provider's endpoints cluster 2b answers, with x (1) and y (2). " +
				"An initial member that was started without its environment, or on the data of an earlier life, forms another cluster: compare what its machine was given with bootstrap.environment, " +
				"and empty its data directory. If the endpoints are another cluster's, correct them.",
		}},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %+v\nwant %+v", tt.got, tt.want)
		}
	}
}
