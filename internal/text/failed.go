// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Failed returns the error for keys that could not be read or written. doing completes
// "Cannot ..."; permission is the required permission on the prefix, "read" or "readwrite".
func Failed(doing, permission, prefix string, err error) Message {
	summary := "Cannot " + doing
	var alarm *claim.AlarmError
	switch {
	case errors.As(err, &alarm):
		return New(summary, "The alarm %s is raised, and the cluster takes no new keys."+nothingChanged+" %s", alarm.Kind, own(alarmWayOut(alarm.Kind, "try again")))
	case errors.Is(err, connection.ErrNoV2):
		return New(summary, "The cluster %v."+nothingChanged+" Set api = \"v3\", or give the endpoints of servers with the v2 API.", connection.ErrNoV2)
	case connection.KindOf(err) == connection.PermissionDenied:
		return New(summary, "The user may not do this (%s)."+nothingChanged+"\n\n%s", own(Answered(err)), own(grantPrefix(permission, prefix+"/")))
	case len(endpointsOf(err)) > 0:
		return unreachable(summary, err)
	default:
		return New(summary, "etcd answered: %s.", sentence(err))
	}
}

// StartOver is the advice if a bootstrap cannot be used again. It follows the
// condition, such as "If the cluster is gone for good".
const StartOver = ", destroy everything and start again." + DestroyInstead

// Untaint is the advice for a resource that is replaced because it is tainted.
// Until a moved block is applied, the CLI uses the former address of the
// resource, and a diagnostic the new address.
const Untaint = "If the resource is tainted, keep it. " + afterWith + ", or the one after \"from\" in a moved block that has not been applied yet:\n\n  terraform untaint 'ADDRESS'"

// EndpointsUnknown is the error for a data source that is read too early.
var EndpointsUnknown = New("The provider's endpoints are not known yet",
	"The provider of this data source is configured with values that are known after apply only. Add a depends_on with the resource that they come from, "+
		"so that it is read during apply. If the data source has endpoints, set them instead.")
