// SPDX-License-Identifier: BSL-1.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A small world: flavors, cohorts and ClusterQueues, workloads that run and workloads that wait.
type world struct {
	fair   bool
	groups []group
	quotas []quota
	jobs   []job
	// With a topology: its levels above that of the nodes, the outermost first.
	levels []string
	nodes  []node
}
type group struct {
	resources []string
	flavors   []flavor
}
type flavor struct {
	name    string
	tainted bool
}

// A quota as a scenario says it.
type quota struct {
	Name         string            `json:"name"`
	Parent       string            `json:"parent,omitempty"`
	Nominal      map[string]int    `json:"nominal,omitempty"`
	Lend         map[string]int    `json:"lend,omitempty"`
	Borrow       map[string]int    `json:"borrow,omitempty"`
	Weight       *int              `json:"weight,omitempty"`
	Head         string            `json:"head,omitempty"`
	Preempt      *preempt          `json:"preempt,omitempty"`
	FlavorChoice map[string]string `json:"flavor_choice,omitempty"`

	isCohort bool
	// By group, in the order in which they are tried.
	flavors [][]string
}
type preempt struct {
	Within  string         `json:"within"`
	Reclaim string         `json:"reclaim"`
	Borrow  *preemptBorrow `json:"borrow,omitempty"`
}
type preemptBorrow struct {
	Policy      string `json:"policy"`
	MaxPriority *int   `json:"max_priority,omitempty"`
}
type job struct {
	id, quota, state        string
	priority, submit, start int
	sets                    []podSet
	// Of its two sets, a leader and its workers.
	together *topologyRequest
}
type podSet struct {
	name          string
	request       map[string]int
	pods, minPods int
	// By group: the flavors that it accepts, in the order of its queue; and the one on which it runs.
	accepts             [][]string
	runsOn              []string
	byTaint, bySelector bool
	topology            *topologyRequest
	slice               *slice
	// The node of each pod that runs.
	on []int
}

func (w *world) groupOf(resource string) int {
	return slices.IndexFunc(w.groups, func(g group) bool { return slices.Contains(g.resources, resource) })
}

func (w *world) find(id string) *job {
	return &w.jobs[slices.IndexFunc(w.jobs, func(j job) bool { return j.id == id })]
}

type maker struct {
	*rand.Rand
	w       *world
	mostSet int
	// By node: what is free of each resource.
	free []map[string]int
}

func (m *maker) percent(p int) bool   { return m.IntN(100) < p }
func (m *maker) between(a, b int) int { return a + m.IntN(b-a+1) }
func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }
func (m *maker) some(of []string) []string {
	for {
		var all []string
		for _, x := range of {
			if m.percent(65) {
				all = append(all, x)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
}

func makeWorld(seed uint64, fair bool, mostSets int, topology bool) *world {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 47)), w: &world{fair: fair}, mostSet: mostSets}
	if topology {
		m.makeFlavors(placedShapes)
		m.makeTopology()
	} else {
		m.makeFlavors(shapes)
	}
	m.makeQuotas()
	m.makeRunning()
	m.makePending()
	return m.w
}

// The resources and the flavors of each group.
type shape struct{ resources, flavors [][]string }

var shapes = []shape{
	{[][]string{{"acc"}}, [][]string{{"fa", "fb", "fc"}}},
	{[][]string{{"acc", "mem"}}, [][]string{{"fa", "fb"}}},
	{[][]string{{"acc", "mem"}}, [][]string{{"fa", "fb", "fc"}}},
	{[][]string{{"acc"}, {"net"}}, [][]string{{"fa", "fb"}, {"ga", "gb"}}},
	{[][]string{{"acc", "mem"}, {"net"}}, [][]string{{"fa", "fb"}, {"ga", "gb"}}},
}

func (m *maker) makeFlavors(shapes []shape) {
	shape := pick(m, shapes...)
	for g := range shape.resources {
		made := group{resources: shape.resources[g]}
		for _, f := range shape.flavors[g] {
			made.flavors = append(made.flavors, flavor{f, m.percent(40)})
		}
		m.w.groups = append(m.w.groups, made)
	}
}

func (m *maker) amounts(q *quota, most int) {
	q.Nominal = map[string]int{}
	for g, names := range q.flavors {
		for _, f := range names {
			for _, r := range m.w.groups[g].resources {
				key := f + "/" + r
				q.Nominal[key] = m.scaled(f, r, max(0, m.between(-2, most)))
				if q.Parent == "" {
					continue
				}
				if m.percent(25) {
					q.Borrow = put(q.Borrow, key, m.scaled(f, r, m.between(0, 6)))
				}
				if m.percent(20) {
					q.Lend = put(q.Lend, key, m.between(0, q.Nominal[key]))
				}
			}
		}
	}
}

func put(to map[string]int, key string, n int) map[string]int {
	if to == nil {
		to = map[string]int{}
	}
	to[key] = n
	return to
}

func (m *maker) makeQuotas() {
	cohorts := pick(m, 0, 1, 1, 1, 2, 3)
	if m.w.fair {
		// Kueue 0.17 crashes where a ClusterQueue without a cohort preempts by fair sharing.
		cohorts = max(1, cohorts)
	}
	for i := range cohorts {
		q := quota{Name: fmt.Sprintf("h%d", i), isCohort: true, flavors: make([][]string, len(m.w.groups))}
		if i > 0 {
			q.Parent = fmt.Sprintf("h%d", m.IntN(i))
		}
		if m.percent(35) {
			for g, group := range m.w.groups {
				for _, f := range group.flavors {
					q.flavors[g] = append(q.flavors[g], f.name)
				}
			}
			m.amounts(&q, 4)
		}
		m.weigh(&q)
		m.w.quotas = append(m.w.quotas, q)
	}
	for i := range m.between(1, 4) {
		q := quota{Name: fmt.Sprintf("q%d", i)}
		if cohorts > 0 && (m.w.fair || m.percent(92)) {
			q.Parent = fmt.Sprintf("h%d", m.IntN(cohorts))
		}
		for _, group := range m.w.groups {
			var names []string
			for _, f := range group.flavors {
				if m.percent(85) {
					names = append(names, f.name)
				}
			}
			if len(names) == 0 {
				names = []string{group.flavors[0].name}
			}
			m.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
			q.flavors = append(q.flavors, names)
		}
		m.amounts(&q, 12)
		m.weigh(&q)
		if m.percent(20) {
			q.Head = "strict"
		}
		q.Preempt = &preempt{Within: pick(m, "never", "lower_priority", "lower_priority", "lower_or_newer_equal"),
			Reclaim: pick(m, "never", "any", "any", "lower_priority")}
		if !m.w.fair && q.Preempt.Reclaim != "never" && m.percent(35) {
			q.Preempt.Borrow = &preemptBorrow{Policy: "lower_priority"}
			if m.percent(50) {
				q.Preempt.Borrow.MaxPriority = new(int)
				*q.Preempt.Borrow.MaxPriority = m.between(-1, 2)
			}
		}
		q.FlavorChoice = map[string]string{"when_can_borrow": pick(m, "borrow", "try_next"),
			"when_can_preempt": pick(m, "preempt", "try_next")}
		m.w.quotas = append(m.w.quotas, q)
	}
}

func (m *maker) weigh(q *quota) {
	if m.w.fair && m.percent(40) {
		weight := pick(m, 0, 1, 2, 3)
		q.Weight = &weight
	}
}

func (m *maker) queues() []*quota {
	var all []*quota
	for i := range m.w.quotas {
		if !m.w.quotas[i].isCohort {
			all = append(all, &m.w.quotas[i])
		}
	}
	return all
}

func (m *maker) makeSet(q *quota, i, most int) podSet {
	s := podSet{name: fmt.Sprintf("s%d", i), request: map[string]int{}, pods: pick(m, 1, 1, 1, 2, 3),
		byTaint: m.percent(50), bySelector: m.percent(50)}
	s.accepts = make([][]string, len(m.w.groups))
	first := m.IntN(len(m.w.groups))
	for g, group := range m.w.groups {
		if g != first && m.percent(50) {
			continue
		}
		for _, r := range m.some(group.resources) {
			s.request[r] = m.between(1, most)
		}
		s.accepts[g] = q.flavors[g]
		if m.percent(40) {
			s.accepts[g] = m.some(q.flavors[g])
		}
	}
	s.minPods = s.pods
	return s
}

// Running workloads take what is free, or a little more than there is.
func (m *maker) makeRunning() {
	free := map[string]int{}
	for _, q := range m.w.quotas {
		for key, n := range q.Nominal {
			free[key] += n
		}
	}
	queues := m.queues()
	for i, n := 0, m.between(2, 16); i < n; i++ {
		q := pick(m, queues...)
		j := job{id: fmt.Sprintf("w%02d", i), quota: q.Name, state: "running", priority: pick(m, -1, 0, 0, 1, 2, 3),
			submit: m.IntN(200), start: 500 + m.IntN(200)}
		if m.percent(4) {
			j.state = "evicting"
		}
		for k, sets := 0, min(m.mostSet, pick(m, 1, 1, 2, 2, 3)); k < sets; k++ {
			s := m.makeSet(q, k, 2)
			s.pods = pick(m, 1, 1, 2)
			s.minPods = s.pods
			if len(m.w.nodes) > 0 {
				m.needs(&s)
			}
			s.runsOn = make([]string, len(m.w.groups))
			for g, accepts := range s.accepts {
				if len(accepts) > 0 {
					s.runsOn[g] = pick(m, accepts...)
				}
			}
			j.sets = append(j.sets, s)
		}
		m.join(&j)
		takes := map[string]int{}
		for _, s := range j.sets {
			for r, n := range s.request {
				takes[s.runsOn[m.w.groupOf(r)]+"/"+r] += n * s.pods
			}
		}
		fits := true
		for key, n := range takes {
			fits = fits && n <= free[key]
		}
		if !fits && m.percent(97) {
			continue
		}
		if len(m.w.nodes) > 0 && !m.place(&j) {
			continue
		}
		for key, n := range takes {
			free[key] -= n
		}
		m.w.jobs = append(m.w.jobs, j)
	}
}

func (m *maker) makePending() {
	queues := m.queues()
	for i, n := 0, m.between(1, len(queues)+1); i < n; i++ {
		q := pick(m, queues...)
		j := job{id: fmt.Sprintf("p%d", i), quota: q.Name, priority: m.between(-1, 4), submit: m.IntN(200)}
		sets := min(m.mostSet, pick(m, 1, 2, 2, 3, 4))
		if len(m.w.nodes) > 0 {
			sets = (sets + 1) / 2
		}
		most := pick(m, 2, 3, 6) / min(sets, 2)
		elastic := m.percent(60)
		for k := range sets {
			s := m.makeSet(q, k, most)
			if elastic && m.percent(70) {
				s.pods = m.between(1, 8)
				s.minPods = m.between(1, (s.pods+1)/2)
			}
			if len(m.w.nodes) > 0 {
				m.needs(&s)
			}
			j.sets = append(j.sets, s)
		}
		m.join(&j)
		// In allot one that can never start is in nobody's way.
		if len(m.w.nodes) > 0 && !m.couldStart(&j) {
			continue
		}
		m.w.jobs = append(m.w.jobs, j)
	}
}
