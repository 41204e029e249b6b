// The workloads of benches/workloads in JavaScript: `node peers.js WORKLOAD` prints `WORKLOAD sum=S gap_us=G`.
'use strict';
const LIVE = 1 << 20, ROUNDS = 1 << 20, QUEUE = 1 << 16, LIST = 10000000, POOL = 200000, REPLACEMENTS = 250000, DEPTH = 17;

// Random numbers and the longest gap, as in workload.h.
let state = 12345;
function word() { return state = (Math.imul(state, 1664525) + 1013904223) >>> 0; }
function index(bits) { return word() >>> (32 - bits); }
function below(bound) { return Math.floor(word() * bound / 4294967296); }
let lastTick = 0, gapMax = 0;
function firstTick() { lastTick = performance.now(); }
function tick() {
    const now = performance.now();
    if (now - lastTick > gapMax) gapMax = now - lastTick;
    lastTick = now;
}

class Tree { constructor(left, right) { this.left = left; this.right = right; } }
function build(depth) { return depth > 0 ? new Tree(build(depth - 1), build(depth - 1)) : new Tree(null, null); }
function count(tree) { return tree.left !== null ? 1 + count(tree.left) + count(tree.right) : 1; }
function bintrees(depthMax) {
    let sum = count(build(depthMax + 1));
    const longLived = build(depthMax);
    for (let depth = 4; depth <= depthMax; depth += 2) {
        const trees = 1 << (depthMax - depth + 4);
        for (let i = 0; i < trees; i++) sum += count(build(depth));
    }
    return sum + count(longLived);
}

class Numbered { constructor(left, right) { this.left = left; this.right = right; this.i = 0; this.j = 0; } }
function populate(depth, tree) {
    if (depth <= 0) return;
    tree.left = new Numbered(null, null);
    tree.right = new Numbered(null, null);
    populate(depth - 1, tree.left);
    populate(depth - 1, tree.right);
}
function buildNumbered(depth) {
    if (depth <= 0) return new Numbered(null, null);
    const left = buildNumbered(depth - 1), right = buildNumbered(depth - 1);
    return new Numbered(left, right);
}
function sizeOfTree(depth) { return (1 << (depth + 1)) - 1; }
function gcbench() {
    buildNumbered(18);
    const longLived = new Numbered(null, null);
    populate(16, longLived);
    const numbers = new Float64Array(500000);
    for (let i = 0; i < 250000; i++) numbers[i] = 1.0 / (i + 1);
    for (let depth = 4; depth <= 16; depth += 2) {
        const trees = Math.floor(2 * sizeOfTree(18) / sizeOfTree(depth));
        for (let i = 0; i < trees; i++) populate(depth, new Numbered(null, null));
        for (let i = 0; i < trees; i++) buildNumbered(depth);
    }
    let sum = Math.floor(numbers[1000] * 1e6);
    for (let tree = longLived; tree !== null; tree = tree.left) sum++;
    return sum;
}

class Node { constructor(value) { this.a = null; this.b = null; this.value = value; } }
function sumOfRing(length, chords) {
    const first = new Node(0);
    let previous = first, chord = first;
    first.b = first;
    for (let i = 1; i < length; i++) {
        const node = new Node(i & 255);
        previous.a = node;
        node.b = chords ? chord : previous;
        previous = node;
        if (chords) chord = word() >>> 30 === 0 ? node : chord.a;
    }
    previous.a = first;
    if (!chords) first.b = previous;
    let sum = 0;
    for (let i = 0, node = first; i < length; i++, node = node.a) sum += node.value;
    return sum;
}
function cycles() {
    let sum = 0, sinceTick = 0;
    firstTick();
    for (const length of [4, 64, 1024, 65536]) {
        for (const chords of [false, true]) {
            for (let i = 0; i < (1 << 20) / length; i++) {
                sum += sumOfRing(length, chords);
                sinceTick += length;
                if (sinceTick >= 256) {
                    sinceTick = 0;
                    tick();
                }
            }
        }
    }
    return sum;
}

function newNodes() {
    const nodes = new Array(LIVE);
    for (let i = 0; i < LIVE; i++) nodes[i] = new Node(i & 255);
    return nodes;
}
function mutate(writesPerObject) {
    const nodes = newNodes();
    firstTick();
    for (let write = 0; write < writesPerObject * LIVE; write++) {
        const from = below(LIVE), to = below(LIVE);
        if (word() >>> 31 !== 0) nodes[from].a = nodes[to];
        else nodes[from].b = nodes[to];
        if ((write & 1023) === 0) tick();
    }
    let sum = 0;
    for (const node of nodes) {
        if (node.a !== null) sum += node.a.value;
        if (node.b !== null) sum += 2 * node.b.value;
    }
    return sum;
}

function newList(length) {
    let head = null;
    for (let i = 0; i < length; i++) {
        const node = new Node(i & 255);
        node.a = head;
        head = node;
        if ((i & 65535) === 0) tick();
    }
    return head;
}
function list() {
    let sum = 0;
    for (let round = 0; round < 2; round++) {
        firstTick();
        let head = newList(LIST);
        for (let node = head; node !== null; node = node.a) sum += node.value;
        firstTick();
        head = null;
        tick();
    }
    return sum;
}

function newLiveHeap() {
    const nodes = newNodes();
    for (let i = 0; i < LIVE; i++) {
        nodes[i].a = nodes[(i + 1) & (LIVE - 1)];
        nodes[i].b = nodes[below(LIVE)];
    }
    return nodes;
}
function newRingOfFour(live) {
    const first = new Node(1);
    let previous = first;
    first.b = live;
    for (let i = 0; i < 3; i++) {
        const node = new Node(2);
        node.b = previous;
        previous.a = node;
        previous = node;
    }
    previous.a = first;
    return first;
}
function bigheap() {
    const live = newLiveHeap();
    let sum = 0;
    firstTick();
    for (let round = 0; round < ROUNDS; round++) {
        const ring = newRingOfFour(live[below(LIVE)]);
        sum += ring.a.a.value + ring.b.value;
        if ((round & 15) === 0) tick();
    }
    return sum;
}
function fifo() {
    const live = newLiveHeap(), queue = new Array(QUEUE).fill(null);
    let sum = 0;
    firstTick();
    for (let round = 0; round < ROUNDS; round++) {
        const ring = newRingOfFour(live[below(LIVE)]);
        sum += ring.a.a.value + ring.b.value;
        queue[round & (QUEUE - 1)] = ring;
        if ((round & 15) === 0) tick();
    }
    return sum;
}

class Entry { constructor(key, value) { this.previous = null; this.next = null; this.chain = null; this.key = key; this.value = value; } }
function lru() {
    const capacity = 1 << 16, buckets = new Array(capacity).fill(null), ring = new Entry(-1, 0);
    ring.previous = ring.next = ring;
    let entries = 0, sum = 0;
    firstTick();
    for (let access = 0; access < 1 << 22; access++) {
        let key = index(18);
        key &= index(18);
        const bucket = key & (capacity - 1);
        let entry = buckets[bucket];
        while (entry !== null && entry.key !== key) entry = entry.chain;
        if (entry !== null) {
            sum += entry.value;
            entry.previous.next = entry.next;
            entry.next.previous = entry.previous;
        } else {
            if (entries === capacity) {
                const oldest = ring.previous;
                oldest.previous.next = ring;
                ring.previous = oldest.previous;
                const home = oldest.key & (capacity - 1);
                let before = buckets[home];
                if (before === oldest) {
                    buckets[home] = oldest.chain;
                } else {
                    while (before.chain !== oldest) before = before.chain;
                    before.chain = oldest.chain;
                }
                entries--;
            }
            entry = new Entry(key, key & 15);
            entry.chain = buckets[bucket];
            buckets[bucket] = entry;
            entries++;
        }
        entry.next = ring.next;
        entry.previous = ring;
        ring.next.previous = entry;
        ring.next = entry;
        if ((access & 63) === 0) tick();
    }
    return sum + entries;
}

function newRing(length) {
    const first = new Node(length);
    let previous = first;
    for (let i = 1; i < length; i++) {
        const node = new Node(i);
        node.b = previous;
        previous.a = node;
        previous = node;
    }
    previous.a = first;
    first.b = previous;
    return first;
}
function rings() {
    const pool = new Array(POOL);
    for (let i = 0; i < POOL; i++) pool[i] = newRing(3 + below(6));
    let sum = 0;
    firstTick();
    for (let replacement = 0; replacement < REPLACEMENTS; replacement++) {
        const i = below(POOL), length = 3 + below(6);
        sum += pool[i].value + pool[i].b.value;
        pool[i] = newRing(length);
        if ((replacement & 15) === 0) tick();
    }
    return sum;
}

class Family { constructor(parent, value) { this.parent = parent; this.left = null; this.right = null; this.value = value; } }
function buildFamily(parent, height) {
    const tree = new Family(parent, height);
    if (height > 0) {
        tree.left = buildFamily(tree, height - 1);
        tree.right = buildFamily(tree, height - 1);
    }
    return tree;
}
function parents() {
    const tree = buildFamily(null, DEPTH);
    let sum = 0;
    firstTick();
    for (let replacement = 0; replacement < REPLACEMENTS; replacement++) {
        const drawn = word() >>> 16 | 1 << (DEPTH - 5), height = 31 - Math.clz32(drawn & -drawn);
        let turns = word() | 0, parent = tree;
        for (let above = DEPTH - 1; above > height; above--, turns <<= 1) parent = turns < 0 ? parent.left : parent.right;
        if (turns < 0) {
            sum += parent.left.value;
            parent.left = buildFamily(parent, height);
            sum += parent.left.parent.value;
        } else {
            sum += parent.right.value;
            parent.right = buildFamily(parent, height);
            sum += parent.right.parent.value;
        }
        for (let node = parent; node !== null; node = node.parent) sum++;
        if ((replacement & 15) === 0) tick();
    }
    return sum;
}

const NEW = 0, OPEN = 1, DONE = 2;
class Loop { constructor(parent, header) { this.parent = parent; this.header = header; this.latches = 0; } }
class Edge { constructor(from, to) { this.from = from; this.to = to; this.nextOut = from.out; this.nextIn = null; } }
class Block {
    constructor(next) {
        this.out = null;
        this.in = null;
        this.headerOf = null;
        this.latchOf = null;
        this.next = next;
        this.hanging = null;
        this.state = NEW;
    }
}
function newBlockAfter(entry) { return entry.next = new Block(entry.next); }
function refer(from, to) { return from.out = new Edge(from, to); }
function connect(from, to) {
    const edge = refer(from, to);
    edge.nextIn = to.in;
    to.in = edge;
}
function newGraph(diamonds) {
    const entry = new Block(null);
    let last = entry;
    for (let i = 0; i < diamonds; i++) {
        const left = newBlockAfter(entry), right = newBlockAfter(entry), join = newBlockAfter(entry);
        connect(join, last);
        connect(last, left);
        connect(last, right);
        connect(left, join);
        connect(right, join);
        last = join;
    }
    connect(last, entry);
    return entry;
}
function findLoops(entry, block) {
    let found = 0;
    block.state = OPEN;
    for (let edge = block.out; edge !== null; edge = edge.nextOut) {
        const to = edge.to;
        if (to.state === NEW) {
            found += findLoops(entry, to);
        } else if (to.state === OPEN) {
            if (to.headerOf === null) to.headerOf = new Loop(entry.headerOf, to);
            block.latchOf = to.headerOf;
            found += ++block.latchOf.latches;
        }
    }
    block.state = DONE;
    return found;
}
function havlak() {
    const parts = Math.floor(LIVE / 40), entries = new Array(parts);
    let sum = 0;
    for (let i = 0; i < parts; i++) {
        entries[i] = newGraph(4);
        sum += findLoops(entries[i], entries[i]);
    }
    for (let i = 0; i < parts; i++) connect(entries[i].next, entries[below(parts)]);
    firstTick();
    for (let replacement = 0; replacement < REPLACEMENTS / 2; replacement++) {
        const at = entries[below(parts)], graph = newGraph(1 + below(3));
        refer(graph.next, at.next);
        sum += findLoops(graph, graph);
        if (word() >>> 31 !== 0) {
            if (at.hanging !== null) sum += at.hanging.headerOf.latches;
            at.hanging = graph;
        }
        if ((replacement & 15) === 0) tick();
    }
    return sum;
}

function toggle() {
    firstTick();
    const keeper = new Node(0), holder = new Node(0);
    keeper.a = newList(LIVE);
    let sum = 0;
    gapMax = 0;
    firstTick();
    for (let round = 0; round < 4 * ROUNDS; round++) {
        holder.a = word() >>> 31 !== 0 ? keeper.a : null;
        sum += newRingOfFour(null).a.a.value + (holder.a !== null ? holder.a.value : 1);
        if ((round & 15) === 0) tick();
    }
    for (let node = keeper.a; node !== null; node = node.a) sum += node.value;
    return sum;
}

const workloads = {
    bintrees16: () => bintrees(16), bintrees18: () => bintrees(18), gcbench, cycles, mutate: () => mutate(10),
    sustained: () => mutate(100), list, bigheap, fifo, lru, rings, parents, havlak, toggle, nop: () => 0,
};
const workload = process.argv[2];
if (!(workload in workloads)) {
    console.error(`no workload "${workload}"`);
    process.exit(2);
}
const sum = workloads[workload]();
console.log(`${workload} sum=${sum} gap_us=${Math.round(gapMax * 1000)}`);
