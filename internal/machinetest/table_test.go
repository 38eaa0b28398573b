// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// rows are the rows of the table, in the order of measurement.
type rows []string

var table rows

// write writes the table to the log, and to the file that tableVariable names.
func (r *rows) write(t *testing.T) {
	text := "| scenario | seconds | longest gap between acknowledged writes |\n|---|--:|--:|\n" + strings.Join(*r, "")
	t.Log("\n" + text)
	if path := os.Getenv(tableVariable); path != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// scenario measures the time of do and records it with the gap that do returns.
func (c *cluster) scenario(name string, do func() (gap string)) {
	c.t.Helper()
	begin := time.Now()
	gap := do()
	row := fmt.Sprintf("| %s | %.0f | %s |\n", name, time.Since(begin).Seconds(), gap)
	table = append(table, row)
	c.t.Log(row)
}

// underWriter is [cluster.scenario] while a writer writes through every voter.
// The test fails if an acknowledged write is lost.
func (c *cluster) underWriter(name string, do func()) {
	c.t.Helper()
	writer := etcdtest.NewWriter(c.t, c.clientConfig(), etcdtest.WriterOptions{Interval: 25 * time.Millisecond})
	c.scenario(name, func() string {
		do()
		writer.Stop()
		return fmt.Sprintf("%.2f s", writer.LongestGap().Duration().Seconds())
	})
	lost, err := writer.Lost(etcdtest.WaitContext(c.t), c.client())
	if err != nil {
		c.t.Fatal(err)
	}
	if len(lost) > 0 {
		c.t.Errorf("%s: %d acknowledged writes are lost, such as %+v", name, len(lost), lost[0])
	}
}
