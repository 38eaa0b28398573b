// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !etcdrecord

package connection

import "crypto/tls"

func (wire) record(string) {}

func (w wire) recordCertificate(config *tls.Config) *tls.Config { return config }
