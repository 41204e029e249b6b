## The workloads of benches/workloads in Nim: `nim WORKLOAD` prints `WORKLOAD sum=S gap_us=G`.
import std/[bitops, monotimes, os]

const
  live = 1 shl 20
  rounds = 1 shl 20
  queueLength = 1 shl 16
  listLength = 10_000_000
  poolLength = 200_000
  replacements = 250_000
  treeDepth = 17

# Random numbers and the longest gap, as in workload.h.
var state = 12345'u32
proc word(): uint32 {.inline.} =
  state = state * 1664525'u32 + 1013904223'u32
  state
proc index(bits: int): int {.inline.} = int(word() shr (32 - bits))
proc below(bound: int): int {.inline.} = int(uint64(word()) * uint64(bound) shr 32)

var lastTick, gapMax: int64
proc firstTick() {.inline.} = lastTick = getMonoTime().ticks
proc tick() {.inline.} =
  let now = getMonoTime().ticks
  if now - lastTick > gapMax: gapMax = now - lastTick
  lastTick = now

type Tree = ref object
  left, right: Tree

proc build(depth: int): Tree =
  if depth > 0: Tree(left: build(depth - 1), right: build(depth - 1)) else: Tree()

proc count(tree: Tree): int =
  if tree.left != nil: 1 + count(tree.left) + count(tree.right) else: 1

proc bintrees(depthMax: int): int =
  block:
    let stretch = build(depthMax + 1)
    result += count(stretch)
  let longLived = build(depthMax)
  for depth in countup(4, depthMax, 2):
    for i in 0 ..< (1 shl (depthMax - depth + 4)):
      let tree = build(depth)
      result += count(tree)
  result += count(longLived)

type Numbered = ref object
  left, right: Numbered
  i, j: int32

proc populate(depth: int, tree: Numbered) =
  if depth <= 0: return
  tree.left = Numbered()
  tree.right = Numbered()
  populate(depth - 1, tree.left)
  populate(depth - 1, tree.right)

proc buildNumbered(depth: int): Numbered =
  if depth <= 0: return Numbered()
  let left = buildNumbered(depth - 1)
  let right = buildNumbered(depth - 1)
  Numbered(left: left, right: right)

proc sizeOfTree(depth: int): int = (1 shl (depth + 1)) - 1

proc gcbench(): int =
  block:
    let stretch = buildNumbered(18)
    doAssert stretch.left != nil
  let longLived = Numbered()
  populate(16, longLived)
  var numbers = newSeq[float](500_000)
  for i in 0 ..< 250_000: numbers[i] = 1.0 / float(i + 1)
  for depth in countup(4, 16, 2):
    let trees = 2 * sizeOfTree(18) div sizeOfTree(depth)
    for i in 0 ..< trees:
      let tree = Numbered()
      populate(depth, tree)
    for i in 0 ..< trees:
      let tree = buildNumbered(depth)
      doAssert tree.left != nil
  result = int(numbers[1000] * 1e6)
  var tree = longLived
  while tree != nil:
    inc result
    tree = tree.left

type Node = ref object
  a, b: Node
  value: int

proc sumOfRing(length: int, chords: bool): int =
  let first = Node(value: 0)
  var previous = first
  var chord = first
  first.b = first
  for i in 1 ..< length:
    let node = Node(value: i and 255)
    previous.a = node
    if chords:
      node.b = chord
      if (word() shr 30) == 0: chord = node
      else: chord = chord.a
    else:
      node.b = previous
    previous = node
  previous.a = first
  if not chords: first.b = previous
  var node {.cursor.} = first
  for i in 0 ..< length:
    result += node.value
    node = node.a

proc cycles(): int =
  var sinceTick = 0
  firstTick()
  for length in [4, 64, 1024, 65536]:
    for chords in [false, true]:
      for i in 0 ..< (1 shl 20) div length:
        result += sumOfRing(length, chords)
        sinceTick += length
        if sinceTick >= 256:
          sinceTick = 0
          tick()

proc newNodes(): seq[Node] =
  result = newSeq[Node](live)
  for i in 0 ..< live: result[i] = Node(value: i and 255)

proc mutate(writesPerObject: int): int =
  let nodes = newNodes()
  firstTick()
  for write in 0 ..< writesPerObject * live:
    let source = below(live)
    let target = below(live)
    if (word() shr 31) != 0: nodes[source].a = nodes[target]
    else: nodes[source].b = nodes[target]
    if (write and 1023) == 0: tick()
  for i in 0 ..< live:
    if nodes[i].a != nil: result += nodes[i].a.value
    if nodes[i].b != nil: result += 2 * nodes[i].b.value

proc newList(length: int): Node =
  for i in 0 ..< length:
    let node = Node(value: i and 255)
    node.a = result
    result = node
    if (i and 65535) == 0: tick()

proc list(): int =
  for round in 0 ..< 2:
    firstTick()
    block:
      var head = newList(listLength)
      var node {.cursor.} = head
      while node != nil:
        result += node.value
        node = node.a
      firstTick()
      head = nil
    tick()

proc newLiveHeap(): seq[Node] =
  result = newNodes()
  for i in 0 ..< live:
    result[i].a = result[(i + 1) and (live - 1)]
    result[i].b = result[below(live)]

proc newRingOfFour(liveNode: Node): Node =
  result = Node(value: 1)
  var previous = result
  previous.b = liveNode
  for i in 0 ..< 3:
    let node = Node(value: 2)
    node.b = previous
    previous.a = node
    previous = node
  previous.a = result

proc bigheap(): int =
  let nodes = newLiveHeap()
  firstTick()
  for round in 0 ..< rounds:
    let ring = newRingOfFour(nodes[below(live)])
    result += ring.a.a.value + ring.b.value
    if (round and 15) == 0: tick()

proc fifo(): int =
  let nodes = newLiveHeap()
  var queue = newSeq[Node](queueLength)
  firstTick()
  for round in 0 ..< rounds:
    let ring = newRingOfFour(nodes[below(live)])
    result += ring.a.a.value + ring.b.value
    queue[round and (queueLength - 1)] = ring
    if (round and 15) == 0: tick()

type Entry = ref object
  previous, next, chain: Entry
  key, value: int

proc lru(): int =
  const capacity = 1 shl 16
  var buckets = newSeq[Entry](capacity)
  let ring = Entry(key: -1)
  ring.previous = ring
  ring.next = ring
  var entries = 0
  firstTick()
  for access in 0 ..< (1 shl 22):
    let first = index(18)
    let key = first and index(18)
    let bucket = key and (capacity - 1)
    var entry = buckets[bucket]
    while entry != nil and entry.key != key: entry = entry.chain
    if entry != nil:
      result += entry.value
      entry.previous.next = entry.next
      entry.next.previous = entry.previous
    else:
      if entries == capacity:
        let oldest = ring.previous
        oldest.previous.next = ring
        ring.previous = oldest.previous
        let home = oldest.key and (capacity - 1)
        var before {.cursor.} = buckets[home]
        if before == oldest:
          buckets[home] = oldest.chain
        else:
          while before.chain != oldest: before = before.chain
          before.chain = oldest.chain
        dec entries
      entry = Entry(key: key, value: key and 15)
      entry.chain = buckets[bucket]
      buckets[bucket] = entry
      inc entries
    entry.next = ring.next
    entry.previous = ring
    ring.next.previous = entry
    ring.next = entry
    if (access and 63) == 0: tick()
  result += entries

proc newRing(length: int): Node =
  result = Node(value: length)
  var previous = result
  for i in 1 ..< length:
    let node = Node(value: i)
    node.b = previous
    previous.a = node
    previous = node
  previous.a = result
  result.b = previous

proc rings(): int =
  var pool = newSeq[Node](poolLength)
  for i in 0 ..< poolLength: pool[i] = newRing(3 + below(6))
  firstTick()
  for replacement in 0 ..< replacements:
    let i = below(poolLength)
    let length = 3 + below(6)
    result += pool[i].value + pool[i].b.value
    pool[i] = newRing(length)
    if (replacement and 15) == 0: tick()

type Family = ref object
  parent, left, right: Family
  value: int

proc buildFamily(parent: Family, height: int): Family =
  result = Family(parent: parent, value: height)
  if height > 0:
    result.left = buildFamily(result, height - 1)
    result.right = buildFamily(result, height - 1)

proc parents(): int =
  let root = buildFamily(nil, treeDepth)
  firstTick()
  for replacement in 0 ..< replacements:
    let height = countTrailingZeroBits(word() shr 16 or 1'u32 shl (treeDepth - 5))
    var turns = word()
    var parent = root
    for above in 0 ..< treeDepth - 1 - height:
      parent = if (turns shr 31) != 0: parent.left else: parent.right
      turns = turns shl 1
    if (turns shr 31) != 0:
      result += parent.left.value
      parent.left = buildFamily(parent, height)
      result += parent.left.parent.value
    else:
      result += parent.right.value
      parent.right = buildFamily(parent, height)
      result += parent.right.parent.value
    var tree {.cursor.} = parent
    while tree != nil:
      inc result
      tree = tree.parent
    if (replacement and 15) == 0: tick()

type
  Step = enum unseen, opened, done
  Loop = ref object
    parent: Loop
    header: Block
    latches: int
  Edge = ref object
    source, target: Block
    nextOut, nextIn: Edge
  Block = ref object
    outgoing, incoming: Edge
    headerOf, latchOf: Loop
    next, hanging: Block
    step: Step

proc newBlockAfter(entry: Block): Block =
  result = Block(next: entry.next)
  entry.next = result

proc refer(source, target: Block): Edge {.discardable.} =
  result = Edge(source: source, target: target, nextOut: source.outgoing)
  source.outgoing = result

proc connect(source, target: Block) =
  let edge = refer(source, target)
  edge.nextIn = target.incoming
  target.incoming = edge

proc newGraph(diamonds: int): Block =
  result = Block()
  var last = result
  for i in 0 ..< diamonds:
    let left = newBlockAfter(result)
    let right = newBlockAfter(result)
    let join = newBlockAfter(result)
    connect(join, last)
    connect(last, left)
    connect(last, right)
    connect(left, join)
    connect(right, join)
    last = join
  connect(last, result)

proc findLoops(entry, current: Block): int =
  current.step = opened
  var edge {.cursor.} = current.outgoing
  while edge != nil:
    let target {.cursor.} = edge.target
    if target.step == unseen:
      result += findLoops(entry, target)
    elif target.step == opened:
      if target.headerOf == nil:
        target.headerOf = Loop(parent: entry.headerOf, header: target)
      current.latchOf = target.headerOf
      inc current.latchOf.latches
      result += current.latchOf.latches
    edge = edge.nextOut
  current.step = done

proc havlak(): int =
  const parts = live div 40
  var entries = newSeq[Block](parts)
  for i in 0 ..< parts:
    entries[i] = newGraph(4)
    result += findLoops(entries[i], entries[i])
  for i in 0 ..< parts: connect(entries[i].next, entries[below(parts)])
  firstTick()
  for replacement in 0 ..< replacements div 2:
    let at = entries[below(parts)]
    let graph = newGraph(1 + below(3))
    refer(graph.next, at.next)
    result += findLoops(graph, graph)
    if (word() shr 31) != 0:
      if at.hanging != nil: result += at.hanging.headerOf.latches
      at.hanging = graph
    if (replacement and 15) == 0: tick()

proc toggle(): int =
  firstTick()
  let keeper = Node(a: newList(live))
  let holder = Node()
  gapMax = 0
  firstTick()
  for round in 0 ..< 4 * rounds:
    holder.a = if (word() shr 31) != 0: keeper.a else: nil
    let ring = newRingOfFour(nil)
    result += ring.a.a.value + (if holder.a != nil: holder.a.value else: 1)
    if (round and 15) == 0: tick()
  var node {.cursor.} = keeper.a
  while node != nil:
    result += node.value
    node = node.a

let workload = paramStr(1)
let sum = case workload
  of "bintrees16": bintrees(16)
  of "bintrees18": bintrees(18)
  of "gcbench": gcbench()
  of "cycles": cycles()
  of "mutate": mutate(10)
  of "sustained": mutate(100)
  of "list": list()
  of "bigheap": bigheap()
  of "fifo": fifo()
  of "lru": lru()
  of "rings": rings()
  of "parents": parents()
  of "havlak": havlak()
  of "toggle": toggle()
  of "nop": 0
  else:
    stderr.writeLine("no workload \"" & workload & "\"")
    quit(2)
echo workload, " sum=", sum, " gap_us=", gapMax div 1000
