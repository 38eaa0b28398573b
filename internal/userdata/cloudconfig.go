// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CloudConfig returns user data for cloud-init on Debian and Ubuntu. Every
// value is JSON, which is valid YAML, so no value can end its line or begin a
// key. Compressed, it is the base64 of its gzip, as the clouds take it.
func CloudConfig(n Node, o Options) (string, error) {
	m, err := newMachine(n, o, "/usr/local/bin")
	if err != nil {
		return "", err
	}
	var writes []any
	for _, f := range m.files {
		w := map[string]any{"path": f.path, "permissions": f.mode, "content": f.content}
		if f.base64Gzip {
			w["encoding"] = "gz+b64"
		}
		if f.owned {
			// cloud-init creates the user after the files, except the deferred ones.
			w["owner"], w["defer"] = user+":"+user, true
		}
		writes = append(writes, w)
	}
	doc := map[string]any{
		"users": []any{"default", map[string]any{"name": user, "system": true, "shell": "/usr/sbin/nologin"}},
		"write_files": append(writes, map[string]any{
			"path": "/etc/systemd/system/" + unitName, "content": m.unit,
		}),
		"runcmd": []any{
			[]string{"systemctl", "daemon-reload"},
			[]string{"systemctl", "enable", "--now", "--no-block", unitName},
		},
	}
	if o.downloads() {
		doc["package_update"], doc["packages"] = true, []any{"ca-certificates", "curl"}
	}
	if d := o.dataDisk; d != nil {
		doc["fs_setup"] = []any{map[string]any{"device": d.device, "filesystem": d.filesystem, "overwrite": false}}
		doc["mounts"] = []any{[]string{d.device, o.dataDir, d.filesystem, "defaults,nofail", "0", "2"}}
	}
	if err := merge(doc, o.extra); err != nil {
		return "", err
	}
	text := "#cloud-config\n" + lines(doc)
	if o.compress {
		return compressed(text)
	}
	return text, nil
}

// merge adds the keys of extra to doc. It appends lists to lists, and adds
// other keys only if doc does not have them.
func merge(doc, extra map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		ours, taken := doc[key]
		if !taken {
			doc[key] = extra[key]
			continue
		}
		mine, ok := ours.([]any)
		theirs, isList := extra[key].([]any)
		if !ok || !isList {
			return &OptionError{Path: "extra." + key, Problem: Taken}
		}
		doc[key] = append(mine, theirs...)
	}
	return nil
}

// lines encodes a document with one line for each key and for each element of a
// list.
func lines(doc map[string]any) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		list, _ := doc[key].([]any)
		if len(list) == 0 { // no lines would be null
			b.WriteString(inline(key) + ": " + inline(doc[key]) + "\n")
			continue
		}
		b.WriteString(inline(key) + ":\n")
		for _, element := range list {
			b.WriteString("- " + inline(element) + "\n")
		}
	}
	return b.String()
}

// inline returns a value as JSON on one line. It escapes characters that YAML
// does not accept in a quoted text.
func inline(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // maps, lists, texts, numbers and booleans always encode
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
