// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import "math/rand/v2"

// random generates values that cannot be compressed.
type random struct{ *rand.ChaCha8 }

func newRandom() random { return random{rand.NewChaCha8([32]byte{})} }

func (r random) text(n int) string {
	b := make([]byte, n)
	_, _ = r.Read(b)
	return string(b)
}
