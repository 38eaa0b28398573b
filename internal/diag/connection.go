// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"fmt"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// NoEndpoints says that nobody told where the cluster is. There is no default:
// a plaintext localhost:2379 would be somebody else's cluster one day.
func NoEndpoints() Text {
	return Text{
		Summary: "No etcd endpoints",
		Detail: "Neither the provider nor this resource says where the cluster is. Set endpoints in the provider block, such as [\"https://10.0.1.10:2379\"], " +
			"or the environment variable ETCDCTL_ENDPOINTS.",
	}
}

// KindRemedy is the way out where every endpoint refused for the same reason.
func KindRemedy(k connection.Kind) string {
	switch k {
	case connection.WrongPassword:
		return "Check username and password."
	case connection.AuthRequired:
		return "The cluster wants credentials: set username and password, or a client certificate."
	case connection.PermissionDenied:
		return "Membership needs the root role: give it to the user."
	case connection.UnknownCA:
		return "Set ca_cert (or ca_cert_pem) to the CA that signed the servers' certificates."
	case connection.Expired:
		return "Renew the servers' certificate, or correct the clocks."
	case connection.HostMismatch:
		return "Use an endpoint that the servers' certificate names, or address_map."
	case connection.ClientCert:
		return "Set cert and key to a client certificate that the servers accept."
	case connection.PlainServer:
		return "The servers speak plain HTTP: use http:// in endpoints."
	default:
		return "Check that its machines run and can be reached from here."
	}
}

// InvalidDuration is for a text that is no duration of more than zero.
func InvalidDuration(attribute, value string) Text {
	return Text{
		Summary: "Invalid duration",
		Detail: fmt.Sprintf("%s is %q, which is not a duration of more than zero. Want a number with a unit, such as 500ms, 90s, 5m or 1h30m.",
			attribute, value),
	}
}
