<?php
// The workloads of benches/workloads in PHP: `php peers.php WORKLOAD` prints `WORKLOAD sum=S gap_us=G`.
const LIVE = 1 << 20, ROUNDS = 1 << 20, QUEUE = 1 << 16, LENGTH = 10000000, POOL = 200000, REPLACEMENTS = 250000, DEPTH = 17;

// Random numbers and the longest gap, as in workload.h.
$state = 12345;
function word() { global $state; return $state = ($state * 1664525 + 1013904223) & 0xffffffff; }
function below($bound) { return word() * $bound >> 32; }
$lastTick = $gapMax = 0;
function firstTick() { global $lastTick; $lastTick = hrtime(true); }
function tick() {
    global $lastTick, $gapMax;
    $now = hrtime(true);
    if ($now - $lastTick > $gapMax) $gapMax = $now - $lastTick;
    $lastTick = $now;
}

final class Tree {
    function __construct(public $left, public $right) {}
}
function build($depth) { return $depth > 0 ? new Tree(build($depth - 1), build($depth - 1)) : new Tree(null, null); }
function nodes($tree) { return $tree->left !== null ? 1 + nodes($tree->left) + nodes($tree->right) : 1; }
function bintrees($depthMax) {
    $sum = nodes(build($depthMax + 1));
    $longLived = build($depthMax);
    for ($depth = 4; $depth <= $depthMax; $depth += 2) {
        $trees = 1 << ($depthMax - $depth + 4);
        for ($i = 0; $i < $trees; $i++) $sum += nodes(build($depth));
    }
    return $sum + nodes($longLived);
}

final class Numbered {
    public $i = 0, $j = 0;
    function __construct(public $left, public $right) {}
}
function populate($depth, $tree) {
    if ($depth <= 0) return;
    $tree->left = new Numbered(null, null);
    $tree->right = new Numbered(null, null);
    populate($depth - 1, $tree->left);
    populate($depth - 1, $tree->right);
}
function buildNumbered($depth) {
    if ($depth <= 0) return new Numbered(null, null);
    $left = buildNumbered($depth - 1);
    $right = buildNumbered($depth - 1);
    return new Numbered($left, $right);
}
function sizeOfTree($depth) { return (1 << ($depth + 1)) - 1; }
function gcbench() {
    buildNumbered(18);
    $longLived = new Numbered(null, null);
    populate(16, $longLived);
    $numbers = [];
    for ($i = 0; $i < 250000; $i++) $numbers[$i] = 1.0 / ($i + 1);
    for ($depth = 4; $depth <= 16; $depth += 2) {
        $trees = intdiv(2 * sizeOfTree(18), sizeOfTree($depth));
        for ($i = 0; $i < $trees; $i++) populate($depth, new Numbered(null, null));
        for ($i = 0; $i < $trees; $i++) buildNumbered($depth);
    }
    $sum = (int)($numbers[1000] * 1e6);
    for ($tree = $longLived; $tree; $tree = $tree->left) $sum++;
    return $sum;
}

final class Node {
    public $a = null, $b = null;
    function __construct(public $value) {}
}
function sumOfRing($length, $chords) {
    $first = $previous = $chord = new Node(0);
    $first->b = $first;
    for ($i = 1; $i < $length; $i++) {
        $node = new Node($i & 255);
        $previous->a = $node;
        $node->b = $chords ? $chord : $previous;
        $previous = $node;
        if ($chords) $chord = word() >> 30 === 0 ? $node : $chord->a;
    }
    $previous->a = $first;
    if (!$chords) $first->b = $previous;
    $sum = 0;
    for ($i = 0, $node = $first; $i < $length; $i++, $node = $node->a) $sum += $node->value;
    return $sum;
}
function cycles() {
    $sum = $sinceTick = 0;
    firstTick();
    foreach ([4, 64, 1024, 65536] as $length) {
        foreach ([false, true] as $chords) {
            for ($i = 0; $i < intdiv(1 << 20, $length); $i++) {
                $sum += sumOfRing($length, $chords);
                $sinceTick += $length;
                if ($sinceTick >= 256) {
                    $sinceTick = 0;
                    tick();
                }
            }
        }
    }
    return $sum;
}

function newNodes() {
    $nodes = [];
    for ($i = 0; $i < LIVE; $i++) $nodes[] = new Node($i & 255);
    return $nodes;
}
function mutate($writesPerObject) {
    $nodes = newNodes();
    firstTick();
    for ($write = 0; $write < $writesPerObject * LIVE; $write++) {
        $from = below(LIVE);
        $to = below(LIVE);
        if (word() >> 31) $nodes[$from]->a = $nodes[$to];
        else $nodes[$from]->b = $nodes[$to];
        if (!($write & 1023)) tick();
    }
    $sum = 0;
    for ($i = 0; $i < LIVE; $i++) {
        $node = $nodes[$i];
        if ($node->a) $sum += $node->a->value;
        if ($node->b) $sum += 2 * $node->b->value;
    }
    return $sum;
}

function newList($length) {
    $head = null;
    for ($i = 0; $i < $length; $i++) {
        $node = new Node($i & 255);
        $node->a = $head;
        $head = $node;
        if (!($i & 65535)) tick();
    }
    return $head;
}
function linkedList() {
    $sum = 0;
    for ($round = 0; $round < 2; $round++) {
        firstTick();
        $head = newList(LENGTH);
        for ($node = $head; $node; $node = $node->a) $sum += $node->value;
        firstTick();
        $head = null;
        tick();
    }
    return $sum;
}

function newLiveHeap() {
    $nodes = newNodes();
    for ($i = 0; $i < LIVE; $i++) {
        $nodes[$i]->a = $nodes[($i + 1) & (LIVE - 1)];
        $nodes[$i]->b = $nodes[below(LIVE)];
    }
    return $nodes;
}
function newRingOfFour($live) {
    $first = $previous = new Node(1);
    $first->b = $live;
    for ($i = 0; $i < 3; $i++) {
        $node = new Node(2);
        $node->b = $previous;
        $previous->a = $node;
        $previous = $node;
    }
    $previous->a = $first;
    return $first;
}
function bigheap() {
    $live = newLiveHeap();
    $sum = 0;
    firstTick();
    for ($round = 0; $round < ROUNDS; $round++) {
        $ring = newRingOfFour($live[below(LIVE)]);
        $sum += $ring->a->a->value + $ring->b->value;
        if (!($round & 15)) tick();
    }
    return $sum;
}
function fifo() {
    $live = newLiveHeap();
    $queue = array_fill(0, QUEUE, null);
    $sum = 0;
    firstTick();
    for ($round = 0; $round < ROUNDS; $round++) {
        $ring = newRingOfFour($live[below(LIVE)]);
        $sum += $ring->a->a->value + $ring->b->value;
        $queue[$round & (QUEUE - 1)] = $ring;
        if (!($round & 15)) tick();
    }
    return $sum;
}

final class Entry {
    public $previous = null, $next = null, $chain = null;
    function __construct(public $key, public $value) {}
}
function lru() {
    $capacity = 1 << 16;
    $buckets = array_fill(0, $capacity, null);
    $ring = new Entry(-1, 0);
    $ring->previous = $ring->next = $ring;
    $entries = $sum = 0;
    firstTick();
    for ($access = 0; $access < (1 << 22); $access++) {
        $key = (word() >> 14) & (word() >> 14);
        $bucket = $key & ($capacity - 1);
        $entry = $buckets[$bucket];
        while ($entry !== null && $entry->key !== $key) $entry = $entry->chain;
        if ($entry !== null) {
            $sum += $entry->value;
            $entry->previous->next = $entry->next;
            $entry->next->previous = $entry->previous;
        } else {
            if ($entries === $capacity) {
                $oldest = $ring->previous;
                $oldest->previous->next = $ring;
                $ring->previous = $oldest->previous;
                $home = $oldest->key & ($capacity - 1);
                $before = $buckets[$home];
                if ($before === $oldest) {
                    $buckets[$home] = $oldest->chain;
                } else {
                    while ($before->chain !== $oldest) $before = $before->chain;
                    $before->chain = $oldest->chain;
                }
                $entries--;
            }
            $entry = new Entry($key, $key & 15);
            $entry->chain = $buckets[$bucket];
            $buckets[$bucket] = $entry;
            $entries++;
        }
        $entry->next = $ring->next;
        $entry->previous = $ring;
        $ring->next->previous = $entry;
        $ring->next = $entry;
        if (!($access & 63)) tick();
    }
    return $sum + $entries;
}

function newRing($length) {
    $first = $previous = new Node($length);
    for ($i = 1; $i < $length; $i++) {
        $node = new Node($i);
        $node->b = $previous;
        $previous->a = $node;
        $previous = $node;
    }
    $previous->a = $first;
    $first->b = $previous;
    return $first;
}
function rings() {
    $pool = [];
    for ($i = 0; $i < POOL; $i++) $pool[] = newRing(3 + below(6));
    $sum = 0;
    firstTick();
    for ($replacement = 0; $replacement < REPLACEMENTS; $replacement++) {
        $i = below(POOL);
        $length = 3 + below(6);
        $sum += $pool[$i]->value + $pool[$i]->b->value;
        $pool[$i] = newRing($length);
        if (!($replacement & 15)) tick();
    }
    return $sum;
}

final class Family {
    public $left = null, $right = null;
    function __construct(public $parent, public $value) {}
}
function buildFamily($parent, $height) {
    $tree = new Family($parent, $height);
    if ($height > 0) {
        $tree->left = buildFamily($tree, $height - 1);
        $tree->right = buildFamily($tree, $height - 1);
    }
    return $tree;
}
function parents() {
    $root = buildFamily(null, DEPTH);
    $sum = 0;
    firstTick();
    for ($replacement = 0; $replacement < REPLACEMENTS; $replacement++) {
        $drawn = word() >> 16 | 1 << (DEPTH - 5);
        for ($height = 0; !($drawn >> $height & 1); ) $height++;
        $turns = word();
        $parent = $root;
        for ($above = DEPTH - 1; $above > $height; $above--, $turns <<= 1)
            $parent = $turns & 0x80000000 ? $parent->left : $parent->right;
        if ($turns & 0x80000000) {
            $sum += $parent->left->value;
            $parent->left = buildFamily($parent, $height);
            $sum += $parent->left->parent->value;
        } else {
            $sum += $parent->right->value;
            $parent->right = buildFamily($parent, $height);
            $sum += $parent->right->parent->value;
        }
        for ($node = $parent; $node; $node = $node->parent) $sum++;
        if (!($replacement & 15)) tick();
    }
    return $sum;
}

const UNSEEN = 0, OPEN = 1, DONE = 2;
final class Loop {
    public $latches = 0;
    function __construct(public $parent, public $header) {}
}
final class Edge {
    public $nextIn = null;
    function __construct(public $from, public $to, public $nextOut) {}
}
final class Block {
    public $out = null, $into = null, $headerOf = null, $latchOf = null, $hanging = null, $state = UNSEEN;
    function __construct(public $next) {}
}
function newBlockAfter($entry) { return $entry->next = new Block($entry->next); }
function refer($from, $to) { return $from->out = new Edge($from, $to, $from->out); }
function connect($from, $to) {
    $edge = refer($from, $to);
    $edge->nextIn = $to->into;
    $to->into = $edge;
}
function newGraph($diamonds) {
    $entry = $last = new Block(null);
    for ($i = 0; $i < $diamonds; $i++) {
        $left = newBlockAfter($entry);
        $right = newBlockAfter($entry);
        $join = newBlockAfter($entry);
        connect($join, $last);
        connect($last, $left);
        connect($last, $right);
        connect($left, $join);
        connect($right, $join);
        $last = $join;
    }
    connect($last, $entry);
    return $entry;
}
function findLoops($entry, $block) {
    $found = 0;
    $block->state = OPEN;
    for ($edge = $block->out; $edge; $edge = $edge->nextOut) {
        $to = $edge->to;
        if ($to->state === UNSEEN) {
            $found += findLoops($entry, $to);
        } elseif ($to->state === OPEN) {
            if (!$to->headerOf) $to->headerOf = new Loop($entry->headerOf, $to);
            $block->latchOf = $to->headerOf;
            $found += ++$block->latchOf->latches;
        }
    }
    $block->state = DONE;
    return $found;
}
function havlak() {
    $parts = intdiv(LIVE, 40);
    $entries = [];
    $sum = 0;
    for ($i = 0; $i < $parts; $i++) {
        $entries[] = newGraph(4);
        $sum += findLoops($entries[$i], $entries[$i]);
    }
    for ($i = 0; $i < $parts; $i++) connect($entries[$i]->next, $entries[below($parts)]);
    firstTick();
    for ($replacement = 0; $replacement < intdiv(REPLACEMENTS, 2); $replacement++) {
        $at = $entries[below($parts)];
        $graph = newGraph(1 + below(3));
        refer($graph->next, $at->next);
        $sum += findLoops($graph, $graph);
        if (word() >> 31) {
            if ($at->hanging) $sum += $at->hanging->headerOf->latches;
            $at->hanging = $graph;
        }
        if (!($replacement & 15)) tick();
    }
    return $sum;
}

function toggle() {
    global $gapMax;
    firstTick();
    $keeper = new Node(0);
    $holder = new Node(0);
    $keeper->a = newList(LIVE);
    $sum = $gapMax = 0;
    firstTick();
    for ($round = 0; $round < 4 * ROUNDS; $round++) {
        $holder->a = word() >> 31 ? $keeper->a : null;
        $sum += newRingOfFour(null)->a->a->value + ($holder->a ? $holder->a->value : 1);
        if (!($round & 15)) tick();
    }
    for ($node = $keeper->a; $node; $node = $node->a) $sum += $node->value;
    return $sum;
}

$workloads = [
    'bintrees16' => fn() => bintrees(16), 'bintrees18' => fn() => bintrees(18), 'gcbench' => fn() => gcbench(),
    'cycles' => fn() => cycles(), 'mutate' => fn() => mutate(10), 'sustained' => fn() => mutate(100), 'list' => fn() => linkedList(),
    'bigheap' => fn() => bigheap(), 'fifo' => fn() => fifo(), 'lru' => fn() => lru(), 'rings' => fn() => rings(),
    'parents' => fn() => parents(), 'havlak' => fn() => havlak(), 'toggle' => fn() => toggle(), 'nop' => fn() => 0,
];
$workload = $argv[1];
if (!isset($workloads[$workload])) {
    fwrite(STDERR, "no workload \"$workload\"\n");
    exit(2);
}
$sum = $workloads[$workload]();
echo "$workload sum=$sum gap_us=", intdiv($gapMax, 1000), "\n";
