// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
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
	mustBeTexts(t, "input.txt", unnamed(texts...))
}

// Test that the tests of this package render each text, and that each guide that a text
// names exists.
func TestEveryTextIsRendered(t *testing.T) {
	guide := regexp.MustCompile(`guides ?\+ ?"([a-z-]+)`)
	made := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(.*\) Message \{$|^var ([A-Z]\w*) = (?:of[123]|New|filled)\b`)
	files, err := filepath.Glob("*.go")
	must(t, err)
	texts, tests := map[string]string{}, ""
	for _, file := range files {
		source, err := os.ReadFile(file)
		must(t, err)
		if strings.HasSuffix(file, "_test.go") && file != "hostile_test.go" { // which renders them for no user
			tests += string(source)
		}
		for _, found := range guide.FindAllStringSubmatch(string(source), -1) {
			if pages, err := filepath.Glob("../../templates/guides/" + found[1] + ".md*"); err != nil || len(pages) != 1 {
				t.Errorf("%s names the guide %s, which is %d pages, %v", file, found[1], len(pages), err)
			}
		}
		for _, found := range made.FindAllStringSubmatch(string(source), -1) {
			texts[found[1]+found[2]] = file
		}
	}
	delete(texts, "New")
	if len(texts) < 50 {
		t.Fatalf("only %d texts were found", len(texts))
	}
	for name, file := range texts {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(tests) {
			t.Errorf("%s: no test renders %s", file, name)
		}
	}
}

// Test that a shell parses any key as one word.
func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	must(t, err)
	for _, key := range []string{
		"/_terraform/etcd/1/members/name:a", "/a b", "/it's", "/$(touch x)`touch x`;&|<>\"\\*?[]{}~#!", "/a\nb\x1b", "/é", "/\xff", "/\u202e",
	} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+shellWord(key)).Output()
		if err != nil || string(out) != key {
			t.Errorf("%q as %s: %q, %v", key, shellWord(key), out, err)
		}
	}
}

// Test that the summary names the requested action, even if a refusal of a promotion is
// part of a join that calls it an addition.
func TestEveryActionHasASummary(t *testing.T) {
	var all []named
	for _, action := range []reconfigure.Action{
		reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionReplace, reconfigure.ActionUpdate, reconfigure.ActionRead,
		reconfigure.ActionRecord, reconfigure.ActionImport, reconfigure.ActionReach, reconfigure.ActionForget, reconfigure.ActionSave,
	} {
		all = append(all, named{string(action), Explain(action, "d", errors.New("the cause"))})
	}
	for _, refused := range []reconfigure.Action{reconfigure.ActionAdd, reconfigure.ActionPromote} {
		err := &reconfigure.Refusal{Action: refused, Name: "d", Decision: membership.Decision{Code: membership.NotMember}}
		all = append(all, named{"a promotion, refused as " + string(refused), Explain(reconfigure.ActionPromote, "d", err)})
	}
	mustBeTexts(t, "actions.txt", all)
}
