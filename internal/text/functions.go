// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// NullPeerURL returns the error for a null among the peer URLs of a member.
func NullPeerURL(name string) Message {
	return newMessage("Invalid peer URL", "Member %s has a peer URL that is null. Give a URL, or leave the member out.", name)
}

// EnvironmentName returns the error for an invalid variable name.
func EnvironmentName(name string) Message {
	return newMessage("Invalid name of a variable",
		"%q cannot be the name of a variable: expected letters, digits and \"_\", and no digit first, such as ETCD_NAME.", name)
}

// EnvironmentValue returns the error for a value that must not become part of
// user data. The message omits the value, which may be a secret.
func EnvironmentValue(name string, unfit rune) Message {
	return newMessage("Invalid value of a variable",
		"The value of %s holds the character %U. User data must not hold control characters and line breaks, because they can end a value there. "+
			"Remove the character from the argument that sets %s.",
		name, unfit, name)
}

// NoVoters returns the error for a number of voters below one.
func NoVoters(n int64) Message {
	return newMessage("Invalid number of voters", "A cluster has at least one voter; %d was given.", n)
}
