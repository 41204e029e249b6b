(* The workloads of benches/workloads in OCaml: [ocaml WORKLOAD] prints [WORKLOAD sum=S gap_us=G]. *)

let live = 1 lsl 20
let rounds = 1 lsl 20
let queue_length = 1 lsl 16
let list_length = 10_000_000
let pool_length = 200_000
let replacements = 250_000
let tree_depth = 17

(* Random numbers and the longest gap, as in workload.h. *)
let state = ref 12345
let word () = state := (!state * 1664525 + 1013904223) land 0xffffffff; !state
let index bits = word () lsr (32 - bits)
let below bound = (word () * bound) lsr 32
let last_tick = ref 0.0
let gap_max = ref 0.0
let first_tick () = last_tick := Unix.gettimeofday ()
let tick () =
  let now = Unix.gettimeofday () in
  if now -. !last_tick > !gap_max then gap_max := now -. !last_tick;
  last_tick := now

type tree = Nothing | Tree of tree * tree

let rec build depth =
  if depth > 0 then
    let left = build (depth - 1) in
    let right = build (depth - 1) in
    Tree (left, right)
  else Tree (Nothing, Nothing)

let rec count = function
  | Nothing -> 0
  | Tree (Nothing, _) -> 1
  | Tree (left, right) -> 1 + count left + count right

let bintrees depth_max =
  let sum = ref (count (build (depth_max + 1))) in
  let long_lived = build depth_max in
  let depth = ref 4 in
  while !depth <= depth_max do
    for _ = 1 to 1 lsl (depth_max - !depth + 4) do sum := !sum + count (build !depth) done;
    depth := !depth + 2
  done;
  !sum + count long_lived

(* Where the workload has references that may be null, an option would be one more object: null is a number instead. *)
type numbered = { mutable left : numbered; mutable right : numbered; mutable i : int; mutable j : int }
let no_tree : numbered = Obj.magic 0
let new_tree left right = { left; right; i = 0; j = 0 }

let rec populate depth tree =
  if depth > 0 then begin
    tree.left <- new_tree no_tree no_tree;
    tree.right <- new_tree no_tree no_tree;
    populate (depth - 1) tree.left;
    populate (depth - 1) tree.right
  end

let rec build_numbered depth =
  if depth <= 0 then new_tree no_tree no_tree
  else
    let left = build_numbered (depth - 1) in
    let right = build_numbered (depth - 1) in
    new_tree left right

let size_of_tree depth = (1 lsl (depth + 1)) - 1

let gcbench () =
  ignore (Sys.opaque_identity (build_numbered 18));
  let long_lived = new_tree no_tree no_tree in
  populate 16 long_lived;
  let numbers = Array.make 500_000 0.0 in
  for i = 0 to 249_999 do numbers.(i) <- 1.0 /. float (i + 1) done;
  let depth = ref 4 in
  while !depth <= 16 do
    let trees = 2 * size_of_tree 18 / size_of_tree !depth in
    for _ = 1 to trees do populate !depth (new_tree no_tree no_tree) done;
    for _ = 1 to trees do ignore (Sys.opaque_identity (build_numbered !depth)) done;
    depth := !depth + 2
  done;
  let sum = ref (int_of_float (numbers.(1000) *. 1e6)) and tree = ref long_lived in
  while !tree != no_tree do incr sum; tree := !tree.left done;
  !sum

type node = { mutable a : node; mutable b : node; value : int }
let no_node : node = Obj.magic 0
let new_node value = { a = no_node; b = no_node; value }

let sum_of_ring length chords =
  let first = new_node 0 in
  let previous = ref first and chord = ref first in
  first.b <- first;
  for i = 1 to length - 1 do
    let node = new_node (i land 255) in
    !previous.a <- node;
    if chords then begin
      node.b <- !chord;
      chord := if word () lsr 30 = 0 then node else !chord.a
    end else node.b <- !previous;
    previous := node
  done;
  !previous.a <- first;
  if not chords then first.b <- !previous;
  let sum = ref 0 and node = ref first in
  for _ = 1 to length do sum := !sum + !node.value; node := !node.a done;
  !sum

let cycles () =
  let sum = ref 0 and since_tick = ref 0 in
  first_tick ();
  List.iter (fun length ->
    List.iter (fun chords ->
      for _ = 1 to (1 lsl 20) / length do
        sum := !sum + sum_of_ring length chords;
        since_tick := !since_tick + length;
        if !since_tick >= 256 then begin since_tick := 0; tick () end
      done) [false; true]) [4; 64; 1024; 65536];
  !sum

let new_nodes () = Array.init live (fun i -> new_node (i land 255))

let mutate writes_per_object =
  let nodes = new_nodes () in
  first_tick ();
  for write = 0 to writes_per_object * live - 1 do
    let from = below live in
    let target = below live in
    if word () lsr 31 <> 0 then nodes.(from).a <- nodes.(target) else nodes.(from).b <- nodes.(target);
    if write land 1023 = 0 then tick ()
  done;
  let sum = ref 0 in
  Array.iter (fun node ->
    if node.a != no_node then sum := !sum + node.a.value;
    if node.b != no_node then sum := !sum + 2 * node.b.value) nodes;
  !sum

let list () =
  let sum = ref 0 in
  for _ = 1 to 2 do
    let head = ref no_node in
    first_tick ();
    for i = 0 to list_length - 1 do
      head := { a = !head; b = no_node; value = i land 255 };
      if i land 65535 = 0 then tick ()
    done;
    let node = ref !head in
    while !node != no_node do sum := !sum + !node.value; node := !node.a done;
    first_tick ();
    head := no_node;
    tick ()
  done;
  !sum

let new_live_heap () =
  let nodes = new_nodes () in
  for i = 0 to live - 1 do
    nodes.(i).a <- nodes.((i + 1) land (live - 1));
    nodes.(i).b <- nodes.(below live)
  done;
  nodes

let new_ring_of_four live_node =
  let first = new_node 1 in
  let previous = ref first in
  first.b <- live_node;
  for _ = 1 to 3 do
    let node = new_node 2 in
    node.b <- !previous;
    !previous.a <- node;
    previous := node
  done;
  !previous.a <- first;
  first

let bigheap () =
  let nodes = new_live_heap () and sum = ref 0 in
  first_tick ();
  for round = 0 to rounds - 1 do
    let ring = new_ring_of_four nodes.(below live) in
    sum := !sum + ring.a.a.value + ring.b.value;
    if round land 15 = 0 then tick ()
  done;
  !sum

let fifo () =
  let nodes = new_live_heap () and queue = Array.make queue_length no_node and sum = ref 0 in
  first_tick ();
  for round = 0 to rounds - 1 do
    let ring = new_ring_of_four nodes.(below live) in
    sum := !sum + ring.a.a.value + ring.b.value;
    queue.(round land (queue_length - 1)) <- ring;
    if round land 15 = 0 then tick ()
  done;
  !sum

type entry = {
  mutable previous : entry; mutable next : entry; mutable chain : entry; key : int; entry_value : int }
let no_entry : entry = Obj.magic 0

let lru () =
  let capacity = 1 lsl 16 in
  let buckets = Array.make capacity no_entry in
  let ring = { previous = no_entry; next = no_entry; chain = no_entry; key = -1; entry_value = 0 } in
  ring.previous <- ring;
  ring.next <- ring;
  let entries = ref 0 and sum = ref 0 in
  first_tick ();
  for access = 0 to (1 lsl 22) - 1 do
    let key = index 18 in
    let key = key land index 18 in
    let bucket = key land (capacity - 1) in
    let entry = ref buckets.(bucket) in
    while !entry != no_entry && !entry.key <> key do entry := !entry.chain done;
    if !entry != no_entry then begin
      sum := !sum + !entry.entry_value;
      !entry.previous.next <- !entry.next;
      !entry.next.previous <- !entry.previous
    end else begin
      if !entries = capacity then begin
        let oldest = ring.previous in
        oldest.previous.next <- ring;
        ring.previous <- oldest.previous;
        let home = oldest.key land (capacity - 1) in
        let before = ref buckets.(home) in
        if !before == oldest then buckets.(home) <- oldest.chain
        else begin
          while !before.chain != oldest do before := !before.chain done;
          !before.chain <- oldest.chain
        end;
        decr entries
      end;
      entry := { previous = no_entry; next = no_entry; chain = buckets.(bucket); key; entry_value = key land 15 };
      buckets.(bucket) <- !entry;
      incr entries
    end;
    !entry.next <- ring.next;
    !entry.previous <- ring;
    ring.next.previous <- !entry;
    ring.next <- !entry;
    if access land 63 = 0 then tick ()
  done;
  !sum + !entries

let new_ring length =
  let first = new_node length in
  let previous = ref first in
  for i = 1 to length - 1 do
    let node = new_node i in
    node.b <- !previous;
    !previous.a <- node;
    previous := node
  done;
  !previous.a <- first;
  first.b <- !previous;
  first

let rings () =
  let pool = Array.make pool_length no_node in
  for i = 0 to pool_length - 1 do pool.(i) <- new_ring (3 + below 6) done;
  let sum = ref 0 in
  first_tick ();
  for replacement = 0 to replacements - 1 do
    let i = below pool_length in
    let length = 3 + below 6 in
    sum := !sum + pool.(i).value + pool.(i).b.value;
    pool.(i) <- new_ring length;
    if replacement land 15 = 0 then tick ()
  done;
  !sum

type family = { parent : family; mutable elder : family; mutable younger : family; height : int }
let no_family : family = Obj.magic 0

let rec build_family parent height =
  let tree = { parent; elder = no_family; younger = no_family; height } in
  if height > 0 then begin
    tree.elder <- build_family tree (height - 1);
    tree.younger <- build_family tree (height - 1)
  end;
  tree

let rec trailing_zeros number = if number land 1 = 1 then 0 else 1 + trailing_zeros (number lsr 1)

let parents () =
  let root = build_family no_family tree_depth and sum = ref 0 in
  first_tick ();
  for replacement = 0 to replacements - 1 do
    let height = trailing_zeros (word () lsr 16 lor (1 lsl (tree_depth - 5))) in
    let turns = ref (word ()) and parent = ref root in
    for _ = 1 to tree_depth - 1 - height do
      parent := if !turns land 0x80000000 <> 0 then !parent.elder else !parent.younger;
      turns := !turns lsl 1
    done;
    if !turns land 0x80000000 <> 0 then begin
      sum := !sum + !parent.elder.height;
      !parent.elder <- build_family !parent height;
      sum := !sum + !parent.elder.parent.height
    end else begin
      sum := !sum + !parent.younger.height;
      !parent.younger <- build_family !parent height;
      sum := !sum + !parent.younger.parent.height
    end;
    let tree = ref !parent in
    while !tree != no_family do incr sum; tree := !tree.parent done;
    if replacement land 15 = 0 then tick ()
  done;
  !sum

type step = New | Open | Done

type loop = { enclosing : loop; header : block; mutable latches : int }
and edge = { from : block; target : block; next_out : edge; mutable next_in : edge }
and block = {
  mutable out : edge; mutable into : edge; mutable header_of : loop; mutable latch_of : loop;
  mutable after : block; mutable hanging : block; mutable step : step }
let no_loop : loop = Obj.magic 0
let no_edge : edge = Obj.magic 0
let no_block : block = Obj.magic 0

let new_block after =
  { out = no_edge; into = no_edge; header_of = no_loop; latch_of = no_loop; after; hanging = no_block; step = New }

let new_block_after entry =
  let block = new_block entry.after in
  entry.after <- block;
  block

let refer from target =
  let edge = { from; target; next_out = from.out; next_in = no_edge } in
  from.out <- edge;
  edge

let connect from target =
  let edge = refer from target in
  edge.next_in <- target.into;
  target.into <- edge

let new_graph diamonds =
  let entry = new_block no_block in
  let last = ref entry in
  for _ = 1 to diamonds do
    let left = new_block_after entry in
    let right = new_block_after entry in
    let join = new_block_after entry in
    connect join !last;
    connect !last left;
    connect !last right;
    connect left join;
    connect right join;
    last := join
  done;
  connect !last entry;
  entry

let rec find_loops entry block =
  let found = ref 0 and edge = ref block.out in
  block.step <- Open;
  while !edge != no_edge do
    let target = !edge.target in
    if target.step = New then found := !found + find_loops entry target
    else if target.step = Open then begin
      if target.header_of == no_loop then
        target.header_of <- { enclosing = entry.header_of; header = target; latches = 0 };
      block.latch_of <- target.header_of;
      block.latch_of.latches <- block.latch_of.latches + 1;
      found := !found + block.latch_of.latches
    end;
    edge := !edge.next_out
  done;
  block.step <- Done;
  !found

let havlak () =
  let parts = live / 40 in
  let entries = Array.make parts no_block and sum = ref 0 in
  for i = 0 to parts - 1 do
    entries.(i) <- new_graph 4;
    sum := !sum + find_loops entries.(i) entries.(i)
  done;
  for i = 0 to parts - 1 do connect entries.(i).after entries.(below parts) done;
  first_tick ();
  for replacement = 0 to replacements / 2 - 1 do
    let at = entries.(below parts) in
    let graph = new_graph (1 + below 3) in
    ignore (refer graph.after at.after);
    sum := !sum + find_loops graph graph;
    if word () lsr 31 <> 0 then begin
      if at.hanging != no_block then sum := !sum + at.hanging.header_of.latches;
      at.hanging <- graph
    end;
    if replacement land 15 = 0 then tick ()
  done;
  !sum

let toggle () =
  let head = ref no_node in
  for i = 0 to live - 1 do head := { a = !head; b = no_node; value = i land 255 } done;
  let keeper = new_node 0 and holder = new_node 0 and sum = ref 0 in
  keeper.a <- !head;
  head := no_node;
  first_tick ();
  for round = 0 to 4 * rounds - 1 do
    holder.a <- if word () lsr 31 <> 0 then keeper.a else no_node;
    let ring = new_ring_of_four no_node in
    sum := !sum + ring.a.a.value + (if holder.a != no_node then holder.a.value else 1);
    if round land 15 = 0 then tick ()
  done;
  let node = ref keeper.a in
  while !node != no_node do sum := !sum + !node.value; node := !node.a done;
  !sum

let () =
  let workload = Sys.argv.(1) in
  let sum = match workload with
    | "bintrees16" -> bintrees 16
    | "bintrees18" -> bintrees 18
    | "gcbench" -> gcbench ()
    | "cycles" -> cycles ()
    | "mutate" -> mutate 10
    | "sustained" -> mutate 100
    | "list" -> list ()
    | "bigheap" -> bigheap ()
    | "fifo" -> fifo ()
    | "lru" -> lru ()
    | "rings" -> rings ()
    | "parents" -> parents ()
    | "havlak" -> havlak ()
    | "toggle" -> toggle ()
    | "nop" -> 0
    | _ -> prerr_endline ("no workload \"" ^ workload ^ "\""); exit 2 in
  Printf.printf "%s sum=%d gap_us=%d\n" workload sum (int_of_float (!gap_max *. 1e6))
