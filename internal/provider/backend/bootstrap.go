// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import "sync"

// replacedBootstraps are the tokens of bootstraps that the plan that is being
// made replaces because they are known to have formed no cluster.
type replacedBootstraps struct{ tokens sync.Map }

// NoteBootstrapReplaced notes that the plan that is being made replaces the
// bootstrap with that token, because it is known to have formed no cluster.
func (b *Backend) NoteBootstrapReplaced(token string) { b.replaced.tokens.Store(token, true) }

// BootstrapReplaced reports whether [Backend.NoteBootstrapReplaced] was called
// with that token.
func (b *Backend) BootstrapReplaced(token string) bool {
	_, noted := b.replaced.tokens.Load(token)
	return noted
}
