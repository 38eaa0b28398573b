// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"slices"
	"strings"

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

// Unreachable says that no endpoint could be used, what each of them answered
// and what to do about it. action completes "Cannot ...". Nothing may have
// been changed.
func Unreachable(action string, answers []connection.Answer) Text {
	return Text{
		Summary: "Cannot " + action,
		Detail:  "No endpoint can be used. Nothing was changed. " + WayOut(answers) + EndpointAnswers(answers),
	}
}

// EndpointAnswers lists the endpoints with their answers, in a paragraph of
// its own.
func EndpointAnswers(answers []connection.Answer) string {
	if len(answers) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nThe endpoints answered:")
	for _, a := range answers {
		b.WriteString("\n  - " + Clean(a.Endpoint) + ": " + answer(a.Err))
	}
	return b.String()
}

// WayOut says what to do about the answers: one sentence for each kind of
// answer there is, in the order of the endpoints.
func WayOut(answers []connection.Answer) string {
	var sentences []string
	for _, a := range answers {
		if s := KindRemedy(connection.KindOf(a.Err)); !slices.Contains(sentences, s) {
			sentences = append(sentences, s)
		}
	}
	if len(sentences) == 0 {
		return KindRemedy("")
	}
	return strings.Join(sentences, " ")
}

// KindRemedy is the way out where endpoints answered that.
func KindRemedy(k connection.Kind) string {
	switch k {
	case connection.WrongPassword:
		return "Check username and password."
	case connection.AuthRequired:
		return "The cluster wants credentials: set username and password, or a client certificate whose common name is a user's."
	case connection.PermissionDenied:
		return "Membership needs the root role: give it to the user (etcdctl user grant-role NAME root)."
	case connection.NoLogin:
		return "Members run and can log nobody in, because a login needs a quorum. Bring back the members that do not answer, then apply again. " +
			"If they are gone for good, the guide \"When quorum is lost\" has the steps."
	case connection.StaleToken:
		return "Apply again: the login is renewed."
	case connection.UnknownCA:
		return "Set ca_cert (or ca_cert_pem) to the CA that signed the servers' certificates."
	case connection.Expired:
		return "Renew the servers' certificate, or correct the clock, here or there."
	case connection.HostMismatch:
		return "Use an endpoint that the servers' certificate names; where that cannot be dialled from here, address_map leads it elsewhere."
	case connection.ClientCert:
		return "Set cert and key to a client certificate that the servers accept: signed by the CA they trust (--trusted-ca-file), and not expired."
	case connection.PlainServer:
		return "The servers speak plain HTTP: write http:// in endpoints."
	case connection.TLSOther:
		return "Check the servers' TLS settings (--cert-file, --trusted-ca-file, --tls-min-version)."
	case connection.NotEtcd:
		return "Check scheme and port: etcd's client port is 2379 unless it was changed, and a server with TLS wants https:// in endpoints."
	case connection.NotAsked:
		return "Add the host to trusted_hosts in the provider block if it may get the credentials."
	case connection.Redirected:
		return "Write the URL of the etcd server itself: redirects are not followed, because the credentials would go with them."
	case connection.Learner:
		return "Give the endpoints of voters: a learner lets nobody log in and takes no changes."
	case connection.DNS:
		return "Check the host names, and that they can be resolved from here."
	default:
		return "Check that its machines run and can be reached from here."
	}
}

// InvalidDuration is for a text that is no duration of more than zero.
func InvalidDuration(attribute, value string) Text {
	return Text{
		Summary: "Invalid duration",
		Detail: sprintf("%s is %q, which is not a duration of more than zero. Want a number with a unit, such as 500ms, 90s, 5m or 1h30m.",
			attribute, value),
	}
}
