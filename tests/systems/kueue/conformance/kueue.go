// SPDX-License-Identifier: BSL-1.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	_ "unsafe" // For go:linkname.

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	api "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/routine"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	utilwait "sigs.k8s.io/kueue/pkg/util/wait"
)

// One cycle is not exported: Kueue's tests are in its package.
//
//go:linkname schedule sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).schedule
func schedule(s *scheduler.Scheduler, ctx context.Context) utilwait.SpeedSignal

//go:linkname setAdmissionRoutineWrapper sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).setAdmissionRoutineWrapper
func setAdmissionRoutineWrapper(s *scheduler.Scheduler, w routine.Wrapper)

// Admissions are recorded in the order in which they are decided.
type atOnce struct{}

func (atOnce) Run(f func()) { f() }

const namespace = "n"

// Cycles that one world may take until something is decided. A strict queue goes on for ever.
const mostCycles = 20

var origin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(origin.Add(time.Duration(seconds) * time.Second))
}

func units(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

func meta1(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// The kinds of objects, no more: the fake client looks at all of them with every patch.
var known = func() *kuberuntime.Scheme {
	s := kuberuntime.NewScheme()
	must(corev1.AddToScheme(s))
	must(api.AddToScheme(s))
	return s
}()

// What Kueue decides in the first cycle that decides anything.
type decision struct {
	Admit  map[string]*admitted `json:"admit"`
	Evict  map[string]evicted   `json:"evict"`
	Order  []string             `json:"order"`
	Cycles int                  `json:"cycles"`
	// With a topology: the heads whose nodes or quota others took in these cycles, and what the next cycle
	// decides for them.
	PassedOver []string  `json:"passed_over,omitempty"`
	Next       *decision `json:"next,omitempty"`
	// Admitted without a node for each pod: Kueue 0.17 loses some where a leader is in the way.
	Unplaced []string `json:"unplaced,omitempty"`
}
type admitted struct {
	Flavors map[string]string `json:"flavors"`
	Pods    int               `json:"pods"`
	Nodes   []string          `json:"nodes,omitempty"`
	PodSets []admittedSet     `json:"pod_sets,omitempty"`
}
type admittedSet struct {
	Name    string            `json:"name"`
	Pods    int               `json:"pods"`
	Flavors map[string]string `json:"flavors"`
	Nodes   []string          `json:"nodes,omitempty"`
}
type evicted struct {
	For    string `json:"for"`
	Reason string `json:"reason"`
}

var reasons = map[string]string{
	api.InClusterQueueReason:                "priority",
	api.InCohortReclamationReason:           "reclaim",
	api.InCohortFairSharingReason:           "fair_share",
	api.InCohortReclaimWhileBorrowingReason: "reclaim_while_borrowing",
}

func (w *world) flavors() []client.Object {
	var all []client.Object
	for g, group := range w.groups {
		for _, f := range group.flavors {
			o := &api.ResourceFlavor{ObjectMeta: meta1(f.name)}
			o.Spec.NodeLabels = map[string]string{label(g): f.name}
			if len(w.nodes) > 0 {
				o.Spec.TopologyName = ptr.To(api.TopologyReference(topologyName))
			}
			if f.tainted {
				o.Spec.NodeTaints = []corev1.Taint{{Key: f.name, Value: "1", Effect: corev1.TaintEffectNoSchedule}}
			}
			all = append(all, o)
		}
	}
	return all
}

func label(group int) string { return fmt.Sprintf("example.com/kind-%d", group) }

func (w *world) resourceGroups(q *quota) []api.ResourceGroup {
	var all []api.ResourceGroup
	for g, names := range q.flavors {
		if len(names) == 0 {
			continue
		}
		rg := api.ResourceGroup{}
		for _, r := range w.groups[g].resources {
			rg.CoveredResources = append(rg.CoveredResources, resourceName(r))
		}
		for _, f := range names {
			fq := api.FlavorQuotas{Name: api.ResourceFlavorReference(f)}
			for _, r := range w.groups[g].resources {
				key := f + "/" + r
				rq := api.ResourceQuota{Name: resourceName(r), NominalQuota: units(q.Nominal[key])}
				if n, ok := q.Borrow[key]; ok {
					rq.BorrowingLimit = ptr.To(units(n))
				}
				if n, ok := q.Lend[key]; ok {
					rq.LendingLimit = ptr.To(units(n))
				}
				fq.Resources = append(fq.Resources, rq)
			}
			rg.Flavors = append(rg.Flavors, fq)
		}
		all = append(all, rg)
	}
	return all
}

func fairSharing(q *quota) *api.FairSharing {
	if q.Weight == nil {
		return nil
	}
	return &api.FairSharing{Weight: ptr.To(units(*q.Weight))}
}

func (w *world) clusterQueue(q *quota) *api.ClusterQueue {
	o := &api.ClusterQueue{ObjectMeta: meta1(q.Name)}
	o.Spec.NamespaceSelector = &metav1.LabelSelector{}
	o.Spec.CohortName = api.CohortReference(q.Parent)
	o.Spec.ResourceGroups = w.resourceGroups(q)
	o.Spec.QueueingStrategy = api.BestEffortFIFO
	if q.Head == "strict" {
		o.Spec.QueueingStrategy = api.StrictFIFO
	}
	o.Spec.FairSharing = fairSharing(q)
	policies := map[string]api.PreemptionPolicy{
		"never": api.PreemptionPolicyNever, "any": api.PreemptionPolicyAny,
		"lower_priority":       api.PreemptionPolicyLowerPriority,
		"lower_or_newer_equal": api.PreemptionPolicyLowerOrNewerEqualPriority,
	}
	borrow := &api.BorrowWithinCohort{Policy: api.BorrowWithinCohortPolicyNever}
	if b := q.Preempt.Borrow; b != nil {
		borrow.Policy = api.BorrowWithinCohortPolicyLowerPriority
		if b.MaxPriority != nil {
			borrow.MaxPriorityThreshold = ptr.To(int32(*b.MaxPriority))
		}
	}
	o.Spec.Preemption = &api.ClusterQueuePreemption{
		WithinClusterQueue:  policies[q.Preempt.Within],
		ReclaimWithinCohort: policies[q.Preempt.Reclaim],
		BorrowWithinCohort:  borrow,
	}
	o.Spec.FlavorFungibility = &api.FlavorFungibility{WhenCanBorrow: api.MayStopSearch, WhenCanPreempt: api.TryNextFlavor}
	if q.FlavorChoice["when_can_borrow"] == "try_next" {
		o.Spec.FlavorFungibility.WhenCanBorrow = api.TryNextFlavor
	}
	if q.FlavorChoice["when_can_preempt"] == "preempt" {
		o.Spec.FlavorFungibility.WhenCanPreempt = api.MayStopSearch
	}
	return o
}

func (w *world) workload(j *job) *api.Workload {
	o := &api.Workload{ObjectMeta: meta1(j.id)}
	o.Namespace, o.UID = namespace, types.UID(j.id)
	o.CreationTimestamp = at(j.submit)
	o.Spec.QueueName = api.LocalQueueName(j.quota)
	o.Spec.Priority = ptr.To(int32(j.priority))
	for i := range j.sets {
		s := &j.sets[i]
		container := corev1.Container{Name: "c"}
		container.Resources.Requests = corev1.ResourceList{}
		for r, n := range s.request {
			container.Resources.Requests[resourceName(r)] = units(n)
		}
		ps := api.PodSet{Name: api.PodSetReference(s.name), Count: int32(s.pods)}
		ps.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}}
		if s.minPods < s.pods {
			ps.MinCount = ptr.To(int32(s.minPods))
		}
		w.restrict(&ps.Template.Spec, s)
		ps.TopologyRequest = w.topologyRequest(j, s)
		o.Spec.PodSets = append(o.Spec.PodSets, ps)
	}
	if j.state == "" {
		return o
	}
	o.Status.Admission = &api.Admission{ClusterQueue: api.ClusterQueueReference(j.quota)}
	for _, s := range j.sets {
		a := api.PodSetAssignment{Name: api.PodSetReference(s.name), Count: ptr.To(int32(s.pods))}
		a.Flavors = map[corev1.ResourceName]api.ResourceFlavorReference{}
		a.ResourceUsage = corev1.ResourceList{}
		for r, n := range s.request {
			a.Flavors[resourceName(r)] = api.ResourceFlavorReference(s.runsOn[w.groupOf(r)])
			a.ResourceUsage[resourceName(r)] = units(n * s.pods)
		}
		a.TopologyAssignment = w.topologyAssignment(&s)
		o.Status.Admission.PodSetAssignments = append(o.Status.Admission.PodSetAssignments, a)
	}
	set := func(kind, reason string, seconds int) {
		meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue,
			Reason: reason, LastTransitionTime: at(seconds)})
	}
	set(api.WorkloadQuotaReserved, "QuotaReserved", j.start)
	set(api.WorkloadAdmitted, "Admitted", j.start)
	if j.state == "evicting" {
		set(api.WorkloadEvicted, api.WorkloadEvictedByPreemption, j.start+1)
	}
	return o
}

// Excludes all flavors that the set does not accept: those with a taint by that, if all have one and the set
// says so, others by an affinity.
func (w *world) restrict(spec *corev1.PodSpec, s *podSet) {
	var terms []corev1.NodeSelectorRequirement
	for g, group := range w.groups {
		var accepted []string
		byTaint := s.byTaint
		for _, f := range group.flavors {
			is := slices.Contains(s.accepts[g], f.name)
			if is {
				accepted = append(accepted, f.name)
			}
			if is && f.tainted {
				spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: f.name, Operator: corev1.TolerationOpExists})
			}
			byTaint = byTaint && (is || f.tainted)
		}
		if byTaint || len(accepted) == len(group.flavors) || len(accepted) == 0 {
			continue
		}
		if len(accepted) == 1 && s.bySelector {
			if spec.NodeSelector == nil {
				spec.NodeSelector = map[string]string{}
			}
			spec.NodeSelector[label(g)] = accepted[0]
			continue
		}
		terms = append(terms, corev1.NodeSelectorRequirement{Key: label(g), Operator: corev1.NodeSelectorOpIn, Values: accepted})
	}
	if len(terms) > 0 {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: terms}}}}}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Runs Kueue's scheduler on the world until a cycle decides something.
func (w *world) decide() decision {
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(context.Background(), logr.Discard()))
	defer cancel()
	objects := append(w.flavors(), w.topologyObjects()...)
	objects = append(objects, &corev1.Namespace{ObjectMeta: meta1(namespace)})
	for i := range w.jobs {
		objects = append(objects, w.workload(&w.jobs[i]))
	}
	for i := range w.quotas {
		if q := &w.quotas[i]; !q.isCohort {
			objects = append(objects, &api.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: q.Name, Namespace: namespace},
				Spec: api.LocalQueueSpec{ClusterQueue: api.ClusterQueueReference(q.Name)}}, w.clusterQueue(q))
		}
	}
	cl := fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).WithStatusSubresource(&api.Workload{}).
		WithTypeConverters(managedfields.NewDeducedTypeConverter()).
		WithIndex(&api.LocalQueue{}, indexer.QueueClusterQueueKey, indexer.IndexQueueClusterQueue).
		WithIndex(&api.Workload{}, indexer.WorkloadQueueKey, indexer.IndexWorkloadQueue).
		WithIndex(&api.Workload{}, indexer.WorkloadClusterQueueKey, indexer.IndexWorkloadClusterQueue).
		WithIndex(&api.Workload{}, indexer.OwnerReferenceUID, indexer.IndexOwnerUID).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge}).Build()
	recorder := &utiltesting.EventRecorder{}
	cache := schdcache.New(cl)
	queues := qcache.NewManagerForUnitTests(cl, cache)
	for _, o := range objects {
		switch o := o.(type) {
		case *api.Topology:
			cache.AddOrUpdateTopology(logr.Discard(), o)
		case *corev1.Node:
			cache.TASCache().SyncNode(o)
		case *api.ResourceFlavor:
			cache.AddOrUpdateResourceFlavor(logr.Discard(), o)
		case *api.LocalQueue:
			must(queues.AddLocalQueue(ctx, o))
		}
	}
	for _, o := range objects {
		if o, ok := o.(*api.ClusterQueue); ok {
			must(cache.AddClusterQueue(ctx, o))
			must(queues.AddClusterQueue(ctx, o))
		}
	}
	for i := range w.quotas {
		q := &w.quotas[i]
		if !q.isCohort {
			continue
		}
		o := &api.Cohort{ObjectMeta: meta1(q.Name)}
		o.Spec.ParentName = api.CohortReference(q.Parent)
		o.Spec.ResourceGroups = w.resourceGroups(q)
		o.Spec.FairSharing = fairSharing(q)
		must(cache.AddOrUpdateCohort(o))
		queues.AddOrUpdateCohort(ctx, o)
	}
	var fair *config.FairSharing
	if w.fair {
		fair = &config.FairSharing{}
	}
	s := scheduler.New(queues, cache, cl, recorder, scheduler.WithFairSharing(fair),
		scheduler.WithClock(nil, testingclock.NewFakeClock(origin.Add(time.Hour))),
		scheduler.WithPreemptionExpectations(preemptexpectations.New()))
	setAdmissionRoutineWrapper(s, atOnce{})

	d := newDecision()
	for d.Cycles < mostCycles && len(queues.Dump()) > 0 {
		d.Cycles++
		schedule(s, ctx)
		w.read(ctx, cl, &d)
		if len(d.Admit)+len(d.Evict) > 0 {
			break
		}
	}
	for _, e := range recorder.RecordedEvents {
		is := e.Reason == "QuotaReserved" || e.Reason == "PreemptedWorkload"
		if is && !slices.Contains(d.Order, e.Key.Name) {
			d.Order = append(d.Order, e.Key.Name)
		}
	}
	if len(d.PassedOver) > 0 && len(queues.Dump()) > 0 {
		next := newDecision()
		schedule(s, ctx)
		w.read(ctx, cl, &next)
		next.PassedOver, next.Unplaced = nil, nil
		maps.DeleteFunc(next.Admit, func(id string, _ *admitted) bool { return !slices.Contains(d.PassedOver, id) })
		maps.DeleteFunc(next.Evict, func(_ string, e evicted) bool { return !slices.Contains(d.PassedOver, e.For) })
		d.Next = &next
	}
	return d
}

func newDecision() decision {
	return decision{Admit: map[string]*admitted{}, Evict: map[string]evicted{}, Order: []string{}}
}

func (w *world) read(ctx context.Context, cl client.Client, d *decision) {
	var all api.WorkloadList
	must(cl.List(ctx, &all))
	for i := range all.Items {
		o := &all.Items[i]
		j := w.find(o.Name)
		if j.state == "" && o.Status.Admission != nil {
			d.Admit[o.Name] = readAdmission(o.Status.Admission)
			if len(w.nodes) > 0 && !d.Admit[o.Name].isPlaced() && !slices.Contains(d.Unplaced, o.Name) {
				d.Unplaced = append(d.Unplaced, o.Name)
			}
		}
		if q := meta.FindStatusCondition(o.Status.Conditions, api.WorkloadQuotaReserved); len(w.nodes) > 0 && j.state == "" &&
			q != nil && q.Message == "Workload no longer fits after processing another workload" &&
			!slices.Contains(d.PassedOver, o.Name) {
			d.PassedOver = append(d.PassedOver, o.Name)
		}
		c := meta.FindStatusCondition(o.Status.Conditions, api.WorkloadPreempted)
		if j.state == "running" && c != nil && c.Status == metav1.ConditionTrue {
			_, rest, _ := strings.Cut(c.Message, "(UID: ")
			by, _, _ := strings.Cut(rest, ",")
			reason, known := reasons[c.Reason]
			if !known {
				panic("a reason that is not known: " + c.Reason)
			}
			d.Evict[o.Name] = evicted{For: by, Reason: reason}
		}
	}
}

func (a *admitted) isPlaced() bool {
	nodes := len(a.Nodes)
	for _, s := range a.PodSets {
		nodes += len(s.Nodes)
	}
	return nodes == a.Pods
}

func readAdmission(a *api.Admission) *admitted {
	got := &admitted{Flavors: map[string]string{}}
	for _, s := range a.PodSetAssignments {
		set := admittedSet{Name: string(s.Name), Pods: int(*s.Count), Flavors: map[string]string{}}
		for r, f := range s.Flavors {
			set.Flavors[ourName(r)] = string(f)
		}
		set.Nodes = readNodes(s.TopologyAssignment)
		got.Pods += set.Pods
		got.PodSets = append(got.PodSets, set)
	}
	if len(got.PodSets) == 1 {
		got.Flavors, got.Nodes, got.PodSets = got.PodSets[0].Flavors, got.PodSets[0].Nodes, nil
	}
	return got
}
