// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// What cloud-init makes of the example's user data starts an etcd that forms a
// cluster, and one that joins it.
func TestExamplesCloudInit(t *testing.T) {
	t.Parallel()
	python := cloudInit(t)
	testUserData(t, "cloud-init", func(t *testing.T, root, userData string) {
		t.Helper()
		writeFiles(t, python, root, userData)
	})
}

// The same with Ignition, of what Butane makes.
func TestExamplesIgnition(t *testing.T) {
	t.Parallel()
	butane, err := exec.LookPath(filepath.Join("..", "bin", "butane"))
	if err != nil {
		t.Fatalf("%v: make bin/butane builds it", err)
	}
	testUserData(t, "ignition", func(t *testing.T, root, userData string) {
		t.Helper()
		cmd := exec.Command(butane, "--strict")
		cmd.Stdin = strings.NewReader(userData)
		out, err := output(cmd)
		if err != nil {
			t.Fatalf("butane --strict: %v\n%s", err, userData)
		}
		ignite(t, root, out)
	})
}

// archiveServed is a server that has the release of etcd that machines ask
// for, and its SHA-256.
func archiveServed(t *testing.T, pki *etcdtest.PKI) (address, sum string) {
	t.Helper()
	var archive bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&archive, gzip.NoCompression)
	tape := tar.NewWriter(zipped)
	for name, from := range map[string]string{"etcd": etcdtest.Binary(t, etcdtest.V36), "etcdctl": etcdtest.EtcdctlBinary(t, etcdtest.V36)} {
		text := read(t, from)
		if err := tape.WriteHeader(&tar.Header{Name: "etcd-v3.6-linux-amd64/" + name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tape, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	server := pki.WebServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	digest := sha256.Sum256(archive.Bytes())
	return server.URL + "/etcd.tar.gz", hex.EncodeToString(digest[:])
}

// handOver has a machine's user data written where the test finds it.
const handOver = `
resource "terraform_data" "machine" {
  provisioner "local-exec" {
    command     = "mkdir -p \"$DIR\" && printf %s \"$USER_DATA\" >\"$DIR/new\" && mv \"$DIR/new\" \"$DIR/user-data\""
    environment = { DIR = "${var.machines}/${each.key}", USER_DATA = self.input }
  }
}
`

// testUserData applies an example of machines with user data, for an initial member
// and then for one more node, and boots the machines from what it hands over.
func testUserData(t *testing.T, example string, unpack func(t *testing.T, root, userData string)) {
	t.Helper()
	pki := etcdtest.NewPKI(t)
	archive, sum := archiveServed(t, pki)

	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	if err := os.CopyFS(w.Dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	w.Write("hand_over_override.tf", handOver)
	w.Write("machines.tf", "variable \"machines\" { type = string }\n")
	copyPKI(t, pki, filepath.Join(w.Dir, "pki"), "root")
	copyPKI(t, pki, filepath.Join(w.Dir, "machine-pki"), "server")

	machines := filepath.Join(filepath.Dir(w.Dir), "machines")
	nodes := map[string]any{}
	vars := map[string]any{
		"pki": filepath.Join(w.Dir, "machine-pki"), "machines": machines, "nodes": nodes,
		"release": map[string]string{"version": etcdtest.Release(t, etcdtest.V36), "url": archive, "sha256": sum},
	}
	booted := map[string]*machine{}
	for i, name := range []string{"a", "d"} {
		nodes[name] = map[string]any{"address": "127.0.0.1", "client_port": etcdtest.ReservePort(t), "peer_port": etcdtest.ReservePort(t)}
		text, err := json.Marshal(vars)
		if err != nil {
			t.Fatal(err)
		}
		w.Write("terraform.tfvars.json", string(text))
		apply := w.Start("apply")
		for !apply.Ended() {
			if text, err := os.ReadFile(filepath.Join(machines, name, "user-data")); err == nil && booted[name] == nil {
				root := filepath.Join(machines, name)
				unpack(t, root, string(text))
				verifyUnit(t, root, "etcd.service")
				booted[name] = boot(t, root, "etc/systemd/system/etcd.service", "CURL_CA_BUNDLE="+pki.CAFile)
			}
			time.Sleep(20 * time.Millisecond)
		}
		outcome := apply.Wait().MustSucceed()
		if booted[name] == nil || len(booted) != i+1 {
			t.Fatalf("%d machines have booted\n%s", len(booted), outcome)
		}
		if role := w.State(fmt.Sprintf("etcd_member.node[%q]", name))["role"]; role != "voter" {
			t.Errorf("%s is a %v, want a voter", name, role)
		}
	}
	if plan := w.Plan(); plan.ExitCode != 0 {
		t.Errorf("there is something left to do:\n%s", plan)
	}

	t.Log("a member that has lost its memory stays down, and systemd tries again")
	d := booted["d"]
	if err := os.RemoveAll(filepath.Join(d.root, "var/lib/etcd/member")); err != nil {
		t.Fatal(err)
	}
	d.signal(syscall.SIGKILL)
	etcdtest.Eventually(t, "the join script does not start d", func() error {
		if said := d.said(); !strings.Contains(said, "has run before and its data is gone") {
			return errors.New(said)
		}
		return nil
	})
}

// copyPKI writes the files that the examples name: the CA, and a certificate for the
// provider (root) or for machines (server).
func copyPKI(t *testing.T, pki *etcdtest.PKI, dir, name string) {
	t.Helper()
	cert := pki.Server
	if name != "server" {
		cert = pki.Client(name)
	}
	for file, from := range map[string]string{"ca.pem": pki.CAFile, name + ".pem": cert.CertFile, name + "-key.pem": cert.KeyFile} {
		write(t, filepath.Join(dir, file), 0o600, []byte(read(t, from)))
	}
}

// writeFiles has cloud-init look at user data, and write the files in it below
// root.
func writeFiles(t *testing.T, python, root, userData string) {
	t.Helper()
	file := filepath.Join(root, "user-data")
	write(t, file, 0o600, []byte(userData))
	if out, err := exec.Command("cloud-init", "schema", "--config-file", file).CombinedOutput(); err != nil || strings.Contains(string(out), "rror") {
		t.Fatalf("cloud-init schema: %v\n%s\n%s", err, out, userData)
	}
	cmd := exec.Command(python, "-c", writeFilesModule, root, file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cloud-init's module write_files: %v\n%s", err, out)
	}
}

// writeFilesModule runs cloud-init's module write_files, whose arguments differ
// between releases, with the paths below a root of the test's, and as whoever
// the test runs as.
const writeFilesModule = `
import grp, inspect, os, pwd, sys
from cloudinit import util
from cloudinit.config import cc_write_files
root, path = sys.argv[1:]
owner = pwd.getpwuid(os.getuid()).pw_name + ":" + grp.getgrgid(os.getgid()).gr_name
files = util.load_yaml(open(path).read())["write_files"]
for entry in files:
    assert entry["path"].startswith("/") and ".." not in entry["path"], entry["path"]
    entry.update(path=root + entry["path"], owner=owner)
given = {"name": "write_files", "files": files, "owner": owner}
cc_write_files.write_files(**{name: given[name] for name in inspect.signature(cc_write_files.write_files).parameters})
`

// ignite writes below root what Ignition would write.
func ignite(t *testing.T, root string, config []byte) {
	t.Helper()
	var parsed struct {
		Storage struct {
			Files []struct {
				Path     string
				Mode     os.FileMode
				Contents struct{ Source, Compression string }
			}
		}
		Systemd struct {
			Units []struct{ Name, Contents string }
		}
	}
	if err := json.Unmarshal(config, &parsed); err != nil {
		t.Fatal(err)
	}
	for _, file := range parsed.Storage.Files {
		kind, text, ok := strings.Cut(file.Contents.Source, ",")
		var content []byte
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("no data URL")
		case kind == "data:;base64":
			content, err = base64.StdEncoding.DecodeString(text)
		default:
			var plain string
			plain, err = url.PathUnescape(text)
			content = []byte(plain)
		}
		if file.Contents.Compression == "gzip" && err == nil {
			var unzipped io.Reader
			if unzipped, err = gzip.NewReader(bytes.NewReader(content)); err == nil {
				content, err = io.ReadAll(unzipped)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", file.Path, err)
		}
		write(t, filepath.Join(root, file.Path), file.Mode, content)
	}
	for _, unit := range parsed.Systemd.Units {
		write(t, filepath.Join(root, "etc/systemd/system", unit.Name), 0o644, []byte(unit.Contents))
	}
}

// verifyUnit has systemd look at a unit of the machine, beside its own.
func verifyUnit(t *testing.T, root, unit string) {
	t.Helper()
	t.Run("systemd-analyze verify "+unit, func(t *testing.T) {
		analyze := etcdtest.Need(t, "systemd-analyze")
		own := filepath.Join(root, "usr/lib/systemd/system")
		if err := os.CopyFS(own, os.DirFS("/usr/lib/systemd/system")); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(own)
		if out, err := exec.Command(analyze, "verify", "--root="+root, unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// cloudInit returns the Python that cloud-init runs with.
func cloudInit(t *testing.T) string {
	t.Helper()
	path := etcdtest.Need(t, "cloud-init")
	first, _, _ := strings.Cut(read(t, path), "\n")
	python, ok := strings.CutPrefix(first, "#!")
	if !ok {
		t.Fatalf("%s begins with %q", path, first)
	}
	return strings.Fields(python)[0]
}

// output returns the standard output of a command, with what it said besides
// in the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &stderr)
	}
	return out, nil
}
