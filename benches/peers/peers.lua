-- The workloads of benches/workloads in Lua: `lua peers.lua WORKLOAD` prints `WORKLOAD sum=S gap_us=G`. For Lua 5.4 and LuaJIT.
local LIVE, ROUNDS, QUEUE, LIST, POOL, REPLACEMENTS, DEPTH = 1048576, 1048576, 65536, 10000000, 200000, 250000, 17
local floor, clock = math.floor, os.clock

-- Random numbers and the longest gap, as in workload.h; the gap is of CPU time, which is what Lua can tell.
local state = 12345
local function word() state = (state * 1664525 + 1013904223) % 4294967296; return state end
local function below(bound) return floor(word() * bound / 4294967296) end
local both = bit and bit.band or load("return function(a, b) return a & b end")()
local last_tick, gap_max = 0, 0
local function first_tick() last_tick = clock() end
local function tick()
    local now = clock()
    if now - last_tick > gap_max then gap_max = now - last_tick end
    last_tick = now
end

local function build(depth)
    if depth > 0 then return { left = build(depth - 1), right = build(depth - 1) } end
    return { left = false, right = false }
end
local function count(tree) return tree.left and 1 + count(tree.left) + count(tree.right) or 1 end
local function bintrees(depth_max)
    local sum = count(build(depth_max + 1))
    local long_lived = build(depth_max)
    for depth = 4, depth_max, 2 do
        for _ = 1, 2 ^ (depth_max - depth + 4) do sum = sum + count(build(depth)) end
    end
    return sum + count(long_lived)
end

local function new_tree(left, right) return { left = left, right = right, i = 0, j = 0 } end
local function populate(depth, tree)
    if depth <= 0 then return end
    tree.left = new_tree(false, false)
    tree.right = new_tree(false, false)
    populate(depth - 1, tree.left)
    populate(depth - 1, tree.right)
end
local function build_numbered(depth)
    if depth <= 0 then return new_tree(false, false) end
    local left = build_numbered(depth - 1)
    local right = build_numbered(depth - 1)
    return new_tree(left, right)
end
local function size_of_tree(depth) return 2 ^ (depth + 1) - 1 end
local function gcbench()
    build_numbered(18)
    local long_lived = new_tree(false, false)
    populate(16, long_lived)
    local numbers = {}
    for i = 0, 249999 do numbers[i] = 1.0 / (i + 1) end
    for depth = 4, 16, 2 do
        local trees = floor(2 * size_of_tree(18) / size_of_tree(depth))
        for _ = 1, trees do populate(depth, new_tree(false, false)) end
        for _ = 1, trees do build_numbered(depth) end
    end
    local sum, tree = floor(numbers[1000] * 1e6), long_lived
    while tree do sum = sum + 1; tree = tree.left end
    return sum
end

local function new_node(value) return { a = false, b = false, value = value } end
local function sum_of_ring(length, chords)
    local first = new_node(0)
    local previous, chord = first, first
    first.b = first
    for i = 1, length - 1 do
        local node = new_node(i % 256)
        previous.a = node
        node.b = chords and chord or previous
        previous = node
        if chords then chord = word() < 1073741824 and node or chord.a end
    end
    previous.a = first
    if not chords then first.b = previous end
    local sum, node = 0, first
    for _ = 1, length do sum = sum + node.value; node = node.a end
    return sum
end
local function cycles()
    local sum, since_tick = 0, 0
    first_tick()
    for _, length in ipairs { 4, 64, 1024, 65536 } do
        for shape = 0, 1 do
            for _ = 1, 1048576 / length do
                sum = sum + sum_of_ring(length, shape == 1)
                since_tick = since_tick + length
                if since_tick >= 256 then since_tick = 0; tick() end
            end
        end
    end
    return sum
end

local function new_nodes()
    local nodes = {}
    for i = 0, LIVE - 1 do nodes[i] = new_node(i % 256) end
    return nodes
end
local function mutate(writes_per_object)
    local nodes = new_nodes()
    first_tick()
    for write = 0, writes_per_object * LIVE - 1 do
        local from, to = below(LIVE), below(LIVE)
        if word() >= 2147483648 then nodes[from].a = nodes[to] else nodes[from].b = nodes[to] end
        if write % 1024 == 0 then tick() end
    end
    local sum = 0
    for i = 0, LIVE - 1 do
        local node = nodes[i]
        if node.a then sum = sum + node.a.value end
        if node.b then sum = sum + 2 * node.b.value end
    end
    return sum
end

local function new_list(length)
    local head = false
    for i = 0, length - 1 do
        local node = new_node(i % 256)
        node.a = head
        head = node
        if i % 65536 == 0 then tick() end
    end
    return head
end
local function list()
    local sum = 0
    for _ = 1, 2 do
        first_tick()
        local head = new_list(LIST)
        local node = head
        while node do sum = sum + node.value; node = node.a end
        first_tick()
        head = nil
        tick()
    end
    return sum
end

local function new_live_heap()
    local nodes = new_nodes()
    for i = 0, LIVE - 1 do
        nodes[i].a = nodes[(i + 1) % LIVE]
        nodes[i].b = nodes[below(LIVE)]
    end
    return nodes
end
local function new_ring_of_four(live)
    local first = new_node(1)
    local previous = first
    first.b = live
    for _ = 1, 3 do
        local node = new_node(2)
        node.b = previous
        previous.a = node
        previous = node
    end
    previous.a = first
    return first
end
local function bigheap()
    local live, sum = new_live_heap(), 0
    first_tick()
    for round = 0, ROUNDS - 1 do
        local ring = new_ring_of_four(live[below(LIVE)])
        sum = sum + ring.a.a.value + ring.b.value
        if round % 16 == 0 then tick() end
    end
    return sum
end
local function fifo()
    local live, queue, sum = new_live_heap(), {}, 0
    for i = 0, QUEUE - 1 do queue[i] = false end
    first_tick()
    for round = 0, ROUNDS - 1 do
        local ring = new_ring_of_four(live[below(LIVE)])
        sum = sum + ring.a.a.value + ring.b.value
        queue[round % QUEUE] = ring
        if round % 16 == 0 then tick() end
    end
    return sum
end

local function lru()
    local capacity, buckets = 65536, {}
    for i = 0, capacity - 1 do buckets[i] = false end
    local ring = { previous = false, next = false, chain = false, key = -1, value = 0 }
    ring.previous, ring.next = ring, ring
    local entries, sum = 0, 0
    first_tick()
    for access = 0, 4194303 do
        local key = floor(word() / 16384)
        key = both(key, floor(word() / 16384))
        local bucket = key % capacity
        local entry = buckets[bucket]
        while entry and entry.key ~= key do entry = entry.chain end
        if entry then
            sum = sum + entry.value
            entry.previous.next = entry.next
            entry.next.previous = entry.previous
        else
            if entries == capacity then
                local oldest = ring.previous
                oldest.previous.next = ring
                ring.previous = oldest.previous
                local home = oldest.key % capacity
                local before = buckets[home]
                if before == oldest then
                    buckets[home] = oldest.chain
                else
                    while before.chain ~= oldest do before = before.chain end
                    before.chain = oldest.chain
                end
                entries = entries - 1
            end
            entry = { previous = false, next = false, chain = buckets[bucket], key = key, value = key % 16 }
            buckets[bucket] = entry
            entries = entries + 1
        end
        entry.next = ring.next
        entry.previous = ring
        ring.next.previous = entry
        ring.next = entry
        if access % 64 == 0 then tick() end
    end
    return sum + entries
end

local function new_ring(length)
    local first = new_node(length)
    local previous = first
    for i = 1, length - 1 do
        local node = new_node(i)
        node.b = previous
        previous.a = node
        previous = node
    end
    previous.a = first
    first.b = previous
    return first
end
local function rings()
    local pool, sum = {}, 0
    for i = 0, POOL - 1 do pool[i] = new_ring(3 + below(6)) end
    first_tick()
    for replacement = 0, REPLACEMENTS - 1 do
        local i, length = below(POOL), 3 + below(6)
        sum = sum + pool[i].value + pool[i].b.value
        pool[i] = new_ring(length)
        if replacement % 16 == 0 then tick() end
    end
    return sum
end

local function build_family(parent, height)
    local tree = { parent = parent, left = false, right = false, value = height }
    if height > 0 then
        tree.left = build_family(tree, height - 1)
        tree.right = build_family(tree, height - 1)
    end
    return tree
end
local function parents()
    local root, sum = build_family(false, DEPTH), 0
    first_tick()
    for replacement = 0, REPLACEMENTS - 1 do
        local drawn, height = floor(word() / 65536), 0
        while height < DEPTH - 5 and drawn % 2 == 0 do drawn = floor(drawn / 2); height = height + 1 end
        local turns, parent = word(), root
        for _ = 1, DEPTH - 1 - height do
            parent = turns >= 2147483648 and parent.left or parent.right
            turns = turns * 2 % 4294967296
        end
        local side = turns >= 2147483648 and "left" or "right"
        sum = sum + parent[side].value
        parent[side] = build_family(parent, height)
        sum = sum + parent[side].parent.value
        local node = parent
        while node do sum = sum + 1; node = node.parent end
        if replacement % 16 == 0 then tick() end
    end
    return sum
end

local NEW, OPEN, DONE = 0, 1, 2
local function new_block(after)
    return { out = false, into = false, header_of = false, latch_of = false, next = after, hanging = false, state = NEW }
end
local function new_block_after(entry)
    local block = new_block(entry.next)
    entry.next = block
    return block
end
local function refer(from, to)
    local edge = { from = from, to = to, next_out = from.out, next_in = false }
    from.out = edge
    return edge
end
local function connect(from, to)
    local edge = refer(from, to)
    edge.next_in = to.into
    to.into = edge
end
local function new_graph(diamonds)
    local entry = new_block(false)
    local last = entry
    for _ = 1, diamonds do
        local left, right, join = new_block_after(entry), new_block_after(entry), new_block_after(entry)
        connect(join, last)
        connect(last, left)
        connect(last, right)
        connect(left, join)
        connect(right, join)
        last = join
    end
    connect(last, entry)
    return entry
end
local function find_loops(entry, block)
    local found, edge = 0, block.out
    block.state = OPEN
    while edge do
        local to = edge.to
        if to.state == NEW then
            found = found + find_loops(entry, to)
        elseif to.state == OPEN then
            if not to.header_of then to.header_of = { parent = entry.header_of, header = to, latches = 0 } end
            local loop = to.header_of
            block.latch_of = loop
            loop.latches = loop.latches + 1
            found = found + loop.latches
        end
        edge = edge.next_out
    end
    block.state = DONE
    return found
end
local function havlak()
    local parts, entries, sum = floor(LIVE / 40), {}, 0
    for i = 0, parts - 1 do
        entries[i] = new_graph(4)
        sum = sum + find_loops(entries[i], entries[i])
    end
    for i = 0, parts - 1 do connect(entries[i].next, entries[below(parts)]) end
    first_tick()
    for replacement = 0, REPLACEMENTS / 2 - 1 do
        local at = entries[below(parts)]
        local graph = new_graph(1 + below(3))
        refer(graph.next, at.next)
        sum = sum + find_loops(graph, graph)
        if word() >= 2147483648 then
            if at.hanging then sum = sum + at.hanging.header_of.latches end
            at.hanging = graph
        end
        if replacement % 16 == 0 then tick() end
    end
    return sum
end

local function toggle()
    first_tick()
    local keeper, holder, sum = new_node(0), new_node(0), 0
    keeper.a = new_list(LIVE)
    gap_max = 0
    first_tick()
    for round = 0, 4 * ROUNDS - 1 do
        holder.a = word() >= 2147483648 and keeper.a
        sum = sum + new_ring_of_four(false).a.a.value + (holder.a and holder.a.value or 1)
        if round % 16 == 0 then tick() end
    end
    local node = keeper.a
    while node do sum = sum + node.value; node = node.a end
    return sum
end

local workloads = {
    bintrees16 = function() return bintrees(16) end, bintrees18 = function() return bintrees(18) end, gcbench = gcbench,
    cycles = cycles, mutate = function() return mutate(10) end, sustained = function() return mutate(100) end, list = list,
    bigheap = bigheap, fifo = fifo, lru = lru, rings = rings, parents = parents, havlak = havlak, toggle = toggle,
    nop = function() return 0 end,
}
local workload = arg[1]
if not workloads[workload] then
    io.stderr:write("no workload \"" .. tostring(workload) .. "\"\n")
    os.exit(2)
end
local sum = workloads[workload]()
print(string.format("%s sum=%d gap_us=%d", workload, sum, floor(gap_max * 1e6)))
