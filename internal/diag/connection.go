// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"cmp"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// NoEndpoints says that nobody told where the cluster is. There is no default:
// a plaintext localhost:2379 would be somebody else's cluster one day.
var NoEndpoints = newText("No etcd endpoints",
	"Neither the provider nor this resource says where the cluster is. Set endpoints in the provider block, such as [\"https://10.0.1.10:2379\"], "+
		"or the environment variable ETCDCTL_ENDPOINTS.")

// unreachable says that no endpoint could be used, what each of them answered
// and what to do about it. action completes "Cannot ...". Nothing may have
// been changed.
func unreachable(action string, answers []connection.Answer) Text {
	return newText("Cannot "+action,
		"No endpoint can be used. Nothing was changed. %s%s", text(wayOut(answers)), text(answerList(answers)))
}

// answerList lists the endpoints with their answers, in a paragraph of
// its own.
func answerList(answers []connection.Answer) string {
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

// wayOut says what to do about the answers: one sentence for each kind of
// answer there is, in the order of the endpoints.
func wayOut(answers []connection.Answer) string {
	var sentences []string
	for _, a := range answers {
		if s := kindRemedy(connection.KindOf(a.Err)); !slices.Contains(sentences, s) {
			sentences = append(sentences, s)
		}
	}
	if len(sentences) == 0 {
		return kindRemedy("")
	}
	return strings.Join(sentences, " ")
}

// remedies are the ways out where endpoints answered that.
var remedies = map[connection.Kind]string{
	connection.WrongPassword:    "Check username and password.",
	connection.AuthRequired:     "The cluster wants credentials: set username and password, or a client certificate whose common name is a user's.",
	connection.PermissionDenied: "Membership needs the root role: give it to the user (etcdctl user grant-role NAME root).",
	connection.NoLogin: "Members run and can log nobody in, because a login needs a quorum. Bring back the members that do not answer, then apply again. " +
		"If they are gone for good, the guide \"When quorum is lost\" has the steps.",
	connection.StaleToken:   "Apply again: the login is renewed.",
	connection.UnknownCA:    "Set ca_cert (or ca_cert_pem) to the CA that signed the servers' certificates.",
	connection.Expired:      "Renew the servers' certificate, or correct the clock, here or there.",
	connection.HostMismatch: "Use an endpoint that the servers' certificate names; where that cannot be dialled from here, address_map leads it elsewhere.",
	connection.ClientCert:   "Set cert and key to a client certificate that the servers accept: signed by the CA they trust (--trusted-ca-file), and not expired.",
	connection.PlainServer:  "The servers speak plain HTTP: write http:// in endpoints.",
	connection.TLSOther:     "Check the servers' TLS settings (--cert-file, --trusted-ca-file, --tls-min-version).",
	connection.NotEtcd:      "Check scheme and port: etcd's client port is 2379 unless it was changed, and a server with TLS wants https:// in endpoints.",
	connection.NotAsked:     "Add the host to trusted_hosts in the provider block if it may get the credentials.",
	connection.Redirected:   "Write the URL of the etcd server itself: redirects are not followed, because the credentials would go with them.",
	connection.Learner:      "Give the endpoints of voters: a learner lets nobody log in and takes no changes.",
	connection.DNS:          "Check the host names, and that they can be resolved from here.",
}

// checkMachines is the way out where an endpoint gave any other answer, or none.
const checkMachines = "Check that its machines run and can be reached from here."

// kindRemedy is the way out where endpoints answered that.
func kindRemedy(k connection.Kind) string { return cmp.Or(remedies[k], checkMachines) }

// InvalidDuration is for a text that is no duration of more than zero.
func InvalidDuration(attribute, value string) Text {
	return newText("Invalid duration",
		"%s is %q, which is not a duration of more than zero. Want a number with a unit, such as 500ms, 90s, 5m or 1h30m.", attribute, value)
}
