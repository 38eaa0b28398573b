// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// unreachable returns the error if no endpoint can be used: what each answered
// and what to do. Use it only if nothing has been changed.
func unreachable(summary string, err error) Message {
	said := "The cluster does not answer."
	if cluster.TurnedAway(err) {
		said = "No endpoint can be used."
	}
	return Message{summary, said + nothingChanged + remedyOf(err) + cmp.Or(lastResort(err), answers(err))}
}

// endpointsOf returns what each endpoint answered, or nil if err did not come
// from an endpoint.
func endpointsOf(err error) []connection.Answer {
	if gone, ok := errors.AsType[*connection.Unreachable](err); ok {
		return gone.Answers
	}
	if one, ok := errors.AsType[*connection.Error](err); ok && one.Kind != connection.Server {
		return []connection.Answer{{Endpoint: one.Endpoint, Err: one}}
	}
	return nil
}

// answerLines returns one line for each endpoint and its answer.
func answerLines(err error) []string {
	var out []string
	for _, a := range endpointsOf(err) {
		out = append(out, Clean(a.Endpoint)+": "+answer(a.Err))
	}
	return out
}

// Answered describes the answers of the endpoints, or err, within a sentence.
func Answered(err error) string {
	return cmp.Or(strings.Join(answerLines(err), "; "), answer(err))
}

// Answers lists the answers of the endpoints, one per line, or describes err in
// a separate paragraph. Without an error it is empty.
func Answers(err error) Verbatim {
	if err == nil {
		return ""
	}
	return Verbatim(answers(err))
}

func answers(err error) string {
	lines := answerLines(err)
	if len(lines) == 0 && !errors.As(err, new(*connection.Unreachable)) {
		return "\n\n" + sentence(err) + "."
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\nThe endpoints answered:\n  - " + strings.Join(lines, "\n  - ")
}

func answer(err error) string {
	var dial *connection.Error
	switch {
	case errors.As(err, &dial):
		return cut(Clean(dial.Answer()), longestError)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	default:
		return sentence(err)
	}
}

// remedyOf says what to do about the answers: one sentence for each kind of
// answer, in the order of the endpoints.
func remedyOf(err error) string {
	var sentences []string
	for _, a := range endpointsOf(err) {
		if s := remedyOfKind(connection.KindOf(a.Err)); !slices.Contains(sentences, s) {
			sentences = append(sentences, s)
		}
	}
	return " " + cmp.Or(strings.Join(sentences, " "), remedyOfKind(connection.KindOf(err)))
}

// noLogin explains that members answered but completed no login, or returns "".
func noLogin(err error) string {
	if !slices.ContainsFunc(endpointsOf(err), func(a connection.Answer) bool { return connection.KindOf(a.Err) == connection.NoLogin }) {
		return ""
	}
	return " " + remedyOfKind(connection.NoLogin)
}

// remedies maps kinds of answers to advice.
var remedies = map[connection.Kind]string{
	connection.WrongPassword: "Check username and password.",
	connection.AuthRequired:  "The cluster requires credentials: set username and password, or a client certificate whose common name is a user's.",
	connection.PermissionDenied: "Membership needs the root role: give it to the user (etcdctl user grant-role NAME root). " +
		"etcd 3.5.28 to 3.5.31 and 3.6.0 to 3.6.11 also give the status of a member to root only.",
	connection.NoLogin: "Members run and refuse every login, because a login needs a quorum. Bring back the members that do not answer, then apply again. " +
		"If they are gone for good, " + recoverySteps,
	connection.StaleToken:   "Apply again: the login is renewed.",
	connection.UnknownCA:    "Set ca_cert to the CA that signed the servers' certificates.",
	connection.Expired:      "Renew the servers' certificate, or correct the clock, here or there.",
	connection.HostMismatch: "Use an endpoint that the servers' certificate names; where that cannot be dialled from here, address_map leads it elsewhere.",
	connection.ClientCert:   "Set cert and key to a client certificate that the servers accept: signed by the CA they trust (--trusted-ca-file), and not expired.",
	connection.PlainServer:  "The servers speak plain HTTP: write http:// in endpoints.",
	connection.TLSOther:     "Check the servers' TLS settings (--cert-file, --trusted-ca-file, --tls-min-version).",
	connection.NotEtcd:      "Check scheme and port: etcd's client port is 2379 unless it was changed, and a server with TLS needs https:// in endpoints.",
	connection.NotAsked:     "If it may get the credentials, add its URL to endpoints in the provider block.",
	connection.Redirected:   "Write the URL of the etcd server itself: redirects are not followed, because the credentials would go with them.",
	connection.Learner:      "Give the endpoints of voters: a learner serves no logins and takes no changes.",
	connection.DNS:          "Check the host names, and that they can be resolved from here.",
}

// recoverySteps is the end of a sentence about a cluster that is lost.
const recoverySteps = "the guide \"Disaster recovery\" has the steps (" + guides + "disaster-recovery)."

// checkMachines is the advice for any other answer, or none.
const checkMachines = "Check that its machines run and can be reached from here."

// remedyOfKind returns the advice for a kind of answer.
func remedyOfKind(k connection.Kind) string { return cmp.Or(remedies[k], checkMachines) }

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
		return said + remedyOfKind(kind)
	default:
		return said + grantRoot
	}
}

// Failed returns the error for keys that could not be read or written. doing completes
// "Cannot ..."; permission is the required permission on the prefix, "read" or "readwrite".
func Failed(doing, permission, prefix string, err error) Message {
	summary := "Cannot " + doing
	var alarm *claim.AlarmError
	switch {
	case errors.As(err, &alarm):
		return New(summary, "The alarm %s is raised, and the cluster takes no new keys."+nothingChanged+" %s", alarm.Kind, Verbatim(alarmRemedy(alarm.Kind, "try again")))
	case errors.Is(err, connection.ErrNoV2):
		return New(summary, "The cluster %v."+nothingChanged+" Set api = \"v3\", or give the endpoints of servers with the v2 API.", connection.ErrNoV2)
	case connection.KindOf(err) == connection.PermissionDenied:
		return New(summary, "The user may not do this (%s)."+nothingChanged+"\n\n%s", Verbatim(Answered(err)), Verbatim(grantPrefix(permission, prefix+"/")))
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
