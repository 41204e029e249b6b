# The workloads of benches/workloads in Python: `python3 peers.py WORKLOAD` prints `WORKLOAD sum=S gap_us=G`.
import sys
from time import perf_counter

LIVE, ROUNDS, QUEUE, LIST, POOL, REPLACEMENTS, DEPTH = 1 << 20, 1 << 20, 1 << 16, 10_000_000, 200_000, 250_000, 17

# Random numbers and the longest gap, as in workload.h.
state = 12345
last_tick = gap_max = 0.0


def word():
    global state
    state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
    return state


def below(bound):
    return word() * bound >> 32


def first_tick():
    global last_tick
    last_tick = perf_counter()


def tick():
    global last_tick, gap_max
    now = perf_counter()
    if now - last_tick > gap_max:
        gap_max = now - last_tick
    last_tick = now


class Tree:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


def build(depth):
    return Tree(build(depth - 1), build(depth - 1)) if depth > 0 else Tree(None, None)


def count(tree):
    return 1 + count(tree.left) + count(tree.right) if tree.left is not None else 1


def bintrees(depth_max):
    total = count(build(depth_max + 1))
    long_lived = build(depth_max)
    for depth in range(4, depth_max + 1, 2):
        for _ in range(1 << (depth_max - depth + 4)):
            total += count(build(depth))
    return total + count(long_lived)


class Numbered:
    __slots__ = ("left", "right", "i", "j")

    def __init__(self, left, right):
        self.left = left
        self.right = right
        self.i = self.j = 0


def populate(depth, tree):
    if depth <= 0:
        return
    tree.left = Numbered(None, None)
    tree.right = Numbered(None, None)
    populate(depth - 1, tree.left)
    populate(depth - 1, tree.right)


def build_numbered(depth):
    if depth <= 0:
        return Numbered(None, None)
    left = build_numbered(depth - 1)
    right = build_numbered(depth - 1)
    return Numbered(left, right)


def size_of_tree(depth):
    return (1 << (depth + 1)) - 1


def gcbench():
    build_numbered(18)
    long_lived = Numbered(None, None)
    populate(16, long_lived)
    numbers = [0.0] * 500_000
    for i in range(250_000):
        numbers[i] = 1.0 / (i + 1)
    for depth in range(4, 17, 2):
        trees = 2 * size_of_tree(18) // size_of_tree(depth)
        for _ in range(trees):
            populate(depth, Numbered(None, None))
        for _ in range(trees):
            build_numbered(depth)
    total = int(numbers[1000] * 1e6)
    tree = long_lived
    while tree is not None:
        total += 1
        tree = tree.left
    return total


class Node:
    __slots__ = ("a", "b", "value")

    def __init__(self, value):
        self.a = None
        self.b = None
        self.value = value


def sum_of_ring(length, chords):
    first = previous = chord = Node(0)
    first.b = first
    for i in range(1, length):
        node = Node(i & 255)
        previous.a = node
        node.b = chord if chords else previous
        previous = node
        if chords:
            chord = node if word() >> 30 == 0 else chord.a
    previous.a = first
    if not chords:
        first.b = previous
    total = 0
    node = first
    for _ in range(length):
        total += node.value
        node = node.a
    return total


def cycles():
    total = since_tick = 0
    first_tick()
    for length in (4, 64, 1024, 65536):
        for chords in (False, True):
            for _ in range((1 << 20) // length):
                total += sum_of_ring(length, chords)
                since_tick += length
                if since_tick >= 256:
                    since_tick = 0
                    tick()
    return total


def new_nodes():
    return [Node(i & 255) for i in range(LIVE)]


def mutate(writes_per_object):
    nodes = new_nodes()
    first_tick()
    for write in range(writes_per_object * LIVE):
        source = below(LIVE)
        target = below(LIVE)
        if word() >> 31:
            nodes[source].a = nodes[target]
        else:
            nodes[source].b = nodes[target]
        if not write & 1023:
            tick()
    total = 0
    for node in nodes:
        if node.a:
            total += node.a.value
        if node.b:
            total += 2 * node.b.value
    return total


def new_list(length):
    head = None
    for i in range(length):
        node = Node(i & 255)
        node.a = head
        head = node
        if not i & 65535:
            tick()
    return head


def linked_list():
    total = 0
    for _ in range(2):
        first_tick()
        head = new_list(LIST)
        node = head
        while node is not None:
            total += node.value
            node = node.a
        first_tick()
        head = None
        tick()
    return total


def new_live_heap():
    nodes = new_nodes()
    for i in range(LIVE):
        nodes[i].a = nodes[(i + 1) & (LIVE - 1)]
        nodes[i].b = nodes[below(LIVE)]
    return nodes


def new_ring_of_four(live):
    first = previous = Node(1)
    first.b = live
    for _ in range(3):
        node = Node(2)
        node.b = previous
        previous.a = node
        previous = node
    previous.a = first
    return first


def bigheap():
    live = new_live_heap()
    total = 0
    first_tick()
    for turn in range(ROUNDS):
        ring = new_ring_of_four(live[below(LIVE)])
        total += ring.a.a.value + ring.b.value
        if not turn & 15:
            tick()
    return total


def fifo():
    live = new_live_heap()
    queue = [None] * QUEUE
    total = 0
    first_tick()
    for turn in range(ROUNDS):
        ring = new_ring_of_four(live[below(LIVE)])
        total += ring.a.a.value + ring.b.value
        queue[turn & (QUEUE - 1)] = ring
        if not turn & 15:
            tick()
    return total


class Entry:
    __slots__ = ("previous", "next", "chain", "key", "value")

    def __init__(self, key, value):
        self.previous = self.next = self.chain = None
        self.key = key
        self.value = value


def lru():
    capacity = 1 << 16
    buckets = [None] * capacity
    ring = Entry(-1, 0)
    ring.previous = ring.next = ring
    entries = total = 0
    first_tick()
    for access in range(1 << 22):
        key = (word() >> 14) & (word() >> 14)
        bucket = key & (capacity - 1)
        entry = buckets[bucket]
        while entry is not None and entry.key != key:
            entry = entry.chain
        if entry is not None:
            total += entry.value
            entry.previous.next = entry.next
            entry.next.previous = entry.previous
        else:
            if entries == capacity:
                oldest = ring.previous
                oldest.previous.next = ring
                ring.previous = oldest.previous
                home = oldest.key & (capacity - 1)
                before = buckets[home]
                if before is oldest:
                    buckets[home] = oldest.chain
                else:
                    while before.chain is not oldest:
                        before = before.chain
                    before.chain = oldest.chain
                entries -= 1
            entry = Entry(key, key & 15)
            entry.chain = buckets[bucket]
            buckets[bucket] = entry
            entries += 1
        entry.next = ring.next
        entry.previous = ring
        ring.next.previous = entry
        ring.next = entry
        if not access & 63:
            tick()
    return total + entries


def new_ring(length):
    first = previous = Node(length)
    for i in range(1, length):
        node = Node(i)
        node.b = previous
        previous.a = node
        previous = node
    previous.a = first
    first.b = previous
    return first


def rings():
    pool = [new_ring(3 + below(6)) for _ in range(POOL)]
    total = 0
    first_tick()
    for replacement in range(REPLACEMENTS):
        i = below(POOL)
        length = 3 + below(6)
        total += pool[i].value + pool[i].b.value
        pool[i] = new_ring(length)
        if not replacement & 15:
            tick()
    return total


class Family:
    __slots__ = ("parent", "left", "right", "value")

    def __init__(self, parent, value):
        self.parent = parent
        self.left = self.right = None
        self.value = value


def build_family(parent, height):
    tree = Family(parent, height)
    if height > 0:
        tree.left = build_family(tree, height - 1)
        tree.right = build_family(tree, height - 1)
    return tree


def parents():
    root = build_family(None, DEPTH)
    total = 0
    first_tick()
    for replacement in range(REPLACEMENTS):
        drawn = word() >> 16 | 1 << (DEPTH - 5)
        height = (drawn & -drawn).bit_length() - 1
        turns = word()
        parent = root
        for _ in range(DEPTH - 1 - height):
            parent = parent.left if turns & 0x80000000 else parent.right
            turns <<= 1
        if turns & 0x80000000:
            total += parent.left.value
            parent.left = build_family(parent, height)
            total += parent.left.parent.value
        else:
            total += parent.right.value
            parent.right = build_family(parent, height)
            total += parent.right.parent.value
        node = parent
        while node is not None:
            total += 1
            node = node.parent
        if not replacement & 15:
            tick()
    return total


NEW, OPEN, DONE = 0, 1, 2


class Loop:
    __slots__ = ("parent", "header", "latches")

    def __init__(self, parent, header):
        self.parent = parent
        self.header = header
        self.latches = 0


class Edge:
    __slots__ = ("source", "target", "next_out", "next_in")

    def __init__(self, source, target):
        self.source = source
        self.target = target
        self.next_out = source.out
        self.next_in = None


class Block:
    __slots__ = ("out", "into", "header_of", "latch_of", "next", "hanging", "state")

    def __init__(self, after):
        self.out = self.into = self.header_of = self.latch_of = self.hanging = None
        self.next = after
        self.state = NEW


def new_block_after(entry):
    entry.next = Block(entry.next)
    return entry.next


def refer(source, target):
    source.out = Edge(source, target)
    return source.out


def connect(source, target):
    edge = refer(source, target)
    edge.next_in = target.into
    target.into = edge


def new_graph(diamonds):
    entry = last = Block(None)
    for _ in range(diamonds):
        left = new_block_after(entry)
        right = new_block_after(entry)
        join = new_block_after(entry)
        connect(join, last)
        connect(last, left)
        connect(last, right)
        connect(left, join)
        connect(right, join)
        last = join
    connect(last, entry)
    return entry


def find_loops(entry, block):
    found = 0
    block.state = OPEN
    edge = block.out
    while edge is not None:
        target = edge.target
        if target.state == NEW:
            found += find_loops(entry, target)
        elif target.state == OPEN:
            if target.header_of is None:
                target.header_of = Loop(entry.header_of, target)
            loop = block.latch_of = target.header_of
            loop.latches += 1
            found += loop.latches
        edge = edge.next_out
    block.state = DONE
    return found


def havlak():
    parts = LIVE // 40
    entries = []
    total = 0
    for i in range(parts):
        entries.append(new_graph(4))
        total += find_loops(entries[i], entries[i])
    for entry in entries:
        connect(entry.next, entries[below(parts)])
    first_tick()
    for replacement in range(REPLACEMENTS // 2):
        at = entries[below(parts)]
        graph = new_graph(1 + below(3))
        refer(graph.next, at.next)
        total += find_loops(graph, graph)
        if word() >> 31:
            if at.hanging is not None:
                total += at.hanging.header_of.latches
            at.hanging = graph
        if not replacement & 15:
            tick()
    return total


def toggle():
    global gap_max
    first_tick()
    keeper = Node(0)
    holder = Node(0)
    keeper.a = new_list(LIVE)
    total = 0
    gap_max = 0.0
    first_tick()
    for turn in range(4 * ROUNDS):
        holder.a = keeper.a if word() >> 31 else None
        total += new_ring_of_four(None).a.a.value + (holder.a.value if holder.a is not None else 1)
        if not turn & 15:
            tick()
    node = keeper.a
    while node is not None:
        total += node.value
        node = node.a
    return total


WORKLOADS = {
    "bintrees16": lambda: bintrees(16), "bintrees18": lambda: bintrees(18), "gcbench": gcbench, "cycles": cycles,
    "mutate": lambda: mutate(10), "sustained": lambda: mutate(100), "list": linked_list, "bigheap": bigheap, "fifo": fifo,
    "lru": lru, "rings": rings, "parents": parents, "havlak": havlak, "toggle": toggle, "nop": lambda: 0,
}
workload = sys.argv[1]
if workload not in WORKLOADS:
    print(f'no workload "{workload}"', file=sys.stderr)
    sys.exit(2)
result = WORKLOADS[workload]()
print(f"{workload} sum={result} gap_us={int(gap_max * 1e6)}")
