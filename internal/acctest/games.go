// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// Game is a sequence of edits, faults and commands that is played on a simulated and on a
// real etcd, with what came of it. Package simulated says what the lines mean.
type Game struct {
	// Name has no comma: it is in the paths of a real game, of which etcd reads lists.
	Name  string
	Seed  uint64 // of the order of events in the simulated world
	Lines []GameLine
}

// GameLine is a line of a [Game].
type GameLine struct {
	Text string
	// Outcome is that of a command, see [GameOutcome]. It is empty for other lines.
	Outcome string
}

// GameOutcome is what is recorded of a command: the summaries of its errors, each once,
// because which resource reports what follows from two depends on their order, and the
// members after it, with learners in brackets and a + at those that were not there before.
func GameOutcome(errors []string, before, after []*etcdserverpb.Member) string {
	var b strings.Builder
	slices.Sort(errors)
	for _, summary := range slices.Compact(errors) {
		b.WriteString("  error: " + summary + "\n")
	}
	var names []string
	for _, m := range after {
		name := cmp.Or(m.Name, "?")
		if !slices.ContainsFunc(before, func(o *etcdserverpb.Member) bool { return o.ID == m.ID }) {
			name = "+" + name
		}
		if m.IsLearner {
			name = "(" + name + ")"
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.Trim(a, "(+)"), strings.Trim(b, "(+)")) })
	return b.String() + "  members: " + cmp.Or(strings.Join(names, " "), "none")
}

// String is the game as in a file.
func (g Game) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "game: %s\nseed: %d\n", g.Name, g.Seed)
	for _, l := range g.Lines {
		b.WriteString(l.Text + "\n")
		if l.Outcome != "" {
			b.WriteString(l.Outcome + "\n")
		}
	}
	return b.String()
}

// ReadGames reads the games of a file. They are separated by empty lines.
func ReadGames(tb testing.TB, path string) (games []Game) {
	tb.Helper()
	text := must.Read(tb, path)
	for stanza := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var g Game
		for line := range strings.Lines(stanza) {
			line = strings.TrimRight(line, "\n")
			switch last := len(g.Lines) - 1; {
			case strings.HasPrefix(line, "game: "):
				g.Name = strings.TrimPrefix(line, "game: ")
			case strings.HasPrefix(line, "seed: "):
				if _, err := fmt.Sscanf(line, "seed: %d", &g.Seed); err != nil {
					tb.Fatalf("%s: %q: %v", path, line, err)
				}
			case strings.HasPrefix(line, "  ") && last >= 0:
				g.Lines[last].Outcome = strings.TrimLeft(g.Lines[last].Outcome+"\n"+line, "\n")
			default:
				g.Lines = append(g.Lines, GameLine{Text: line})
			}
		}
		games = append(games, g)
	}
	return games
}
