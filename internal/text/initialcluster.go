// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// NoFounders is the error for an initial cluster without members.
var NoFounders = newMessage("No members", "members is empty; a cluster is formed by at least one member.")

// ClusterTokenInvalid returns the error for a cluster token. problem ends the sentence.
func ClusterTokenInvalid(token, problem string) Message {
	return newMessage("Invalid cluster token",
		"cluster_token = %q %s. It may hold letters, digits, \"-\", \"_\" and \".\" only. Leave it out to have one made.", begun(token), problem)
}

// LoopbackFounder returns the error for an initial member with a loopback URL
// if another member has none.
func LoopbackFounder(name, url, other string) Message {
	return newMessage("An initial member that the others cannot reach",
		"%s of %s can be reached on its own machine only, and %s is elsewhere. Give the URL at which the others reach %s.", url, name, other, name)
}

// NoRandomness returns the error for a system that provides no random numbers.
func NoRandomness(err error) Message {
	return newMessage("No random numbers", "The system gave none: %s. Nothing was made.", sentence(err))
}

// OtherClusterAnswers returns the warning that another cluster answers.
func OtherClusterAnswers(want string, s membership.Snapshot) Message {
	return newMessage("Another cluster answers",
		"The initial members of this bootstrap form cluster %s. At the provider's endpoints cluster %s answers, with %s. "+
			"An initial member that was started without its environment, or on the data of an earlier life, forms another cluster: compare what its machine was given with bootstrap.environment, "+
			"and empty its data directory. If the endpoints are another cluster's, correct them.",
		want, s.ClusterID, members(s, ids(s.Members)))
}
