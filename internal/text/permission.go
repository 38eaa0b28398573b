// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// These texts name the missing permission and the commands that grant it. The
// reader replaces NAME and ROLE: the server does not say which user a
// certificate or token belongs to.

// grantPrefix returns advice for a user without a permission, "read" or
// "readwrite", on all keys that begin with prefix.
func grantPrefix(permission, prefix string) string {
	return sprintf("The user's role needs %s on the prefix %s. ROLE is that role:\n\n  etcdctl role grant-permission ROLE --prefix=true %s %s",
		permission, prefix, permission, prefix)
}

// grantRoot is the advice for a user without the root role.
const grantRoot = "The user needs the role root. etcd has no lesser role for this. NAME is the user:\n\n  etcdctl user grant-role NAME root"

// deniedRoot describes a refusal because the user lacks the root role.
func deniedRoot(err error) string {
	said := "The cluster denied it: " + strings.TrimPrefix(sentence(err), cluster.ErrPermission.Error()+": ") + ". Nothing was changed.\n\n"
	switch kind := connection.KindOf(err); kind {
	case connection.WrongPassword, connection.AuthRequired:
		return said + kindRemedy(kind)
	default:
		return said + grantRoot
	}
}
