// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// TestInputTexts compares the texts about discovery, heartbeats and the
// provider's configuration with testdata/input.txt. UPDATE=1 rewrites the file.
func TestInputTexts(t *testing.T) {
	const tk, prefix, ep = "5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", "/_etcd/registry", "https://registry.example.com:2379"
	answers := &connection.Unreachable{Answers: []connection.Answer{{Endpoint: ep, Err: errors.New("connection refused")}, {Endpoint: "https://10.0.0.9:2379", Err: context.DeadlineExceeded}}}
	badEndpoint := &connection.EndpointError{Endpoint: "ftp://infra1", Reason: `has the scheme "ftp"; etcd clients speak http or https`}
	texts := []Message{
		DiscoveryTokenExists(tk, prefix, 3, "TOKEN"),
		DiscoveryTokenExists(tk, prefix, 0, "v2:TOKEN"),
		DiscoveryOccupied("pods", "/registry", "there are keys that are not the token's: \"/registry/pods/a\" and 12 more"),
		DiscoveryLeft(tk, prefix, "there are keys that are not the token's: \"/_etcd/registry/"+tk+"/more\""),
		DiscoveryNoEndpoints,
		NoEndpoints,
		DiscoveryUnreachable("create discovery token", answers),
		DiscoveryUnreachable("create discovery token", &connection.Unreachable{}),
		DiscoveryDenied("create discovery token", ep+": permission denied", "readwrite", prefix),
		DiscoveryFailed("create discovery token", errors.New("etcdserver: mvcc: database space exceeded")),
		DiscoveryUnsure(tk, answers),
		DiscoveryUnwritten(tk),
		DiscoveryVanished(tk, prefix, 3),
		DiscoverySizeOverwritten(tk, 5, 3),
		DiscoverySizeBad(tk, "three"),
		DiscoveryReadSkipped(tk, answers),
		DiscoveryCompleted(tk, []string{"c", "a", "b"}),
		DiscoveryDestroyIncomplete(tk, 3, []string{"a"}),
		DiscoveryDestroyIncomplete(tk, 3, []string{"b", "a"}),
		DiscoveryForgotten(tk, prefix, answers),
		DiscoveryImportID("holds a slash"),
		DiscoveryImportID("has a URL that holds more than scheme, host and path"),
		DiscoveryMissing(tk, prefix),
		DiscoveryURLInvalid("has no scheme"),
		EndpointsUnknown,
		DiscoveryDataSizeBad(tk, "three"),
		DiscoveryTokenInvalid("a/b", "holds a slash"),
		DiscoveryPrefixInvalid("registry", "does not begin with a slash"),
		DiscoveryPrefixUnusual("/my/registry"),
		DiscoverySizeEven(4),
		DiscoverySizeLarge(11),
		DiscoveryArgumentUnused("prefix", "service"),
		DiscoveryArgumentUnused("machine_access", "v2"),
		DiscoveryArgumentUnused("service_url", "v3"),
		DiscoveryServiceURLInvalid("registry", "has no scheme"),
		DiscoveryServiceURLInvalid("https://joe:hunter2@d.example/", "holds more than scheme, host and path"),
		DiscoveryServiceURLInvalid("joe:hunter2@d.example", "has no scheme"),
		MachinePathInvalid("machine_access.ca_cert"),
		MachineUserPassword,
		MachineUserInvalid("a\u0085b"),
		DiscoveryPublicService("https://discovery.etcd.io"),
		DiscoveryOldProtocol("v2"),
		DiscoveryOldProtocol("service"),
		DiscoveryServiceFailed("create discovery token", "400 Bad Request", true, false),
		DiscoveryServiceFailed("create discovery token", "429 Too Many Requests", true, true),
		DiscoveryServiceFailed("read discovery token", "no answer in time", false, false),
		DiscoveryServiceNoToken(tk, "https://discovery.example.com/"+tk),
		DiscoveryKept(tk, "https://discovery.example.com/"+tk),

		HeartbeatName("a/b", "has a slash"),
		HeartbeatPrefix("running", "does not begin with a slash"),
		HeartbeatTTL("100ms", time.Second),
		HeartbeatInterval("10s", "15s"),
		HeartbeatHeld("a", claim.Entry{Key: "/running/a", Value: "x", Forever: true}),
		HeartbeatHeld("a", claim.Entry{Key: "/running/a", Value: "x", Left: 12 * time.Second}),
		HeartbeatLost("a", "/running/a", &claim.LostError{Err: errors.New("no answer in time"), Late: 20 * time.Second}),
		HeartbeatLost("a", "/running/a", &claim.LostError{Now: &claim.Entry{Key: "/running/a", Value: "y"}}),
		HeartbeatLost("a", "/running/a", &claim.LostError{}),

		InvalidEndpoint("endpoints[0]", badEndpoint),
		InvalidAddressMap("address_map", badEndpoint),
		InvalidBool("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "perhaps", "insecure_skip_tls_verify"),
		PasswordMissing("username", "root"),
		UsernameMissing("password"),
		TwoPasswords,
		InvalidBool("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "perhaps", "insecure_skip_tls_verify"),

		NotTrusted([]string{"https://10.0.2.11:2379", "https://etcd4.example.com:2379"}, nil),
		NotTrusted([]string{"https://10.0.2.11:2379"}, []string{"http://10.0.1.10:2379"}),
		NotTrusted(nil, []string{"http://10.0.1.10:2379", "http://10.0.1.11:2379"}),
		NotVerified("insecure_skip_tls_verify"),
		NotVerified("ETCDCTL_INSECURE_SKIP_TLS_VERIFY"),
		PasswordInTheClear([]string{"http://10.0.1.10:2379", "http://10.0.1.11:2379"}),
		NoScheme([]string{`"10.0.1.10:2379"`}, "http"),
		NoScheme([]string{`"10.0.1.10"`, `"10.0.1.11"`}, "https"),
		PlainService("http://discovery.example.com"),

		URLIn("client_urls", &membership.URLError{Problem: membership.URLEmpty}),
		URLIn("peer_urls", &membership.URLError{URL: "http://10.0.0.1", Problem: membership.URLNoPort}),
		NullIn("endpoints"),
		TwiceIn("peer_urls", "http://10.0.0.1:2380"),
		NeitherNodeNorName,
		NameBesideConfig("infra1"),
		NoPeerURLs("infra1"),
		PeerURLsBesideConfig("infra1"),
		NoPeerURLsInConfig("infra1"),
	}
	expiry := time.Date(2026, time.November, 21, 5, 0, 0, 0, time.UTC)
	for _, problem := range []connection.TLSProblem{
		connection.CertWithoutKey, connection.KeyWithoutCert, connection.Unreadable, connection.NoPEM,
		connection.EncryptedKey, connection.KeyMismatch, connection.CertExpired, connection.CertNotYetValid,
	} {
		err := &connection.TLSError{Argument: "cert", Problem: problem, Path: "pki/root.pem", When: expiry, Err: errors.New("no such file or directory")}
		texts = append(texts, TLSMaterial("cert", err))
	}
	mustBeMessages(t, "input.txt", texts)
}

// TestEveryTextIsRendered fails for texts that no test of this package renders.
func TestEveryTextIsRendered(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	made, called := map[string]token.Position{}, map[string]bool{}
	set := token.NewFileSet()
	for _, file := range files {
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		inTest := strings.HasSuffix(file, "_test.go")
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if !inTest && n.Recv == nil && n.Name.IsExported() && n.Type.Results != nil {
					for _, result := range n.Type.Results.List {
						if name, ok := result.Type.(*ast.Ident); ok && name.Name == "Message" {
							made[n.Name.Name] = set.Position(n.Pos())
						}
					}
				}
			case *ast.ValueSpec:
				for i, value := range n.Values {
					if _, ok := value.(*ast.CallExpr); ok && !inTest && n.Names[i].IsExported() {
						made[n.Names[i].Name] = set.Position(n.Pos())
					}
				}
			case *ast.Ident:
				if inTest && file != "hostile_test.go" { // which does not render texts for users
					called[n.Name] = true
				}
			}
			return true
		})
	}
	if len(made) < 50 {
		t.Fatalf("only %d texts were found", len(made))
	}
	for name, position := range made {
		if !called[name] {
			t.Errorf("%s: no test renders %s", position, name)
		}
	}
}

// Test that a shell parses any key as one word.
func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"/_terraform/etcd/1/members/name:a", "/a b", "/it's", "/$(touch x)`touch x`;&|<>\"\\*?[]{}~#!", "/a\nb\x1b", "/é", "/\xff", "/\u202e",
	} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+shellWord(key)).Output()
		if err != nil || string(out) != key {
			t.Errorf("%q as %s: %q, %v", key, shellWord(key), out, err)
		}
	}
}

// Test that every guide that a text names exists.
func TestGuidesExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`guides \+ ?"([a-z-]+)|guides\+"([a-z-]+)`)
	count := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range named.FindAllStringSubmatch(string(source), -1) {
			count++
			if pages, err := filepath.Glob("../../templates/guides/" + found[1] + found[2] + ".md*"); err != nil || len(pages) != 1 {
				t.Errorf("%s names the guide %s%s, which is %d pages, %v", file, found[1], found[2], len(pages), err)
			}
		}
	}
	if count < 4 {
		t.Errorf("only %d guides are named", count)
	}
}

// Test that the summary names the failed action and the member, and that the
// detail contains the cause.
func TestEveryActionHasASummary(t *testing.T) {
	seen := map[string]reconfigure.Action{}
	for _, action := range []reconfigure.Action{
		reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionReplace, reconfigure.ActionUpdate, reconfigure.ActionRead,
		reconfigure.ActionRecord, reconfigure.ActionImport, reconfigure.ActionReach, reconfigure.ActionForget, reconfigure.ActionSave,
	} {
		got := Explain(action, "d", errors.New("the cause"))
		if before, ok := seen[got.Summary]; ok {
			t.Errorf("%s and %s have the same summary", before, action)
		}
		seen[got.Summary] = action
		if words := strings.Fields(got.Summary); len(words) < 4 || words[0] != "Cannot" || words[len(words)-1] != "d" || !strings.Contains(got.Detail, "the cause") {
			t.Errorf("%s: %q, %q", action, got.Summary, got.Detail)
		}
		mustFollowPattern(t, got)
	}
}

// Test that a refusal names the requested action: promotion, even if it is part
// of a join that calls it an addition.
func TestRefusalAgreesWithTheAction(t *testing.T) {
	for _, action := range []reconfigure.Action{reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionUpdate} {
		refused := []reconfigure.Action{action}
		if action == reconfigure.ActionPromote {
			refused = append(refused, reconfigure.ActionAdd)
		}
		for _, r := range refused {
			err := &reconfigure.Refusal{Action: r, Name: "d", Decision: membership.Decision{Code: membership.NotMember}}
			if got, want := Explain(action, "d", err).Summary, Explain(action, "d", errors.New("x")).Summary; got != want {
				t.Errorf("%s, refused as %s: %q, want %q", action, r, got, want)
			}
		}
	}
}
