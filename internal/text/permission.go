// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// A user who may not do something is told which permission is missing, and the
// commands that give it. NAME and ROLE are for the reader to fill in: the server
// does not say which user a certificate or token stands for.

// grantPrefix is the way out for a user who lacks a permission, "read" or
// "readwrite", on all keys that begin with prefix.
func grantPrefix(permission, prefix string) string {
	return sprintf("The user's role needs %s on the prefix %s. ROLE is that role:\n\n  etcdctl role grant-permission ROLE --prefix=true %s %s",
		permission, prefix, permission, prefix)
}

// grantRoot is the way out for a user who lacks the root role.
const grantRoot = "The user needs the role root. etcd has no lesser role for this. NAME is the user:\n\n  etcdctl user grant-role NAME root"

// deniedRoot words that the cluster refused a user who needs the role root.
func deniedRoot(err error) string {
	said := "The cluster denied it: " + strings.TrimPrefix(sentence(err), cluster.ErrPermission.Error()+": ") + ". Nothing was changed.\n\n"
	switch kind := connection.KindOf(err); kind {
	case connection.WrongPassword, connection.AuthRequired:
		return said + kindRemedy(kind)
	default:
		return said + grantRoot
	}
}
