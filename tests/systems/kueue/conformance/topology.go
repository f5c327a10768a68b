// SPDX-License-Identifier: BSL-1.0

package main

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"
)

// A machine of one flavor.
type node struct {
	name, flavor string
	has          map[string]int
	// By level of the topology.
	domains []string
}

// Where the pods of a set are, as a scenario says it; anywhere if it names no level.
type topologyRequest struct {
	Required  string `json:"required,omitempty"`
	Preferred string `json:"preferred,omitempty"`
}
type slice struct {
	Pods  int    `json:"pods"`
	Level string `json:"level"`
}

const nodeLevel = "node"

var placedShapes = []shape{
	{[][]string{{"gpu"}}, [][]string{{"fa"}}},
	{[][]string{{"gpu", "cpu"}}, [][]string{{"fa"}}},
	{[][]string{{"gpu", "cpu"}}, [][]string{{"fa"}}},
	{[][]string{{"gpu", "cpu"}}, [][]string{{"fa", "fb"}}},
}

func (m *maker) makeTopology() {
	m.w.levels = pick(m, []string{"block", "rack"}, []string{"block", "rack"}, []string{"rack"}, nil)
	flavors := m.w.groups[0].flavors
	gpus, cpu := pick(m, 4, 8), pick(m, 8, 16)
	for i, n := 0, m.between(4, 16); i < n; i++ {
		d := node{name: fmt.Sprintf("n%02d", i), flavor: flavors[i%len(flavors)].name}
		d.has = map[string]int{"gpu": pick(m, gpus, gpus, gpus/2), "cpu": pick(m, cpu, cpu, cpu/2)}
		for _, l := range m.w.levels {
			d.domains = append(d.domains, fmt.Sprintf("%s%d", l[:1], m.IntN(3)))
		}
		m.w.nodes = append(m.w.nodes, d)
		m.free = append(m.free, map[string]int{"gpu": d.has["gpu"], "cpu": d.has["cpu"]})
	}
}

// With nodes, 12 is all that those of the flavor have.
func (m *maker) scaled(flavor, resource string, n int) int {
	if len(m.w.nodes) == 0 {
		return n
	}
	all := 0
	for _, d := range m.w.nodes {
		if d.flavor == flavor {
			all += d.has[resource]
		}
	}
	return n * all / 12
}

func (m *maker) level() string {
	of := append(slices.Clone(m.w.levels), m.w.levels...)
	return pick(m, append(of, nodeLevel)...)
}

func (w *world) depth(level string) int {
	if level == nodeLevel {
		return len(w.levels)
	}
	return slices.Index(w.levels, level)
}

// What its pods need of a node, and where they are.
func (m *maker) needs(s *podSet) {
	s.request = map[string]int{"gpu": pick(m, 1, 1, 2)}
	if len(m.w.groups[0].resources) > 1 {
		s.request["cpu"] = m.between(1, 4)
		if m.percent(20) {
			delete(s.request, "gpu")
		}
	}
	if s.minPods == s.pods {
		s.pods = pick(m, 1, 1, 2, 2, 3, 4, 6)
		if m.percent(30) {
			size := m.between(2, 4)
			s.pods = size * pick(m, 1, 1, 2, 3)
			s.slice = &slice{size, m.level()}
		}
		s.minPods = s.pods
	}
	s.topology = &topologyRequest{}
	switch kind := m.IntN(100); {
	case kind < 45:
		s.topology.Required = m.level()
	case kind < 65:
		s.topology.Preferred = m.level()
	case kind < 75 && s.slice == nil:
		s.topology = nil
	}
	if s.slice == nil || s.topology == nil {
		return
	}
	// A slice is in no larger domain than the whole.
	for _, of := range []*string{&s.topology.Required, &s.topology.Preferred} {
		if *of != "" && m.w.depth(*of) > m.w.depth(s.slice.Level) {
			*of = s.slice.Level
		}
	}
}

// Makes some workloads of two sets a leader and its workers.
func (m *maker) join(j *job) {
	if len(m.w.nodes) == 0 || len(j.sets) != 2 || !m.percent(50) {
		return
	}
	leader, workers := &j.sets[0], &j.sets[1]
	if leader.slice != nil || workers.slice != nil || leader.topology == nil || *leader.topology == (topologyRequest{}) {
		return
	}
	leader.pods, leader.minPods = 1, 1
	// Their flavor is one.
	leader.accepts[0] = leader.accepts[0][:1]
	workers.accepts[0] = leader.accepts[0]
	if leader.runsOn != nil {
		leader.runsOn[0] = leader.accepts[0][0]
		workers.runsOn[0] = leader.accepts[0][0]
	}
	j.together = leader.topology
	leader.topology, workers.topology = nil, nil
}

// Whether two nodes are in one domain of a level.
func (w *world) near(a, b int, level string) bool {
	if level == nodeLevel {
		return a == b
	}
	depth := w.depth(level) + 1
	return slices.Equal(w.nodes[a].domains[:depth], w.nodes[b].domains[:depth])
}

// Finds nodes for the least pods of a workload, at random; false, having taken nothing, if it found none.
func (m *maker) place(j *job) bool {
	before := m.free
	m.free = nil
	for _, f := range before {
		m.free = append(m.free, maps.Clone(f))
	}
	first := -1
	for i := range j.sets {
		s := &j.sets[i]
		of := j.together
		if of == nil {
			of, first = s.topology, -1
		}
		s.on = nil
		for len(s.on) < s.minPods {
			n := m.findNode(s, of, first)
			if n < 0 {
				m.free = before
				return false
			}
			for r, needed := range s.request {
				m.free[n][r] -= needed
			}
			s.on = append(s.on, n)
			if first < 0 {
				first = n
			}
		}
	}
	return true
}

// A node for the next pod of a set, the first pod of which is there, or -1.
func (m *maker) findNode(s *podSet, of *topologyRequest, first int) int {
	for _, n := range m.Perm(len(m.w.nodes)) {
		ok := m.w.nodes[n].flavor == s.runsOn[0]
		if of != nil && of.Required != "" && first >= 0 {
			ok = ok && m.w.near(first, n, of.Required)
		}
		if s.slice != nil && len(s.on)%s.slice.Pods > 0 {
			ok = ok && m.w.near(s.on[len(s.on)-1], n, s.slice.Level)
		}
		for r, needed := range s.request {
			ok = ok && needed <= m.free[n][r]
		}
		if ok {
			return n
		}
	}
	return -1
}

// Whether a workload that waits was placed on empty nodes in some attempts.
func (m *maker) couldStart(j *job) bool {
	now := m.free
	defer func() {
		m.free = now
		for i := range j.sets {
			j.sets[i].on, j.sets[i].runsOn = nil, nil
		}
	}()
	m.free = nil
	for _, d := range m.w.nodes {
		m.free = append(m.free, d.has)
	}
	for range 50 {
		for i := range j.sets {
			j.sets[i].runsOn = []string{pick(m, j.sets[i].accepts[0]...)}
			if j.together != nil {
				j.sets[i].runsOn = j.sets[0].runsOn
			}
		}
		if m.place(j) {
			return true
		}
	}
	return false
}

// What Kueue knows of it.

const topologyName = "default"

var kueueNames = map[string]corev1.ResourceName{"gpu": "nvidia.com/gpu"}

func resourceName(r string) corev1.ResourceName {
	if name, ok := kueueNames[r]; ok {
		return name
	}
	return corev1.ResourceName(r)
}

func ourName(name corev1.ResourceName) string {
	for r, is := range kueueNames {
		if is == name {
			return r
		}
	}
	return string(name)
}

func levelLabel(level string) string {
	if level == nodeLevel {
		return corev1.LabelHostname
	}
	return level
}

func (w *world) topologyObjects() []client.Object {
	if len(w.nodes) == 0 {
		return nil
	}
	o := &api.Topology{ObjectMeta: meta1(topologyName)}
	for _, l := range append(slices.Clone(w.levels), nodeLevel) {
		o.Spec.Levels = append(o.Spec.Levels, api.TopologyLevel{NodeLabel: levelLabel(l)})
	}
	all := []client.Object{o}
	for _, d := range w.nodes {
		n := &corev1.Node{ObjectMeta: meta1(d.name)}
		n.Labels = map[string]string{label(0): d.flavor, corev1.LabelHostname: d.name}
		for i, l := range w.levels {
			n.Labels[l] = d.domains[i]
		}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: units(110)}
		for r, has := range d.has {
			n.Status.Allocatable[resourceName(r)] = units(has)
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		all = append(all, n)
	}
	return all
}

func (w *world) topologyRequest(j *job, s *podSet) *api.PodSetTopologyRequest {
	of := s.topology
	if j.together != nil {
		of = j.together
	}
	if of == nil {
		return nil
	}
	o := &api.PodSetTopologyRequest{}
	if j.together != nil {
		o.PodSetGroupName = ptr.To("together")
	}
	switch {
	case of.Required != "":
		o.Required = ptr.To(levelLabel(of.Required))
	case of.Preferred != "":
		o.Preferred = ptr.To(levelLabel(of.Preferred))
	case s.slice == nil:
		o.Unconstrained = ptr.To(true)
	}
	if s.slice != nil {
		o.PodSetSliceRequiredTopology = ptr.To(levelLabel(s.slice.Level))
		o.PodSetSliceSize = ptr.To(int32(s.slice.Pods))
	}
	return o
}

func (w *world) topologyAssignment(s *podSet) *api.TopologyAssignment {
	if s.on == nil {
		return nil
	}
	a := &tas.TopologyAssignment{Levels: []string{corev1.LabelHostname}}
	for i, d := range w.nodes {
		count := 0
		for _, n := range s.on {
			if n == i {
				count++
			}
		}
		if count > 0 {
			a.Domains = append(a.Domains, tas.TopologyDomainAssignment{Values: []string{d.name}, Count: int32(count)})
		}
	}
	return tas.V1Beta2From(a)
}

// The node of each pod.
func readNodes(a *api.TopologyAssignment) []string {
	var all []string
	if a == nil {
		return nil
	}
	for _, d := range tas.InternalFrom(a).Domains {
		for range d.Count {
			all = append(all, d.Values[len(d.Values)-1])
		}
	}
	return all
}
