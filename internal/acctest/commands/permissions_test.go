// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// documentedRoles returns the commands of the guide that create the least
// privileged users, without "etcdctl".
func documentedRoles(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(etcdtest.ModuleRoot(t), "templates", "guides", "network-and-security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Permissions\n")
	section, _, ok := strings.Cut(section, "\n### ")
	var out [][]string
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(strings.TrimSpace(line), "etcdctl "); is {
			out = append(out, strings.Fields(command))
		}
	}
	if !ok || len(out) < 20 {
		t.Fatalf("the guide has %d commands", len(out))
	}
	return out
}

// login is a method of authentication.
type login struct {
	options func(t *testing.T) etcdtest.Options
	// user completes "user add NAME".
	user func(name string) []string
	// access returns the access of a user.
	access func(b *secured, name string) acctest.Access
}

func byPassword(_ *secured, name string) acctest.Access {
	return acctest.Access{Username: name, Password: name + "-pw"}
}

func withPassword(name string) []string { return []string{name + ":" + name + "-pw"} }

// logins are the methods that the simulated etcd does not have. The JWT tokens expire so soon that every run
// needs several.
var logins = map[string]login{
	"common name": {
		func(t *testing.T) etcdtest.Options { return etcdtest.Options{TLS: etcdtest.NewPKI(t)} },
		func(name string) []string { return []string{name, "--no-password"} },
		func(b *secured, name string) acctest.Access {
			return acctest.Access{PKI: b.tls, Cert: b.tls.Client(name)}
		},
	},
	"JWT": {
		func(t *testing.T) etcdtest.Options {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				t.Fatal(err)
			}
			public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			write := func(name, kind string, der []byte) string {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
					t.Fatal(err)
				}
				return file
			}
			return etcdtest.Options{Args: []string{
				"--auth-token=jwt,sign-method=RS256,ttl=2s,pub-key=" + write("public.pem", "PUBLIC KEY", public) +
					",priv-key=" + write("private.pem", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
			}}
		}, withPassword, byPassword,
	},
}

// secured is a cluster of n members with authentication and the users of the guide.
type secured struct {
	*etcdtest.Cluster
	*acctest.Workspace
	t     *testing.T
	tls   *etcdtest.PKI
	login login
}

func newSecured(t *testing.T, l login, v etcdtest.Version, n int) *secured {
	t.Helper()
	o := l.options(t)
	o.Version, o.Password = v, "Tr0ub4dor"
	b := &secured{t: t, tls: o.TLS, login: l, Cluster: etcdtest.Start(t, n, o), Workspace: acctest.NewWorkspace(t, acctest.WorkspaceOptions{})}
	for _, command := range documentedRoles(t) {
		if command[0] == "user" && command[1] == "add" {
			command = append([]string{"user", "add"}, l.user(command[2])...)
		}
		b.etcdctl(command...)
	}
	return b
}

func (b *secured) etcdctl(args ...string) {
	b.t.Helper()
	if _, err := b.Etcdctl(args...); err != nil {
		b.t.Fatal(err)
	}
}

// as makes the provider log in as that user.
func (b *secured) as(name string) {
	b.t.Helper()
	a := b.login.access(b, name)
	a.Endpoints = b.Endpoints()
	b.Write("provider.tf", acctest.Required+a.ProviderConfig())
}

// members returns the number of members of the cluster.
func (b *secured) members() int {
	b.t.Helper()
	got, err := b.Cluster.Client(b.t).MemberList(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return len(got.Members)
}

const needsRoot = "The user needs the role root. etcd has no lesser role for this. NAME is the user:\n\n  etcdctl user grant-role NAME root"

// The commands of the guide make users that log in with a certificate or get JWTs. (For
// what each of them may do see TestPermissions in package simulated, for actions
// TestDefragmentWhenFull.)
func TestAccPermissions(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V36) {
		for name, l := range logins {
			t.Run(string(v)+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newSecured(t, l, v, 1)
				b.membership()
			})
		}
	}
}

// membership: root can change it, a planner can plan it, other users can do neither.
func (b *secured) membership() {
	b.t.Helper()
	b.Write("main.tf", `
resource "etcd_learner" "d" {
  name       = "d"
  peer_urls  = ["http://127.0.0.9:2380"]
  wait_until = "announced"
}
`)
	mustHave := func(want int) {
		b.t.Helper()
		if n := b.members(); n != want {
			b.t.Fatalf("%d members, want %d", n, want)
		}
	}
	b.as("planner")
	b.Apply().MustSay("Cannot add member d").MustContain(b.t, "Cannot add member d", "permission denied", needsRoot)
	mustHave(1)
	b.as("terraform")
	b.Apply().MustSucceed()
	b.as("planner")
	b.Plan().MustBeEmpty()
	for _, user := range []string{"planner", "viewer"} {
		b.as(user)
		b.Destroy().MustSay("Cannot remove member d").MustContain(b.t, "Cannot remove member d", "permission denied", needsRoot)
	}
	mustHave(2)
	b.as("terraform")
	b.Destroy().MustSucceed()
	mustHave(1)
}
