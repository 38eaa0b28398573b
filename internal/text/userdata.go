// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// UserDataOption returns the error for an invalid option of cloud_config or
// ignition. It omits what may be secret.
func UserDataOption(e *userdata.OptionError) Message {
	expected := map[userdata.Problem]string{
		userdata.NotObject:        " Expected an object.",
		userdata.NotText:          " Expected a string.",
		userdata.NotHTTPS:         " Expected an https:// URL without a user name.",
		userdata.NotSHA256:        " Expected a SHA-256 of 64 lowercase hexadecimal digits, as in the SHA256SUMS file of the release.",
		userdata.NotPath:          " Expected an absolute path of letters, digits and the characters _ . / : + @ -.",
		userdata.NotPEM:           " Expected the text of a PEM file with certificates, or with one unencrypted private key, or an absolute path on the machine.",
		userdata.NotPair:          " The private key is not the key of the certificate.",
		userdata.NeededForHTTPS:   " The member listens on https:// URLs, which need a certificate. Add the option, or give the member http:// URLs in members of the etcd_cluster.",
		userdata.UnusedForHTTP:    " The member listens on http:// URLs only, which no certificate protects. Remove the option, or give the member https:// URLs in members of the etcd_cluster.",
		userdata.NotFilesystem:    " Expected a file system that the image can make.",
		userdata.NoVersion:        " The node has no version, so the official release to download is not known. Add the option, or set version of the etcd_cluster.",
		userdata.NotVersion:       " Without the option, the machine downloads the official release of the node's version. Expected three numbers, such as 3.6.16.",
		userdata.EitherOr:         " Expected one of the two ways to get etcd, not both.",
		userdata.NotVariable:      " Expected variable names that begin with ETCD_.",
		userdata.ReservedVariable: " The node or another option sets this variable. Remove it from environment.",
		userdata.Taken:            " The user data has this key already, and it is not a list that can be appended to.",
	}[e.Problem]
	is, allowed := " is invalid", ""
	switch {
	case e.Problem == userdata.UnknownOption:
		is = " does not exist"
	case e.Problem == userdata.NotVersion:
		is = sprintf(" is missing, and version of the node is %q", e.Value)
	case slices.Contains([]userdata.Problem{userdata.MissingOption, userdata.NeededForHTTPS, userdata.NoVersion}, e.Problem):
		is = " is missing"
	case e.Value != "":
		is = sprintf(" is %q", e.Value)
	}
	if len(e.Allowed) > 0 {
		allowed = " Allowed: " + strings.Join(cleaned(e.Allowed), ", ") + "."
	}
	return New("Invalid user data option", "Option %s%s.%s%s", e.Path, own(is), own(expected), own(allowed))
}
