// SPDX-License-Identifier: BSL-1.0

// Makes small worlds at random and writes, for each, a scenario for `allot decide` and what Kueue decides.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
)

type line struct {
	Name     string     `json:"name"`
	Scenario scenario   `json:"scenario"`
	Expect   []decision `json:"expect"`
}
type scenario struct {
	Format    string           `json:"format"`
	Resources []string         `json:"resources"`
	Policy    any              `json:"policy"`
	Quotas    []quota          `json:"quotas"`
	Jobs      []map[string]any `json:"jobs"`
}

func (w *world) scenario() scenario {
	s := scenario{Format: "allot-scenario/1", Quotas: w.quotas}
	preset := "kueue"
	if w.fair {
		preset = "kueue_fair"
	}
	s.Policy = map[string]any{"preset": preset, "preserve_scan_progress": false, "recompute_overlaps": false}
	for _, g := range w.groups {
		for _, f := range g.flavors {
			for _, r := range g.resources {
				s.Resources = append(s.Resources, f.name+"/"+r)
			}
		}
	}
	for i := range w.jobs {
		s.Jobs = append(s.Jobs, w.scenarioJob(&w.jobs[i]))
	}
	return s
}

func (w *world) scenarioJob(j *job) map[string]any {
	o := map[string]any{"id": j.id, "quota": j.quota, "submit_s": j.submit}
	if j.priority != 0 {
		o["priority"] = j.priority
	}
	if j.state != "" {
		o["state"], o["start_s"] = j.state, j.start
	}
	var sets []map[string]any
	for i := range j.sets {
		sets = append(sets, w.scenarioSet(&j.sets[i]))
	}
	if len(sets) > 1 {
		o["pod_sets"] = sets
		return o
	}
	delete(sets[0], "name")
	for key, value := range sets[0] {
		o[key] = value
	}
	return o
}

func (w *world) scenarioSet(s *podSet) map[string]any {
	o := map[string]any{"name": s.name}
	request := map[string]int{}
	o["request"] = request
	var groups []map[string]any
	for g, group := range w.groups {
		var asked []string
		for _, r := range group.resources {
			if n, ok := s.request[r]; ok {
				asked = append(asked, r)
				if s.runsOn != nil {
					request[s.runsOn[g]+"/"+r] = n
				} else {
					request[r] = n
				}
			}
		}
		if len(asked) > 0 {
			groups = append(groups, map[string]any{"resources": asked, "flavors": s.accepts[g]})
		}
	}
	if s.runsOn == nil {
		o["flavors"] = groups
	}
	if s.pods > 1 {
		o["pods"] = s.pods
	}
	if s.minPods < s.pods {
		o["min_pods"] = s.minPods
	}
	return o
}

// What it decides may depend on the random order of its maps.
func (w *world) outcomes(runs int) []decision {
	var all []decision
	var seen []string
	for range runs {
		d := w.decide()
		text, err := json.Marshal(d)
		must(err)
		if !slices.Contains(seen, string(text)) {
			seen = append(seen, string(text))
			all = append(all, d)
		}
	}
	return all
}

func main() {
	worlds := flag.Int("worlds", 2000, "how many; every second one is decided by fair sharing")
	seed := flag.Uint64("seed", 1, "of the first world; the next has the next")
	runs := flag.Int("runs", 4, "how often each is decided")
	sets := flag.Int("sets", 4, "the most pod sets of a workload")
	flag.Parse()
	lines := make([]string, *worlds)
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range next {
				w := makeWorld(*seed+uint64(i), i%2 == 1, *sets)
				l := line{fmt.Sprintf("w%05d", *seed+uint64(i)), w.scenario(), w.outcomes(*runs)}
				text, err := json.Marshal(l)
				must(err)
				lines[i] = string(text)
			}
		}()
	}
	for i := range *worlds {
		next <- i
	}
	close(next)
	all.Wait()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
}
