// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// NullPeerURL returns the error for a null among the peer URLs of a member.
var NullPeerURL = of1[string]("Invalid peer URL",
	"Member %s has a peer URL that is null. Give a URL, or leave the member out.")

// EnvironmentName returns the error for an invalid variable name.
var EnvironmentName = of1[string]("Invalid name of a variable",
	"%q cannot be the name of a variable: expected letters, digits and \"_\", and no digit first, such as ETCD_NAME.")

// EnvironmentValue returns the error for a value that must not become part of
// user data. The message omits the value, which may be a secret.
var EnvironmentValue = of2[string, rune]("Invalid value of a variable",
	"The value of %[1]s holds the character %[2]U. User data must not hold control characters and line breaks, because they can end a value there. "+
		"Remove the character from the argument that sets %[1]s.")

// NoVoters returns the error for a number of voters below one.
var NoVoters = of1[int64]("Invalid number of voters",
	"A cluster has at least one voter; %d was given.")
