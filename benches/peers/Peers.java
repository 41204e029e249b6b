/** The workloads of benches/workloads in Java: {@code java Peers WORKLOAD} prints {@code WORKLOAD sum=S gap_us=G}. */
public final class Peers {
    static final int LIVE = 1 << 20, ROUNDS = 1 << 20, QUEUE = 1 << 16, LIST = 10_000_000, POOL = 200_000, REPLACEMENTS = 250_000, DEPTH = 17;

    // Random numbers and the longest gap, as in workload.h.
    static int state = 12345;
    static int word() { return state = state * 1664525 + 1013904223; }
    static int index(int bits) { return word() >>> (32 - bits); }
    static int below(int bound) { return (int) ((word() & 0xffffffffL) * bound >>> 32); }
    static long lastTick, gapMax;
    static void firstTick() { lastTick = System.nanoTime(); }
    static void tick() {
        long now = System.nanoTime();
        gapMax = Math.max(gapMax, now - lastTick);
        lastTick = now;
    }

    static final class Tree {
        Tree left, right;
        Tree(Tree left, Tree right) { this.left = left; this.right = right; }
    }
    static Tree build(int depth) {
        return depth > 0 ? new Tree(build(depth - 1), build(depth - 1)) : new Tree(null, null);
    }
    static int count(Tree tree) { return tree.left != null ? 1 + count(tree.left) + count(tree.right) : 1; }
    static long bintrees(int depthMax) {
        long sum = count(build(depthMax + 1));
        Tree longLived = build(depthMax);
        for (int depth = 4; depth <= depthMax; depth += 2) {
            int trees = 1 << (depthMax - depth + 4);
            for (int i = 0; i < trees; i++) sum += count(build(depth));
        }
        return sum + count(longLived);
    }

    static final class Numbered {
        Numbered left, right;
        int i, j;
        Numbered(Numbered left, Numbered right) { this.left = left; this.right = right; }
    }
    static void populate(int depth, Numbered tree) {
        if (depth <= 0) return;
        tree.left = new Numbered(null, null);
        tree.right = new Numbered(null, null);
        populate(depth - 1, tree.left);
        populate(depth - 1, tree.right);
    }
    static Numbered buildNumbered(int depth) {
        if (depth <= 0) return new Numbered(null, null);
        Numbered left = buildNumbered(depth - 1), right = buildNumbered(depth - 1);
        return new Numbered(left, right);
    }
    static int sizeOfTree(int depth) { return (1 << (depth + 1)) - 1; }
    static long gcbench() {
        buildNumbered(18);
        Numbered longLived = new Numbered(null, null);
        populate(16, longLived);
        double[] numbers = new double[500_000];
        for (int i = 0; i < 250_000; i++) numbers[i] = 1.0 / (i + 1);
        for (int depth = 4; depth <= 16; depth += 2) {
            int trees = 2 * sizeOfTree(18) / sizeOfTree(depth);
            for (int i = 0; i < trees; i++) populate(depth, new Numbered(null, null));
            for (int i = 0; i < trees; i++) buildNumbered(depth);
        }
        long sum = (long) (numbers[1000] * 1e6);
        for (Numbered tree = longLived; tree != null; tree = tree.left) sum++;
        return sum;
    }

    static final class Node {
        Node a, b;
        long value;
        Node(long value) { this.value = value; }
    }
    static long sumOfRing(int length, boolean chords) {
        Node first = new Node(0), previous = first, chord = first;
        first.b = first;
        for (int i = 1; i < length; i++) {
            Node node = new Node(i & 255);
            previous.a = node;
            node.b = chords ? chord : previous;
            previous = node;
            if (chords) chord = word() >>> 30 == 0 ? node : chord.a;
        }
        previous.a = first;
        if (!chords) first.b = previous;
        long sum = 0;
        Node node = first;
        for (int i = 0; i < length; i++, node = node.a) sum += node.value;
        return sum;
    }
    static long cycles() {
        long sum = 0, sinceTick = 0;
        firstTick();
        for (int length : new int[] {4, 64, 1024, 65536}) {
            for (int shape = 0; shape < 2; shape++) {
                for (int i = 0; i < (1 << 20) / length; i++) {
                    sum += sumOfRing(length, shape == 1);
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

    static Node[] newNodes() {
        Node[] nodes = new Node[LIVE];
        for (int i = 0; i < LIVE; i++) nodes[i] = new Node(i & 255);
        return nodes;
    }
    static long mutate(int writesPerObject) {
        Node[] nodes = newNodes();
        firstTick();
        for (int write = 0; write < writesPerObject * LIVE; write++) {
            int from = below(LIVE), to = below(LIVE);
            if (word() >>> 31 != 0) nodes[from].a = nodes[to];
            else nodes[from].b = nodes[to];
            if ((write & 1023) == 0) tick();
        }
        long sum = 0;
        for (Node node : nodes) {
            if (node.a != null) sum += node.a.value;
            if (node.b != null) sum += 2 * node.b.value;
        }
        return sum;
    }

    static long list() {
        long sum = 0;
        for (int round = 0; round < 2; round++) {
            Node head = null;
            firstTick();
            for (int i = 0; i < LIST; i++) {
                Node node = new Node(i & 255);
                node.a = head;
                head = node;
                if ((i & 65535) == 0) tick();
            }
            for (Node node = head; node != null; node = node.a) sum += node.value;
            firstTick();
            head = null;
            tick();
        }
        return sum;
    }

    static Node[] newLiveHeap() {
        Node[] nodes = newNodes();
        for (int i = 0; i < LIVE; i++) {
            nodes[i].b = nodes[below(LIVE)];
            nodes[i].a = nodes[i + 1 < LIVE ? i + 1 : 0];
        }
        return nodes;
    }
    static Node newRingOfFour(Node live) {
        Node first = new Node(1), previous = first;
        first.b = live;
        for (int i = 0; i < 3; i++) {
            Node node = new Node(2);
            node.b = previous;
            previous.a = node;
            previous = node;
        }
        previous.a = first;
        return first;
    }
    static long bigheap() {
        Node[] live = newLiveHeap();
        long sum = 0;
        firstTick();
        for (int round = 0; round < ROUNDS; round++) {
            Node ring = newRingOfFour(live[below(LIVE)]);
            sum += ring.a.a.value + ring.b.value;
            if ((round & 15) == 0) tick();
        }
        return sum;
    }
    static long fifo() {
        Node[] live = newLiveHeap(), queue = new Node[QUEUE];
        long sum = 0;
        firstTick();
        for (int round = 0; round < ROUNDS; round++) {
            Node ring = newRingOfFour(live[below(LIVE)]);
            sum += ring.a.a.value + ring.b.value;
            queue[round & (QUEUE - 1)] = ring;
            if ((round & 15) == 0) tick();
        }
        return sum;
    }

    static final class Entry {
        Entry previous, next, chain;
        long key, value;
        Entry(long key, long value) { this.key = key; this.value = value; }
    }
    static long lru() {
        int capacity = 1 << 16, entries = 0;
        Entry[] buckets = new Entry[capacity];
        Entry ring = new Entry(-1, 0);
        ring.previous = ring.next = ring;
        long sum = 0;
        firstTick();
        for (int access = 0; access < 1 << 22; access++) {
            int key = index(18);
            key &= index(18);
            int bucket = key & (capacity - 1);
            Entry entry = buckets[bucket];
            while (entry != null && entry.key != key) entry = entry.chain;
            if (entry != null) {
                sum += entry.value;
                entry.previous.next = entry.next;
                entry.next.previous = entry.previous;
            } else {
                if (entries == capacity) {
                    Entry oldest = ring.previous;
                    oldest.previous.next = ring;
                    ring.previous = oldest.previous;
                    int home = (int) oldest.key & (capacity - 1);
                    Entry before = buckets[home];
                    if (before == oldest) {
                        buckets[home] = oldest.chain;
                    } else {
                        while (before.chain != oldest) before = before.chain;
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
            if ((access & 63) == 0) tick();
        }
        return sum + entries;
    }

    static Node newRing(int length) {
        Node first = new Node(length), previous = first;
        for (int i = 1; i < length; i++) {
            Node node = new Node(i);
            node.b = previous;
            previous.a = node;
            previous = node;
        }
        previous.a = first;
        first.b = previous;
        return first;
    }
    static long rings() {
        Node[] pool = new Node[POOL];
        for (int i = 0; i < POOL; i++) pool[i] = newRing(3 + below(6));
        long sum = 0;
        firstTick();
        for (int replacement = 0; replacement < REPLACEMENTS; replacement++) {
            int i = below(POOL), length = 3 + below(6);
            sum += pool[i].value + pool[i].b.value;
            pool[i] = newRing(length);
            if ((replacement & 15) == 0) tick();
        }
        return sum;
    }

    static final class Family {
        Family parent, left, right;
        long value;
    }
    static Family buildFamily(Family parent, int height) {
        Family tree = new Family();
        tree.parent = parent;
        tree.value = height;
        if (height > 0) {
            tree.left = buildFamily(tree, height - 1);
            tree.right = buildFamily(tree, height - 1);
        }
        return tree;
    }
    static long parents() {
        Family tree = buildFamily(null, DEPTH);
        long sum = 0;
        firstTick();
        for (int replacement = 0; replacement < REPLACEMENTS; replacement++) {
            int height = Integer.numberOfTrailingZeros(word() >>> 16 | 1 << (DEPTH - 5));
            int turns = word();
            Family parent = tree;
            for (int above = DEPTH - 1; above > height; above--, turns <<= 1) parent = turns < 0 ? parent.left : parent.right;
            if (turns < 0) {
                sum += parent.left.value;
                parent.left = buildFamily(parent, height);
                sum += parent.left.parent.value;
            } else {
                sum += parent.right.value;
                parent.right = buildFamily(parent, height);
                sum += parent.right.parent.value;
            }
            for (Family node = parent; node != null; node = node.parent) sum++;
            if ((replacement & 15) == 0) tick();
        }
        return sum;
    }

    static final class Loop {
        Loop parent;
        Block header;
        long latches;
    }
    static final class Edge {
        Block from, to;
        Edge nextOut, nextIn;
    }
    static final int NEW = 0, OPEN = 1, DONE = 2;
    static final class Block {
        Edge out, in;
        Loop headerOf, latchOf;
        Block next, hanging;
        int state = NEW;
    }
    static Block newBlockAfter(Block entry) {
        Block block = new Block();
        block.next = entry.next;
        entry.next = block;
        return block;
    }
    static Edge refer(Block from, Block to) {
        Edge edge = new Edge();
        edge.from = from;
        edge.to = to;
        edge.nextOut = from.out;
        from.out = edge;
        return edge;
    }
    static void connect(Block from, Block to) {
        Edge edge = refer(from, to);
        edge.nextIn = to.in;
        to.in = edge;
    }
    static Block newGraph(int diamonds) {
        Block entry = new Block(), last = entry;
        for (int i = 0; i < diamonds; i++) {
            Block left = newBlockAfter(entry), right = newBlockAfter(entry), join = newBlockAfter(entry);
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
    static long findLoops(Block entry, Block block) {
        long found = 0;
        block.state = OPEN;
        for (Edge edge = block.out; edge != null; edge = edge.nextOut) {
            Block to = edge.to;
            if (to.state == NEW) {
                found += findLoops(entry, to);
            } else if (to.state == OPEN) {
                if (to.headerOf == null) {
                    Loop loop = new Loop();
                    loop.parent = entry.headerOf;
                    loop.header = to;
                    to.headerOf = loop;
                }
                block.latchOf = to.headerOf;
                found += ++block.latchOf.latches;
            }
        }
        block.state = DONE;
        return found;
    }
    static long havlak() {
        int parts = LIVE / 40;
        Block[] entries = new Block[parts];
        long sum = 0;
        for (int i = 0; i < parts; i++) {
            entries[i] = newGraph(4);
            sum += findLoops(entries[i], entries[i]);
        }
        for (int i = 0; i < parts; i++) connect(entries[i].next, entries[below(parts)]);
        firstTick();
        for (int replacement = 0; replacement < REPLACEMENTS / 2; replacement++) {
            Block at = entries[below(parts)], graph = newGraph(1 + below(3));
            refer(graph.next, at.next);
            sum += findLoops(graph, graph);
            if (word() < 0) {
                if (at.hanging != null) sum += at.hanging.headerOf.latches;
                at.hanging = graph;
            }
            if ((replacement & 15) == 0) tick();
        }
        return sum;
    }

    static long toggle() {
        Node head = null;
        for (int i = 0; i < LIVE; i++) {
            Node node = new Node(i & 255);
            node.a = head;
            head = node;
        }
        Node keeper = new Node(0), holder = new Node(0);
        keeper.a = head;
        head = null;
        long sum = 0;
        firstTick();
        for (int round = 0; round < 4 * ROUNDS; round++) {
            holder.a = word() < 0 ? keeper.a : null;
            sum += newRingOfFour(null).a.a.value + (holder.a != null ? holder.a.value : 1);
            if ((round & 15) == 0) tick();
        }
        for (Node node = keeper.a; node != null; node = node.a) sum += node.value;
        return sum;
    }

    static long run(String workload) {
        switch (workload) {
            case "bintrees16": return bintrees(16);
            case "bintrees18": return bintrees(18);
            case "gcbench": return gcbench();
            case "cycles": return cycles();
            case "mutate": return mutate(10);
            case "sustained": return mutate(100);
            case "list": return list();
            case "bigheap": return bigheap();
            case "fifo": return fifo();
            case "lru": return lru();
            case "rings": return rings();
            case "parents": return parents();
            case "havlak": return havlak();
            case "toggle": return toggle();
            case "nop": return 0;
            default:
                System.err.println("no workload \"" + workload + "\"");
                System.exit(2);
                return 0;
        }
    }

    public static void main(String[] arguments) {
        String workload = arguments[0];
        System.out.println(workload + " sum=" + run(workload) + " gap_us=" + gapMax / 1000);
    }
}
