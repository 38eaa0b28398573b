// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

// NoteBootstrapReplaced notes that the plan replaces a bootstrap of which it is
// known that it never formed a cluster.
func (b *Backend) NoteBootstrapReplaced(token string) {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.unformed == nil {
		b.clusters.unformed = map[string]bool{}
	}
	b.clusters.unformed[token] = true
}

// BootstrapReplaced reports whether [Backend.NoteBootstrapReplaced] was told of
// that token.
func (b *Backend) BootstrapReplaced(token string) bool {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	return b.clusters.unformed[token]
}
