// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// storm lets two runs of Terraform change one cluster at the same time, while a member
// dies and returns. It returns the record of everything that happened.
func storm(t *testing.T, seed uint64) (record []string) {
	simulate(t, seed, "a b c", func(w *world) {
		w.schedule.Latency = 20 * time.Millisecond
		random := rand.New(rand.NewPCG(seed, 1))
		for _, name := range []string{"d", "e", "f"} {
			w.boot(name)
		}
		dies := 20 + random.IntN(400)
		returns := dies + 1 + random.IntN(400)
		w.each = func(string) error {
			switch w.calls {
			case dies:
				w.members["b"].PowerOff()
			case returns:
				_ = w.members["b"].Start()
			}
			return nil
		}
		one := driver.New(w, w.provider("a b c"), members("d e")...)
		two := driver.New(w, w.provider("c b a"), members("f")...)
		both := func() {
			var wg sync.WaitGroup
			var first, second driver.Result
			wg.Go(func() { _, first = one.Up(w.Context(), w.start("one")) })
			wg.Go(func() { _, second = two.Up(w.Context(), w.start("two")) })
			wg.Wait()
			record = append(record, fmt.Sprint(first, second, w.list()))
		}
		both()
		one.Resources, two.Resources = members("d"), nil
		both()
		_ = w.members["b"].Start() // unless it has returned
		time.Sleep(10 * time.Second)
		both()
		if got := w.list(); got != "a b c d" {
			t.Errorf("seed %d: members %q", seed, got)
		}
		record = append(record, w.schedule.Log()...)
	})
	return record
}

const stormSeed = "ETCD_TEST_STORM_SEED"

// The record of all events of two concurrent runs is the same in another process, and
// on another number of processors.
func TestConcurrentRunsAreRepeatable(t *testing.T) {
	t.Parallel()
	seeds := 10
	if etcdtest.Full() {
		seeds = 200
	}
	for seed := range seeds {
		want := strings.Join(storm(t, uint64(seed)), "\n")
		for _, processors := range []string{"1", "8"} {
			got := again(t, seed, processors)
			if got != want {
				t.Errorf("seed %d with %s processors: %s", seed, processors, difference(got, want))
			}
		}
	}
}

// again returns the record of a storm in another process.
func again(t *testing.T, seed int, processors string) string {
	t.Helper()
	file := t.TempDir() + "/record"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStorm$")
	cmd.Env = append(os.Environ(), stormSeed+"="+strconv.Itoa(seed), "ETCD_TEST_STORM_FILE="+file, "GOMAXPROCS="+processors)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	record, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(record)
}

// TestStorm is what [again] runs.
func TestStorm(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(stormSeed), 10, 64)
	if err != nil {
		t.Skip("it is a part of TestConcurrentRunsAreRepeatable")
	}
	record := strings.Join(storm(t, seed), "\n")
	if err := os.WriteFile(os.Getenv("ETCD_TEST_STORM_FILE"), []byte(record), 0o600); err != nil {
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
