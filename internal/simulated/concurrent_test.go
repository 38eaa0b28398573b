// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const gameSeed = "ETCD_TEST_GAME_SEED"

// The record of all events of a game is the same in another process, and on another
// number of processors.
func TestGamesAreRepeatable(t *testing.T) {
	t.Parallel()
	seeds := 4
	if etcdtest.Full() {
		seeds = 100
	}
	for seed := range seeds {
		log, _ := search(t, uint64(seed))
		want := strings.Join(log, "\n")
		for _, processors := range []string{"1", "8"} {
			got := again(t, seed, processors)
			if got != want {
				t.Errorf("seed %d with %s processors: %s", seed, processors, difference(got, want))
			}
		}
	}
}

// again returns the record of a game in another process.
func again(t *testing.T, seed int, processors string) string {
	t.Helper()
	file := t.TempDir() + "/record"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGame$")
	cmd.Env = append(os.Environ(), gameSeed+"="+strconv.Itoa(seed), "ETCD_TEST_GAME_FILE="+file, "GOMAXPROCS="+processors)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	record, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(record)
}

// TestGame is what [again] runs.
func TestGame(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(gameSeed), 10, 64)
	if err != nil {
		t.Skip("it is a part of TestGamesAreRepeatable")
	}
	log, _ := search(t, seed)
	if err := os.WriteFile(os.Getenv("ETCD_TEST_GAME_FILE"), []byte(strings.Join(log, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d of %d\n%s\nwant\n%s", i, len(w), g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
