// The workloads of benches/workloads in Go: `go WORKLOAD` prints `WORKLOAD sum=S gap_us=G`.
package main

import (
	"fmt"
	"math/bits"
	"os"
	"time"
)

const (
	live         = 1 << 20
	rounds       = 1 << 20
	queueLength  = 1 << 16
	listLength   = 10000000
	poolLength   = 200000
	replacements = 250000
	treeDepth    = 17
)

// Random numbers and the longest gap, as in workload.h.
var state uint32 = 12345

func word() uint32        { state = state*1664525 + 1013904223; return state }
func index(bits uint) int { return int(word() >> (32 - bits)) }
func below(bound int) int { return int(uint64(word()) * uint64(bound) >> 32) }

var start = time.Now()
var lastTick, gapMax int64

func now() int64 { return int64(time.Since(start)) }
func firstTick() { lastTick = now() }
func tick() {
	n := now()
	if n-lastTick > gapMax {
		gapMax = n - lastTick
	}
	lastTick = n
}

type tree struct{ left, right *tree }

func build(depth int) *tree {
	if depth > 0 {
		return &tree{build(depth - 1), build(depth - 1)}
	}
	return &tree{}
}

func count(t *tree) int {
	if t.left != nil {
		return 1 + count(t.left) + count(t.right)
	}
	return 1
}

func bintrees(depthMax int) int {
	sum := count(build(depthMax + 1))
	longLived := build(depthMax)
	for depth := 4; depth <= depthMax; depth += 2 {
		trees := 1 << (depthMax - depth + 4)
		for i := 0; i < trees; i++ {
			sum += count(build(depth))
		}
	}
	return sum + count(longLived)
}

type numbered struct {
	left, right *numbered
	i, j        int32
}

func populate(depth int, t *numbered) {
	if depth <= 0 {
		return
	}
	t.left = &numbered{}
	t.right = &numbered{}
	populate(depth-1, t.left)
	populate(depth-1, t.right)
}

func buildNumbered(depth int) *numbered {
	if depth <= 0 {
		return &numbered{}
	}
	left := buildNumbered(depth - 1)
	right := buildNumbered(depth - 1)
	return &numbered{left: left, right: right}
}

func sizeOfTree(depth int) int { return 1<<(depth+1) - 1 }

func gcbench() int {
	buildNumbered(18)
	longLived := &numbered{}
	populate(16, longLived)
	numbers := make([]float64, 500000)
	for i := 0; i < 250000; i++ {
		numbers[i] = 1.0 / float64(i+1)
	}
	for depth := 4; depth <= 16; depth += 2 {
		trees := 2 * sizeOfTree(18) / sizeOfTree(depth)
		for i := 0; i < trees; i++ {
			populate(depth, &numbered{})
		}
		for i := 0; i < trees; i++ {
			buildNumbered(depth)
		}
	}
	sum := int(numbers[1000] * 1e6)
	for t := longLived; t != nil; t = t.left {
		sum++
	}
	return sum
}

type node struct {
	a, b  *node
	value int
}

func sumOfRing(length int, chords bool) int {
	first := &node{}
	previous, chord := first, first
	first.b = first
	for i := 1; i < length; i++ {
		n := &node{value: i & 255}
		previous.a = n
		if chords {
			n.b = chord
			if word()>>30 == 0 {
				chord = n
			} else {
				chord = chord.a
			}
		} else {
			n.b = previous
		}
		previous = n
	}
	previous.a = first
	if !chords {
		first.b = previous
	}
	sum, n := 0, first
	for i := 0; i < length; i++ {
		sum += n.value
		n = n.a
	}
	return sum
}

func cycles() int {
	sum, sinceTick := 0, 0
	firstTick()
	for _, length := range []int{4, 64, 1024, 65536} {
		for shape := 0; shape < 2; shape++ {
			for i := 0; i < 1<<20/length; i++ {
				sum += sumOfRing(length, shape == 1)
				sinceTick += length
				if sinceTick >= 256 {
					sinceTick = 0
					tick()
				}
			}
		}
	}
	return sum
}

func newNodes() []*node {
	nodes := make([]*node, live)
	for i := range nodes {
		nodes[i] = &node{value: i & 255}
	}
	return nodes
}

func mutate(writesPerObject int) int {
	nodes := newNodes()
	firstTick()
	for write := 0; write < writesPerObject*live; write++ {
		from, to := below(live), below(live)
		if word()>>31 != 0 {
			nodes[from].a = nodes[to]
		} else {
			nodes[from].b = nodes[to]
		}
		if write&1023 == 0 {
			tick()
		}
	}
	sum := 0
	for _, n := range nodes {
		if n.a != nil {
			sum += n.a.value
		}
		if n.b != nil {
			sum += 2 * n.b.value
		}
	}
	return sum
}

func list() int {
	sum := 0
	for round := 0; round < 2; round++ {
		var head *node
		firstTick()
		for i := 0; i < listLength; i++ {
			head = &node{a: head, value: i & 255}
			if i&65535 == 0 {
				tick()
			}
		}
		for n := head; n != nil; n = n.a {
			sum += n.value
		}
		firstTick()
		head = nil
		tick()
	}
	return sum
}

func newLiveHeap() []*node {
	nodes := newNodes()
	for i, n := range nodes {
		n.a = nodes[(i+1)%live]
		n.b = nodes[below(live)]
	}
	return nodes
}

func newRingOfFour(to *node) *node {
	first := &node{b: to, value: 1}
	previous := first
	for i := 0; i < 3; i++ {
		n := &node{b: previous, value: 2}
		previous.a = n
		previous = n
	}
	previous.a = first
	return first
}

func bigheap() int {
	nodes := newLiveHeap()
	sum := 0
	firstTick()
	for round := 0; round < rounds; round++ {
		ring := newRingOfFour(nodes[below(live)])
		sum += ring.a.a.value + ring.b.value
		if round&15 == 0 {
			tick()
		}
	}
	return sum
}

func fifo() int {
	nodes := newLiveHeap()
	queue := make([]*node, queueLength)
	sum := 0
	firstTick()
	for round := 0; round < rounds; round++ {
		ring := newRingOfFour(nodes[below(live)])
		sum += ring.a.a.value + ring.b.value
		queue[round&(queueLength-1)] = ring
		if round&15 == 0 {
			tick()
		}
	}
	return sum
}

type entry struct {
	previous, next, chain *entry
	key, value            int
}

func lru() int {
	const capacity = 1 << 16
	buckets := make([]*entry, capacity)
	ring := &entry{key: -1}
	ring.previous, ring.next = ring, ring
	entries, sum := 0, 0
	firstTick()
	for access := 0; access < 1<<22; access++ {
		key := index(18)
		key &= index(18)
		bucket := key & (capacity - 1)
		e := buckets[bucket]
		for e != nil && e.key != key {
			e = e.chain
		}
		if e != nil {
			sum += e.value
			e.previous.next = e.next
			e.next.previous = e.previous
		} else {
			if entries == capacity {
				oldest := ring.previous
				oldest.previous.next = ring
				ring.previous = oldest.previous
				place := &buckets[oldest.key&(capacity-1)]
				for *place != oldest {
					place = &(*place).chain
				}
				*place = oldest.chain
				entries--
			}
			e = &entry{chain: buckets[bucket], key: key, value: key & 15}
			buckets[bucket] = e
			entries++
		}
		e.next = ring.next
		e.previous = ring
		ring.next.previous = e
		ring.next = e
		if access&63 == 0 {
			tick()
		}
	}
	return sum + entries
}

func newRing(length int) *node {
	first := &node{value: length}
	previous := first
	for i := 1; i < length; i++ {
		n := &node{b: previous, value: i}
		previous.a = n
		previous = n
	}
	previous.a = first
	first.b = previous
	return first
}

func rings() int {
	pool := make([]*node, poolLength)
	for i := range pool {
		pool[i] = newRing(3 + below(6))
	}
	sum := 0
	firstTick()
	for replacement := 0; replacement < replacements; replacement++ {
		i := below(poolLength)
		length := 3 + below(6)
		sum += pool[i].value + pool[i].b.value
		pool[i] = newRing(length)
		if replacement&15 == 0 {
			tick()
		}
	}
	return sum
}

type family struct {
	parent, left, right *family
	value               int
}

func buildFamily(parent *family, height int) *family {
	t := &family{parent: parent, value: height}
	if height > 0 {
		t.left = buildFamily(t, height-1)
		t.right = buildFamily(t, height-1)
	}
	return t
}

func parents() int {
	root := buildFamily(nil, treeDepth)
	sum := 0
	firstTick()
	for replacement := 0; replacement < replacements; replacement++ {
		height := bits.TrailingZeros32(word()>>16 | 1<<(treeDepth-5))
		turns := word()
		parent := root
		for above := treeDepth - 1; above > height; above-- {
			if turns>>31 != 0 {
				parent = parent.left
			} else {
				parent = parent.right
			}
			turns <<= 1
		}
		place := &parent.right
		if turns>>31 != 0 {
			place = &parent.left
		}
		sum += (*place).value
		*place = buildFamily(parent, height)
		sum += (*place).parent.value
		for t := parent; t != nil; t = t.parent {
			sum++
		}
		if replacement&15 == 0 {
			tick()
		}
	}
	return sum
}

type loop struct {
	parent  *loop
	header  *block
	latches int
}

type edge struct {
	from, to        *block
	nextOut, nextIn *edge
}

const (
	unseen = iota
	open
	done
)

type block struct {
	out, in           *edge
	headerOf, latchOf *loop
	next, hanging     *block
	state             int
}

func newBlockAfter(entry *block) *block {
	b := &block{next: entry.next}
	entry.next = b
	return b
}

func refer(from, to *block) *edge {
	e := &edge{from: from, to: to, nextOut: from.out}
	from.out = e
	return e
}

func connect(from, to *block) {
	e := refer(from, to)
	e.nextIn = to.in
	to.in = e
}

func newGraph(diamonds int) *block {
	entry := &block{}
	last := entry
	for i := 0; i < diamonds; i++ {
		left, right, join := newBlockAfter(entry), newBlockAfter(entry), newBlockAfter(entry)
		connect(join, last)
		connect(last, left)
		connect(last, right)
		connect(left, join)
		connect(right, join)
		last = join
	}
	connect(last, entry)
	return entry
}

func findLoops(entry, b *block) int {
	found := 0
	b.state = open
	for e := b.out; e != nil; e = e.nextOut {
		if e.to.state == unseen {
			found += findLoops(entry, e.to)
		} else if e.to.state == open {
			if e.to.headerOf == nil {
				e.to.headerOf = &loop{parent: entry.headerOf, header: e.to}
			}
			b.latchOf = e.to.headerOf
			b.latchOf.latches++
			found += b.latchOf.latches
		}
	}
	b.state = done
	return found
}

func havlak() int {
	const parts = live / 40
	entries := make([]*block, parts)
	sum := 0
	for i := range entries {
		entries[i] = newGraph(4)
		sum += findLoops(entries[i], entries[i])
	}
	for _, e := range entries {
		connect(e.next, entries[below(parts)])
	}
	firstTick()
	for replacement := 0; replacement < replacements/2; replacement++ {
		at := entries[below(parts)]
		graph := newGraph(1 + below(3))
		refer(graph.next, at.next)
		sum += findLoops(graph, graph)
		if word()>>31 != 0 {
			if at.hanging != nil {
				sum += at.hanging.headerOf.latches
			}
			at.hanging = graph
		}
		if replacement&15 == 0 {
			tick()
		}
	}
	return sum
}

func toggle() int {
	var head *node
	for i := 0; i < live; i++ {
		head = &node{a: head, value: i & 255}
	}
	keeper, holder := &node{a: head}, &node{}
	head = nil
	sum := 0
	firstTick()
	for round := 0; round < 4*rounds; round++ {
		if word()>>31 != 0 {
			holder.a = keeper.a
		} else {
			holder.a = nil
		}
		sum += newRingOfFour(nil).a.a.value
		if holder.a != nil {
			sum += holder.a.value
		} else {
			sum++
		}
		if round&15 == 0 {
			tick()
		}
	}
	for n := keeper.a; n != nil; n = n.a {
		sum += n.value
	}
	return sum
}

var workloads = map[string]func() int{
	"bintrees16": func() int { return bintrees(16) },
	"bintrees18": func() int { return bintrees(18) },
	"gcbench":    gcbench,
	"cycles":     cycles,
	"mutate":     func() int { return mutate(10) },
	"sustained":  func() int { return mutate(100) },
	"list":       list,
	"bigheap":    bigheap,
	"fifo":       fifo,
	"lru":        lru,
	"rings":      rings,
	"parents":    parents,
	"havlak":     havlak,
	"toggle":     toggle,
	"nop":        func() int { return 0 },
}

func main() {
	run, known := workloads[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "no workload %q\n", os.Args[1])
		os.Exit(2)
	}
	sum := run()
	fmt.Printf("%s sum=%d gap_us=%d\n", os.Args[1], sum, gapMax/1000)
}
