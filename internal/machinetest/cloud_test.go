// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// cloud creates and destroys machines for a test, with an HTTP API like a cloud's:
//
//	PUT    /NAME?address=10.83.1.11&image=3.6   the body is the user data
//	DELETE /NAME
//
// A machine exists when PUT is answered. It has not booted then.
type cloud struct {
	url string
	// trusted is a certificate authority that every image trusts, in PEM.
	trusted string

	t      *testing.T
	number int // number of the cloud, for names and addresses
	dir    string

	mu       sync.Mutex
	machines map[string]*machine
	layers   map[string][]string // of the images, by name
}

var clouds atomic.Int32

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{t: t, number: int(clouds.Add(1)), dir: t.TempDir(), machines: map[string]*machine{}, layers: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	c.url = server.URL
	t.Cleanup(func() {
		server.Close()
		c.end()
	})
	return c
}

// address returns an address in the network of the cloud.
func (c *cloud) address(host int) string { return fmt.Sprintf("10.83.%d.%d", c.number, host) }

func (c *cloud) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	var err error
	switch r.Method {
	case http.MethodPut:
		var userData []byte
		if userData, err = io.ReadAll(r.Body); err == nil {
			err = c.create(name, r.URL.Query().Get("address"), r.URL.Query().Get("image"), string(userData))
		}
	case http.MethodDelete:
		err = c.destroy(name)
	default:
		err = fmt.Errorf("no method %s", r.Method)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (c *cloud) create(name, address, image, userData string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machines[name] != nil {
		return fmt.Errorf("there is a machine %s", name)
	}
	layers, err := c.image(image)
	if err != nil {
		return err
	}
	const seed = "/var/lib/cloud/seed/nocloud/"
	m, err := newMachine(fmt.Sprintf("c%d-%s", c.number, name), filepath.Join(c.dir, name), layers, map[string]string{
		seed + "user-data":      userData,
		seed + "meta-data":      fmt.Sprintf("instance-id: %s-%d\nlocal-hostname: %s\n", name, time.Now().UnixNano(), name),
		seed + "network-config": "version: 2\nethernets:\n  host0:\n    addresses: [" + address + "/16]\n",
	})
	if err != nil {
		return err
	}
	c.machines[name] = m
	return m.powerOn()
}

func (c *cloud) destroy(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[name]
	if m == nil {
		return nil
	}
	if err := m.remove(); err != nil {
		return err
	}
	delete(c.machines, name)
	return nil
}

// machine returns an existing machine.
func (c *cloud) machine(name string) *machine {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[name]
	if m == nil {
		c.t.Fatalf("there is no machine %s", name)
	}
	return m
}

// all returns the existing machines by name.
func (c *cloud) all() map[string]*machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.machines)
}

// end removes all machines. If the test failed, it first logs the report of
// each machine.
func (c *cloud) end() {
	for name, m := range c.all() {
		if c.t.Failed() {
			c.t.Logf("machine %s:\n%s", name, m.report())
		}
		if err := c.destroy(name); err != nil {
			c.t.Error(err)
		}
	}
}

// report returns the end of the machine's output.
func (m *machine) report() string {
	console, _ := os.ReadFile(filepath.Join(m.dir, "console"))
	etcd, err := m.run("journalctl", "--no-pager", "--unit=etcd", "--lines=40")
	if err != nil {
		etcd += "\n" + err.Error()
	}
	status, _ := m.run("systemctl", "status", "--no-pager", "--lines=20", "etcd")
	boot, _ := m.run("cloud-init", "status", "--long")
	return strings.Join([]string{tail(string(console), 30), boot, status, etcd}, "\n---\n")
}

func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// image returns the layers of an image. Its name is the version of etcd in it,
// or "plain" for an image without etcd.
func (c *cloud) image(name string) ([]string, error) {
	if layers := c.layers[name]; layers != nil {
		return layers, nil
	}
	bottom, err := filepath.Abs(guest())
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(c.dir, ".settings")
	if len(c.layers) == 0 {
		const trusted = "/etc/ssl/certs/ca-certificates.crt"
		authorities, err := os.ReadFile(filepath.Join(bottom, trusted))
		if err != nil {
			return nil, err
		}
		files := maps.Clone(settingsOfAll)
		files[trusted] = string(authorities) + c.trusted
		if err := writeFiles(settings, files); err != nil {
			return nil, err
		}
	}
	layers := []string{settings, bottom}
	if name != "plain" {
		programs := filepath.Join(c.dir, ".etcd-"+name)
		bin := filepath.Join(programs, "usr", "local", "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			return nil, err
		}
		v := etcdtest.Version(name)
		for program, path := range map[string]string{"etcd": etcdtest.Binary(c.t, v), "etcdctl": etcdtest.EtcdctlBinary(c.t, v)} {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(bin, program), text, 0o755)
			}
			if err != nil {
				return nil, err
			}
		}
		layers = append([]string{programs}, layers...)
	}
	c.layers[name] = layers
	return layers, nil
}

// settingsOfAll are the files that every image has in addition to Debian's. A
// link enables or disables a unit.
var settingsOfAll = map[string]string{
	"/etc/hostname":            "guest\n",
	"/etc/hosts":               "127.0.0.1 localhost\n::1 localhost\n",
	"/etc/resolv.conf":         "",
	"/etc/apt/sources.list":    "", // no package source is reachable
	"/var/lib/dbus/machine-id": "->/etc/machine-id",
	// There is no router to wait for.
	"/etc/systemd/network/10-cloud-init-host0.network.d/router.conf": "[Network]\nIPv6AcceptRA=no\n",
	"/etc/cloud/cloud.cfg.d/90-machinetest.cfg":                      "datasource_list: [NoCloud]\nlocale: false\n",

	"/etc/systemd/system/multi-user.target.wants/systemd-networkd.service":                 "->/lib/systemd/system/systemd-networkd.service",
	"/etc/systemd/system/network-online.target.wants/systemd-networkd-wait-online.service": "->/lib/systemd/system/systemd-networkd-wait-online.service",
	"/etc/systemd/system/apt-daily.timer":                                                  "->/dev/null",
	"/etc/systemd/system/apt-daily-upgrade.timer":                                          "->/dev/null",
	"/etc/systemd/system/e2scrub_all.timer":                                                "->/dev/null",
	"/etc/systemd/system/fstrim.timer":                                                     "->/dev/null",
}
