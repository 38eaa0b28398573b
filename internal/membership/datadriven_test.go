// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestDecisions runs the stanzas of testdata/*.txt. "cluster" sets the scene,
// with one member on each line, named by a letter whose ID is its place in the
// alphabet. What is not given is healthy: a voter that answers, names a as the
// leader in term 2, and has applied 1000 of 1000 entries. Each of the other
// commands makes one decision and prints it.
func TestDecisions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s, before Snapshot
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "cluster":
				before, s = s, scene(t, td)
				return describe(s)
			case "add":
				r := AddRequest{Name: "n", PeerURLs: []string{"http://10.0.0.99:2380"}}
				argString(t, td, "name", &r.Name)
				argURLs(td, &r.PeerURLs)
				td.MaybeScanArgs(t, "ask-server", &r.AskServer)
				return show(DecideAdd(s, r))
			case "promote":
				id, before := idOf(argument(t, td, "id")), Answer{}
				if td.HasArg("before") {
					before = s.Answer(id)
					before.Applied -= uint64(max(1, argInt(t, td, "moved")))
					if td.HasArg("stood") {
						before.Applied = s.Answer(id).Applied
					}
					before.Term -= uint64(argInt(t, td, "terms-ago"))
				}
				return show(DecidePromote(s, id, before))
			case "remove":
				r := RemoveRequest{ID: idOf(argument(t, td, "id")), Replacement: td.HasArg("replacement")}
				argString(t, td, "name", &r.Name)
				argURLs(td, &r.PeerURLs)
				r.Leaving = idList(td, "leaving")
				return show(DecideRemove(s, r))
			case "update":
				r := Member{ID: idOf(argument(t, td, "id")), PeerURLs: []string{"http://10.0.0.99:2380"}}
				argString(t, td, "name", &r.Name)
				argURLs(td, &r.PeerURLs)
				return show(DecideUpdate(s, r))
			case "advise": // before: the cluster of the stanza before was seen earlier
				var earlier Snapshot
				if td.HasArg("before") {
					earlier = before
				}
				return advised(s, earlier, connections(td))
			case "loss":
				return [...]string{Present: "present", Unreachable: "unreachable", Vanished: "vanished", Unsettled: "unsettled"}[JudgeLoss(s, idOf(argument(t, td, "id")), connections(td))]
			case "failover":
				f := JudgeFailover(s, connections(td))
				return fmt.Sprintf("lost=%s first=%t unsettled=%t", letters(f.Lost), f.First, f.Unsettled)
			case "survivor":
				id, left := s.Survivor()
				if left == (id == 0) {
					t.Errorf("%s: %s, %t", td.Pos, id, left)
				}
				return map[bool]string{true: letter(id), false: "none"}[left]
			case "save": // before: as for advise
				earlier := s
				if td.HasArg("before") {
					earlier = before
				}
				from := MemberID(0)
				for _, id := range idList(td, "from") { // what the user asks for
					from = id
				}
				d := DecideSave(s, earlier, from, nil)
				return show(d) + " of " + letter(d.Facts.Subject)
			case "identify":
				return identified(td, s)
			case "versions":
				return versions(t, td, s)
			case "initial-cluster-of-members":
				return formatted(t, s.Members)
			case "plan":
				return planNodes(td)
			case "judge":
				return nodeStatus(t, td)
			case "becomes":
				return becomes(t, td)
			case "upgrade":
				return upgraded(td)
			case "formed":
				return formed(t, td)
			case "check-name":
				var out []string
				for _, m := range s.Members {
					is := "ok"
					if got, ok := CheckName(m, argument(t, td, "want")); !ok {
						is = identity(got)
					}
					out = append(out, letter(m.ID)+": "+is)
				}
				return strings.Join(out, "\n")
			default:
				if f := texts[td.Cmd]; f != nil {
					return eachLine(t, td, f)
				}
				t.Fatalf("%s: unknown command %q", td.Pos, td.Cmd)
				return ""
			}
		})
	})
}

func idOf(letter string) MemberID { return MemberID(letter[0]-'a') + 1 }

func letter(id MemberID) string { return string(rune('a' + id - 1)) }

func letters(ids []MemberID) string {
	var out []string
	for _, id := range ids {
		out = append(out, letter(id))
	}
	return strings.Join(out, ",")
}

func scene(t *testing.T, td *datadriven.TestData) Snapshot {
	s := Snapshot{ClusterID: here, Linearizable: !td.HasArg("moved"), Answers: map[MemberID]Answer{}}
	if td.HasArg("mixed") {
		s.Others = map[ClusterID][]string{elsewhere: {"http://10.0.0.2:2379"}}
	}
	for _, line := range strings.Split(strings.TrimSpace(td.Input), "\n") {
		words := strings.Fields(line)
		if i := slices.Index(words, "other-list"); i > 0 { // this member returns another list
			words = slices.Delete(words, i, i+1)
			s.Dissent = append(s.Dissent, idOf(words[0]))
		}
		m, a := sceneMember(t, words)
		s.Members = append(s.Members, m)
		s.Answers[m.ID] = a
	}
	return s
}

// sceneMember parses a line such as "b learner silent applied=7".
func sceneMember(t *testing.T, words []string) (Member, Answer) {
	id := idOf(words[0])
	m := Member{
		ID: id, Name: words[0],
		PeerURLs:   []string{fmt.Sprintf("http://10.0.0.%d:2380", id)},
		ClientURLs: []string{fmt.Sprintf("http://10.0.0.%d:2379", id)},
	}
	a := Answer{
		State: Answered, Endpoint: m.ClientURLs[0], MemberID: id, ClusterID: here,
		Leader: 1, Term: 2, Index: 1000, Applied: 1000, ReadOK: true, Version: "3.6.16",
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		n, _ := strconv.ParseUint(value, 10, 64)
		switch key {
		case "learner":
			m.Learner, a.Learner, a.ReadOK = true, true, false
		case "silent":
			a = Answer{State: Silent, Endpoint: a.Endpoint, Detail: "connection refused"}
		case "unprobed":
			a = Answer{}
		case "unstarted":
			m.Name, m.ClientURLs, a = "", nil, Answer{}
		case "never-ran": // an initial member has a name before it runs
			m.ClientURLs, a = nil, Answer{}
		case "wrong-cluster":
			a = Answer{State: WrongCluster, Endpoint: a.Endpoint, ClusterID: elsewhere}
		case "answered-by":
			a.MemberID = idOf(value)
		case "no-read":
			a.ReadOK = false
		case "calls-itself-voter":
			a.Learner = false
		case "calls-itself-learner":
			a.Learner = true
		case "leader":
			if a.Leader = 0; value != "none" {
				a.Leader = idOf(value)
			}
		case "term":
			a.Term = n
		case "index":
			a.Index, a.Applied = n, n
		case "applied":
			a.Applied = n
		case "version":
			a.Version = value
		case "downgrade":
			a.Downgrade = value
		case "no-space": // the member raised the alarm itself
			a.Alarms = append(a.Alarms, Alarm{Member: id, Kind: AlarmNoSpace})
		case "corrupt": // another member raised it, or a removed one
			a.Alarms = append(a.Alarms, Alarm{Member: idOf(value), Kind: AlarmCorrupt})
		case "url":
			m.PeerURLs = strings.Split(value, ",")
		case "name":
			m.Name = value
		default:
			t.Fatalf("unknown word %q", w)
		}
	}
	return m, a
}

func describe(s Snapshot) string {
	var alive []MemberID
	for _, m := range s.Members {
		if s.Alive(m.ID) {
			alive = append(alive, m.ID)
		}
	}
	leader := "none"
	if l, term, ok := s.MajorityLeader(); ok {
		leader = fmt.Sprintf("%s term=%d", letter(l), term)
	}
	return fmt.Sprintf("voters=%s learners=%s alive=%s quorum=%d leader=%s",
		letters(IDs(s.Voters())), letters(IDs(s.Learners())), letters(alive), s.Quorum(), leader)
}

func show(d Decision) string {
	out := [...]string{Refuse: "refuse", Wait: "wait", Go: "go", Done: "done"}[d.Verdict]
	if d.Code != "" {
		out += ": " + string(d.Code) + showFacts(d.Facts)
	}
	if d.MoveLeaderTo != 0 {
		out += " move-leader-to=" + letter(d.MoveLeaderTo)
	}
	for _, w := range d.Warnings {
		out += "\nwarning: " + string(w.Code) + showFacts(w.Facts)
	}
	return out
}

// connections are those of one member to the others, nil if they are not known.
func connections(td *datadriven.TestData) (seen map[MemberID]bool) {
	for _, key := range []string{"connected", "cut-off"} {
		for _, id := range idList(td, key) {
			if seen == nil {
				seen = map[MemberID]bool{}
			}
			seen[id] = key == "connected"
		}
	}
	return seen
}

// versions shows what is wrong with a step of the nodes a, b, … from versions to others.
// When the plan is applied, the first member is removed already. A step that passed the
// plan must not be refused then: that is too late.
func versions(t *testing.T, td *datadriven.TestData, s Snapshot) string {
	var steps []VersionStep
	from := append(list(td, "from"), "") // the last one may be new
	for i, v := range list(td, "to") {
		steps = append(steps, VersionStep{Name: letter(MemberID(i + 1)), From: from[i], To: v})
	}
	step := checkVersions(s, steps)
	s.Members = s.Members[1:]
	if late := checkVersions(s, steps); late.Code.Refused() && !step.Code.Refused() {
		t.Errorf("%s: refused when it is applied: %+v", td.Pos, late)
	}
	if step.Code == UpgradeFine {
		return fmt.Sprint("fine", step.Name)
	}
	return fmt.Sprintf("%s: %s members=%s between=%s", upgradeCodes[step.Code], step.Name, letters(step.Members), step.Between)
}

// upgradeCodes are the words for [UpgradeCode].
var upgradeCodes = [...]string{UpgradeFine: "fine", UpgradeSkips: "skips", UpgradeSkipsBack: "skips back", UpgradeBack: "back", UpgradeDuringDowngrade: "during a downgrade", UpgradeFromTooOld: "from a release that is too old", UpgradeFromOlder: "from an older release", UpgradeLeavesV2: "leaves the v2 API"}

// ownerships are the records of the arguments of identify, for d.
var ownerships = map[string]Ownership{
	"ours":    {Recorded: true, ID: 4, PeerURLs: []string{"http://10.0.0.4:2380"}},
	"moved":   {Recorded: true, ID: 4, PeerURLs: []string{"http://10.0.0.9:2380"}},
	"intent":  {Recorded: true, PeerURLs: []string{"http://10.0.0.4:2380"}},
	"another": {Recorded: true, ID: 5, PeerURLs: []string{"http://10.0.0.4:2380"}},
	"removed": {Recorded: true, ID: 4, PeerURLs: []string{"http://10.0.0.4:2380"}, Removed: true},
}

// identified shows whether d is in the list, and ours.
func identified(td *datadriven.TestData, s Snapshot) string {
	r := IdentifyRequest{Name: "d", PeerURLs: []string{"http://10.0.0.4:2380"}}
	if initial := idList(td, "formed-by"); len(initial) > 0 {
		s.ClusterID = ComputeClusterID(initial)
	}
	r.Owned = idList(td, "owned")
	for _, n := range list(td, "initial") { // how many of them, 0 if that is not known
		r.Initial, r.InitialMembers = true, int(n[0]-'0')
	}
	for _, n := range list(td, "later") {
		r.InitialMembers = int(n[0] - '0')
	}
	for _, o := range list(td, "record") {
		r.Ownership = ownerships[o]
	}
	for _, o := range list(td, "abandoned") {
		r.Abandoned = append(r.Abandoned, ownerships[o])
	}
	return identity(Identify(s, r))
}

func identity(got Identity) string {
	step := [...]string{StepRefuse: "refuse", StepAdd: "add", StepAdopt: "adopt", StepRemove: "remove", StepTakeOver: "take over"}[got.Step]
	if got.ID != 0 {
		return step + " " + letter(got.ID)
	}
	return strings.TrimSuffix(step+": "+string(got.Code)+showFacts(got.Facts), ": ")
}

// advised shows what an observer is told. seen are the connections of one member.
func advised(s, before Snapshot, seen map[MemberID]bool) string {
	out := fmt.Sprintf("healthy=%t tolerance=%d", s.Healthy(), s.FailureTolerance())
	if w := s.Witness(); w != 0 {
		out += " witness=" + letter(w)
	}
	for _, w := range s.Advise(before, seen, true, time.Time{}) {
		out += "\nwarning: " + string(w.Code)
		if w.Facts.Subject != 0 {
			out += " subject=" + letter(w.Facts.Subject)
		}
		out += showFacts(w.Facts)
	}
	return out
}

func showFacts(f Facts) (out string) {
	if len(f.Others) > 0 {
		out += " others=" + letters(f.Others)
	}
	if f.Quorum > 0 {
		out += fmt.Sprintf(" voters=%d quorum=%d alive=%d", f.Voters, f.Quorum, f.Alive)
	}
	if f.Detail != "" {
		out += fmt.Sprintf(" detail=%q", f.Detail)
	}
	return out
}

func argument(t *testing.T, td *datadriven.TestData, key string) (value string) {
	td.ScanArgs(t, key, &value)
	return value
}

func argString(t *testing.T, td *datadriven.TestData, key string, to *string) {
	if td.HasArg(key) {
		*to = argument(t, td, key)
	}
}

func argInt(t *testing.T, td *datadriven.TestData, key string) (n int) {
	td.MaybeScanArgs(t, key, &n)
	return n
}

func argURLs(td *datadriven.TestData, to *[]string) {
	if td.HasArg("urls") {
		*to = list(td, "urls")
	}
}

func idList(td *datadriven.TestData, key string) (ids []MemberID) {
	for _, l := range list(td, key) {
		ids = append(ids, idOf(l))
	}
	return ids
}

func list(td *datadriven.TestData, key string) []string {
	for _, arg := range td.CmdArgs {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}
