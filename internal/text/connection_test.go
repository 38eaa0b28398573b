// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"syscall"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

func TestNoEndpoints(t *testing.T) {
	want := Message{
		"No etcd endpoints",
		"Neither the provider nor this resource says where the cluster is. Set endpoints in the provider block, such as [\"https://10.0.1.10:2379\"], " +
			"or the environment variable ETCDCTL_ENDPOINTS.",
	}
	if got := NoEndpoints; got != want {
		t.Errorf("got %q", got)
	}
}

func TestInvalidDuration(t *testing.T) {
	want := Message{
		"Invalid duration",
		`timeouts.create is "5 minutes", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`,
	}
	if got := InvalidDuration("timeouts.create", "5 minutes"); got != want {
		t.Errorf("got %q", got)
	}
}

func TestUnreachable(t *testing.T) {
	const a, b = "https://10.0.1.10:2379", "https://10.0.1.11:2379"
	answer := func(endpoint string, kind connection.Kind, err error) connection.Answer {
		return connection.Answer{Endpoint: endpoint, Err: &connection.Error{Endpoint: endpoint, Kind: kind, Err: err}}
	}
	head := "No endpoint can be used. Nothing was changed. "
	list := "\n\nThe endpoints answered:\n  - "
	for name, c := range map[string]struct {
		answers []connection.Answer
		want    string
	}{
		"none": {nil, head + "Check that its machines run and can be reached from here."},
		"refused": {
			[]connection.Answer{answer(a, connection.Refused, syscall.ECONNREFUSED)},
			head + "Check that its machines run and can be reached from here." + list + a + ": connection refused",
		},
		"all silent, each in its way": {
			[]connection.Answer{
				answer(a, connection.Timeout, context.DeadlineExceeded), answer(b, connection.NoRoute, syscall.EHOSTUNREACH),
			},
			head + "Check that its machines run and can be reached from here." + list + a + ": no answer in time\n  - " + b + ": no route to host",
		},
		"two causes": {
			[]connection.Answer{
				answer(a, connection.Refused, syscall.ECONNREFUSED), answer(b, connection.WrongPassword, rpctypes.ErrAuthFailed),
			},
			head + "Check that its machines run and can be reached from here. Check username and password." +
				list + a + ": connection refused\n  - " + b + ": wrong user name or password",
		},
		"wrong CA": {
			[]connection.Answer{answer(a, connection.UnknownCA, x509.UnknownAuthorityError{})},
			head + "Set ca_cert to the CA that signed the servers' certificates." +
				list + a + ": certificate signed by an unknown authority (x509: certificate signed by unknown authority)",
		},
		"expired certificate": {
			[]connection.Answer{answer(a, connection.Expired, x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time is after the end"})},
			head + "Renew the servers' certificate, or correct the clock, here or there." +
				list + a + ": certificate expired or not yet valid (x509: certificate has expired or is not yet valid: current time is after the end)",
		},
		"another host's certificate": {
			[]connection.Answer{answer(a, connection.HostMismatch, errors.New("x509: certificate is valid for localhost, not infra1"))},
			head + "Use an endpoint that the servers' certificate names; where that cannot be dialled from here, address_map leads it elsewhere." +
				list + a + ": certificate is for another host (x509: certificate is valid for localhost, not infra1)",
		},
		"client certificate": {
			[]connection.Answer{answer(a, connection.ClientCert, errors.New("remote error: tls: certificate required"))},
			head + "Set cert and key to a client certificate that the servers accept: signed by the CA they trust (--trusted-ca-file), and not expired." +
				list + a + ": server refuses the client certificate (remote error: tls: certificate required)",
		},
		"wrong password": {
			[]connection.Answer{answer(a, connection.WrongPassword, rpctypes.ErrAuthFailed), answer(b, connection.WrongPassword, rpctypes.ErrAuthFailed)},
			head + "Check username and password." + list + a + ": wrong user name or password\n  - " + b + ": wrong user name or password",
		},
		"no credentials": {
			[]connection.Answer{answer(a, connection.AuthRequired, rpctypes.ErrUserEmpty)},
			head + "The cluster requires credentials: set username and password, or a client certificate whose common name is a user's." +
				list + a + ": credentials required",
		},
		"missing root role": {
			[]connection.Answer{answer(a, connection.PermissionDenied, rpctypes.ErrPermissionDenied)},
			head + "Membership needs the root role: give it to the user (etcdctl user grant-role NAME root)." + list + a + ": permission denied",
		},
		"no login": {
			[]connection.Answer{answer(a, connection.NoLogin, context.DeadlineExceeded), answer(b, connection.Refused, syscall.ECONNREFUSED)},
			head + "Members run and refuse every login, because a login needs a quorum. Bring back the members that do not answer, then apply again. " +
				"If they are gone for good, the guide \"Disaster recovery\" has the steps (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/disaster-recovery). Check that its machines run and can be reached from here." +
				list + a + ": the login does not complete; it needs a quorum\n  - " + b + ": connection refused",
		},
		"stale login": {
			[]connection.Answer{answer(a, connection.StaleToken, rpctypes.ErrInvalidAuthToken)},
			head + "Apply again: the login is renewed." + list + a + ": authentication no longer valid",
		},
		"learner": {
			[]connection.Answer{answer(a, connection.Learner, rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner))},
			head + "Give the endpoints of voters: a learner serves no logins and takes no changes." + list + a + ": endpoint is a learner",
		},
		"not asked": {
			[]connection.Answer{answer(a, connection.NotAsked, errors.New(string(connection.Unnamed)))},
			head + "If it may get the credentials, add its URL to endpoints in the provider block." + list + a +
				": not asked: it is not in endpoints or address_map",
		},
		"redirect": {
			[]connection.Answer{answer(a, connection.Redirected, connection.ErrRedirect)},
			head + "Write the URL of the etcd server itself: redirects are not followed, because the credentials would go with them." + list + a +
				": redirects elsewhere (redirects are not followed)",
		},
		"plain server": {
			[]connection.Answer{answer(a, connection.PlainServer, errors.New("tls: first record does not look like a TLS handshake"))},
			head + "The servers speak plain HTTP: write http:// in endpoints." + list + a + ": server does not speak TLS",
		},
		"TLS": {
			[]connection.Answer{answer(a, connection.TLSOther, errors.New("remote error: tls: protocol version not supported"))},
			head + "Check the servers' TLS settings (--cert-file, --trusted-ca-file, --tls-min-version)." +
				list + a + ": TLS handshake failed (remote error: tls: protocol version not supported)",
		},
		"no etcd": {
			[]connection.Answer{answer(a, connection.NotEtcd, errors.New("it closed the connection"))},
			head + "Check scheme and port: etcd's client port is 2379 unless it was changed, and a server with TLS needs https:// in endpoints." +
				list + a + ": not an etcd server, or one that expects https (it closed the connection)",
		},
		"name": {
			[]connection.Answer{answer(a, connection.DNS, &net.DNSError{Name: "infra1", Err: "no such host", IsNotFound: true})},
			head + "Check the host names, and that they can be resolved from here." + list + a + ": host name not found (infra1)",
		},
		"the server's own error": {
			[]connection.Answer{answer(a, connection.Server, rpctypes.ErrNoLeader)},
			head + "Check that its machines run and can be reached from here." + list + a + ": etcdserver: no leader",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := unreachable("read the member list", &connection.Unreachable{Answers: c.answers})
			if got.Summary != "Cannot read the member list" || got.Detail != c.want {
				t.Errorf("got\n%s\n%s\nwant\n%s", got.Summary, got.Detail, c.want)
			}
		})
	}
}
