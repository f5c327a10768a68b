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
	Cluster   any              `json:"cluster,omitempty"`
	Quotas    []quota          `json:"quotas"`
	Jobs      []map[string]any `json:"jobs"`
}

func (w *world) scenario() scenario {
	s := scenario{Format: "allot-scenario/1", Quotas: w.quotas, Jobs: []map[string]any{}}
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
	if len(w.nodes) > 0 {
		s.Cluster = w.cluster()
	}
	for i := range w.jobs {
		s.Jobs = append(s.Jobs, w.scenarioJob(&w.jobs[i]))
	}
	return s
}

func (w *world) cluster() map[string]any {
	var nodes []map[string]any
	for _, d := range w.nodes {
		n := map[string]any{"name": d.name, "pool": d.flavor, "gpus": d.has["gpu"], "cpu_milli": 1000 * d.has["cpu"]}
		labels := map[string]string{}
		for i, l := range w.levels {
			labels[l] = d.domains[i]
		}
		if len(labels) > 0 {
			n["labels"] = labels
		}
		nodes = append(nodes, n)
	}
	c := map[string]any{"nodes": nodes}
	if len(w.levels) > 0 {
		c["topology"] = w.levels
	}
	return c
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
	var nodes []string
	for i := range j.sets {
		sets = append(sets, w.scenarioSet(&j.sets[i]))
		for _, n := range j.sets[i].on {
			nodes = append(nodes, w.nodes[n].name)
		}
	}
	if nodes != nil {
		o["nodes"] = nodes
	}
	if j.together != nil {
		o["topology"] = j.together
	}
	if len(sets) > 1 || j.sets[0].slice != nil {
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
	if s.topology != nil && *s.topology != (topologyRequest{}) {
		o["topology"] = s.topology
	}
	if s.slice != nil {
		o["slice"] = s.slice
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
	topology := flag.Bool("topology", false, "with nodes, and a topology that workloads ask for")
	flag.Parse()
	lines := make([]string, *worlds)
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range next {
				w := makeWorld(*seed+uint64(i), i%2 == 1, *sets, *topology)
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
