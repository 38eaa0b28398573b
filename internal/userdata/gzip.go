// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"bytes"
	"encoding/base64"

	"github.com/klauspost/compress/gzip"
)

// compressed returns the base64 of the gzip of a text, without a time.
//
// Other bytes would replace a machine. The gzip of Go's own library changes with the version
// of Go, so it is one whose version go.mod pins: a test has the bytes. A version of it that
// writes others belongs to a new format.
func compressed(text string) (string, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), err
}
