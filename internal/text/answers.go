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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// unreachable returns the error if no endpoint can be used: what each answered
// and what to do. Use it only if nothing has been changed.
func unreachable(summary string, err error) Message {
	said := "The cluster does not answer."
	if cluster.TurnedAway(err) {
		said = "No endpoint can be used."
	}
	return Message{summary, said + nothingChanged + remedyOf(err) + cmp.Or(lastResort(err), string(Answers(err)))}
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
	return each(endpointsOf(err), func(a connection.Answer) string { return Clean(a.Endpoint) + ": " + answer(a.Err) })
}

// Answered describes the answers of the endpoints, or err, within a sentence.
func Answered(err error) string {
	return cmp.Or(strings.Join(answerLines(err), "; "), answer(err))
}

// Answers lists the answers of the endpoints, one per line, or describes err in
// a separate paragraph. Without an error it is empty.
func Answers(err error) Verbatim {
	lines := answerLines(err)
	switch {
	case len(lines) > 0:
		return Verbatim("\n\nThe endpoints answered:\n  - " + strings.Join(lines, "\n  - "))
	case err == nil || errors.As(err, new(*connection.Unreachable)):
		return ""
	}
	return Verbatim("\n\n" + sentence(err) + ".")
}

func answer(err error) string {
	var dial *connection.Error
	switch {
	case errors.As(err, &dial):
		return cut(Clean(dial.Answer()), longestError)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return sentence(err)
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

// grantRoot is the advice for a user without the root role.
const grantRoot = "The user needs the role root. etcd has no lesser role for this. NAME is the user:\n\n  etcdctl user grant-role NAME root"

// deniedRoot describes a refusal because the user lacks the root role.
func deniedRoot(err error) string {
	said := "The cluster denied it: " + strings.TrimPrefix(sentence(err), cluster.ErrPermission.Error()+": ") + ". Nothing was changed.\n\n"
	if kind := connection.KindOf(err); kind == connection.WrongPassword || kind == connection.AuthRequired {
		return said + remedyOfKind(kind)
	}
	return said + grantRoot
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
		return New(summary, "The user may not do this (%[1]s)."+nothingChanged+"\n\nThe user's role needs %[2]s on the prefix %[3]s/. ROLE is that role:\n\n"+
			"  etcdctl role grant-permission ROLE --prefix=true %[2]s %[3]s/", Verbatim(Answered(err)), permission, prefix)
	case len(endpointsOf(err)) > 0:
		return unreachable(summary, err)
	}
	return New(summary, "etcd answered: %s.", sentence(err))
}

// StartOver is the advice if a bootstrap cannot be used again. It follows the
// condition, such as "If the cluster is gone for good".
const StartOver = ", see " + StartAgain + DestroyInstead

// Untaint is the advice for a resource that is replaced because it is tainted.
// Until a moved block is applied, the CLI uses the former address of the
// resource, and a diagnostic the new address.
const Untaint = "If the resource is tainted, keep it. " + afterWith + ", or the one after \"from\" in a moved block that has not been applied yet:\n\n  terraform untaint 'ADDRESS'"

// EndpointsUnknown is the error for a data source that is read too early.
var EndpointsUnknown = New("The provider's endpoints are not known yet",
	"The provider of this data source is configured with values that are known after apply only. Add a depends_on with the resource that they come from, "+
		"so that it is read during apply. If the data source has endpoints, set them instead.")

// lockHeld describes an error about the lock on membership changes, or returns
// "" for any other error.
func lockHeld(err error) string {
	var busy *claim.BusyError
	var queued *reconfigure.Queued
	var lost *reconfigure.LockLost
	switch {
	case errors.As(err, &lost):
		return lockLost(lost)
	case errors.As(err, &busy) && busy.Entry.Forever:
		return sprintf("The lock on membership changes is not free: %v. It has no time to live, so this provider did not make it."+nothingChanged+
			" If no other run is active, delete it, then apply again:\n\n  etcdctl del %s", busy, shellWord(busy.Entry.Key))
	case errors.As(err, &busy):
		return sprintf("Another run is changing this cluster: %v."+nothingChanged+" Let that run end, then apply again. "+
			"If it was killed, its lock expires by itself %s after its last sign of life.", busy, claim.LockTTL)
	case errors.As(err, &queued):
		return sprintf("The time allowed for it ran out while this run was busy with another change of the cluster (%s); members change one at a time. "+
			"Nothing was changed for this one. Apply again; or allow more time (timeouts).", queued.Behind)
	}
	return ""
}

// lockLost describes the outcome of an operation that lost its lock.
func lockLost(l *reconfigure.LockLost) string {
	now := "The member list could not be read afterwards."
	switch {
	case l.Checked && !l.Listed:
		now = l.Name + " is not in the member list now."
	case l.Checked && l.Member.Learner:
		now = sprintf("According to the member list %s (%s) is a learner now.", l.Name, l.Member.ID)
	case l.Checked:
		now = sprintf("According to the member list %s (%s) is a voting member now.", l.Name, l.Member.ID)
	}
	return sprintf("This run lost the lock on membership changes: %s. It stopped before its next step. %s Apply again: it carries on from there.", sentence(l.Lost), now)
}

// malformed describes a key of the provider with unexpected content, and how to
// recover.
func malformed(m *cluster.Malformed) string {
	key := shellWord(m.Key)
	if m.Newer {
		return sprintf("A newer version of the provider wrote the %s %s (format %d). This version cannot read it, so it stopped before its next change. "+
			"Upgrade the provider, then apply again:\n\n  terraform init -upgrade\n\n%s", m.Kind, shown(m.Key), m.Format, Verbatim(deleteKey(key)))
	}
	return sprintf("The %s %s is not what this version of the provider writes (%s). It holds %s. This version cannot read it, so it stopped before its next change. "+
		"Find out who wrote it:\n\n  etcdctl get %s\n\n%s", m.Kind, shown(m.Key), sentence(m.Err), m.Value, key, Verbatim(deleteKey(key)))
}

// deleteKey returns the advice for a key that is no longer needed.
func deleteKey(key string) string {
	return "If nothing needs it, delete it and apply again. Without an ownership record the provider does not remove a member that it added and that is not in the state, " +
		"so compare the member list with the state first:\n\n  etcdctl member list\n  etcdctl del " + key
}

// TurnLeft returns the warning for a removed node if the record of
// its member's replacement cannot be deleted.
func TurnLeft(name string, err error) Message {
	commands := "etcdctl get --prefix --keys-only " + membership.MetadataPrefix + "\n  etcdctl del KEY\n\nKEY is the one that ends in /turns/" + Clean(name) + "."
	if left, ok := errors.AsType[*cluster.NotDeleted](err); ok && left.Key != "" {
		commands = "etcdctl del " + shellWord(left.Key)
	}
	return New("Replacement of member "+name+" is still on record",
		"The node was removed. The record of a replacement of %s that has not ended, if there is one, could not be deleted (%s). "+
			"While it is there, no other living member is replaced. Delete it once the cluster answers:\n\n  %s", name, err, Verbatim(commands))
}

// shown returns a key in displayable form.
func shown(key string) string {
	if connection.Plain(key) != nil {
		return connection.Quote(key)
	}
	return key
}

// shellWord returns a key from the cluster as one word of a shell command line.
// No key can run a command.
func shellWord(key string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.:@%+="
	switch {
	case key != "" && strings.Trim(key, harmless) == "":
		return key
	case connection.Plain(key) == nil:
		return "'" + strings.ReplaceAll(key, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(key) {
		if strings.IndexByte(harmless, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(sprintf(`\x%02x`, c))
		}
	}
	return b.String() + "'"
}
