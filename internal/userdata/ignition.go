// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
)

// ignitionVersion is the version of the specification in use. Ignition 2.7
// (2020) and later accept it.
const ignitionVersion = "3.1.0"

// dataURL unescapes what needs no escape in a data URL, and is frequent in an environment.
var dataURL = strings.NewReplacer("%2F", "/", "%2C", ",")

// Ignition returns an Ignition configuration for Fedora CoreOS and Flatcar. Ignition reads
// no gzip from a cloud (coreos/ignition#1096), so the compressed one is inside another,
// which it replaces.
func Ignition(n Node, o Options) (string, error) {
	m, err := newMachine(n, o, "/opt/bin") // Flatcar's /usr is read-only
	if err != nil {
		return "", err
	}
	var entries []any
	for _, f := range m.files {
		mode, _ := strconv.ParseInt(f.mode, 8, 32) // all modes are constants
		contents := map[string]any{"source": "data:," + dataURL.Replace(url.PathEscape(f.content))}
		if f.base64Gzip {
			contents = map[string]any{"compression": "gzip", "source": "data:;base64," + f.content}
		}
		entry := map[string]any{"path": f.path, "mode": mode, "overwrite": true, "contents": contents}
		if f.owned {
			entry["user"], entry["group"] = map[string]any{"name": user}, map[string]any{"name": user}
		}
		entries = append(entries, entry)
	}
	storage := map[string]any{"files": entries}
	units := []any{map[string]any{"name": unitName, "enabled": true, "contents": m.unit}}
	if d := o.dataDisk; d != nil {
		storage["filesystems"] = []any{map[string]any{"device": d.device, "format": d.filesystem, "path": o.dataDir, "wipeFilesystem": false}}
		units = append(units, map[string]any{"name": mountUnit(o.dataDir), "enabled": true, "contents": "[Unit]\nBefore=local-fs.target\n\n[Mount]\nWhat=" + d.device +
			"\nWhere=" + o.dataDir + "\nType=" + d.filesystem + "\n\n[Install]\nRequiredBy=local-fs.target\n"})
	}
	ignition := map[string]any{"version": ignitionVersion}
	if len(o.extra) > 0 {
		ignition["config"] = map[string]any{"merge": []any{map[string]any{
			"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(inline(o.extra))),
		}}}
	}
	text := inline(map[string]any{
		"ignition": ignition,
		"passwd":   map[string]any{"users": []any{map[string]any{"name": user, "system": true, "shell": "/usr/sbin/nologin"}}},
		"storage":  storage,
		"systemd":  map[string]any{"units": units},
	}) + "\n"
	if o.compress {
		data, err := compressed(text)
		if err != nil {
			return "", err
		}
		text = inline(map[string]any{"ignition": map[string]any{"version": ignitionVersion, "config": map[string]any{
			"replace": map[string]any{"compression": "gzip", "source": "data:;base64," + data},
		}}}) + "\n"
	}
	return text, nil
}

// mountUnit returns the name of the unit that mounts a directory
// (systemd-escape --path).
func mountUnit(dir string) string {
	var name []byte
	for i := 1; i < len(dir); i++ {
		switch c := dir[i]; {
		case c == '/':
			name = append(name, '-')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == ':', c == '.' && i > 1:
			name = append(name, c)
		default:
			name = append(name, `\x`+strconv.FormatInt(int64(c), 16)...)
		}
	}
	return string(name) + ".mount"
}
