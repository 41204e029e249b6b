; An exchange stores as a store does, and what a swifterror parameter holds at the end is in no root.
; WARNING-DAG: in @exchange: a reference is stored plainly to the global variable @list
; WARNING-DAG: in @compare: a reference is stored plainly to the global variable @list
; WARNING-DAG: in @throw: a reference is stored to a swifterror parameter
@list = global ptr null
@kept = global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
@node = external constant i8
define internal ptr @make() noinline gc "refcount" {
  %object = call ptr @tally_new(ptr @node)
  ret ptr %object
}
define void @exchange() gc "refcount" {
  %object = call ptr @make()
  %before = atomicrmw xchg ptr @list, ptr %object seq_cst
  ret void
}
define void @compare() gc "refcount" {
  %object = call ptr @make()
  %before = cmpxchg ptr @list, ptr null, ptr %object seq_cst seq_cst
  ret void
}
define swiftcc void @throw(ptr swifterror %error) gc "refcount" {
  %object = call ptr @make()
  store ptr %object, ptr %error
  ret void
}
define swiftcc void @throw_what_is_kept(ptr swifterror %error) gc "refcount" {
  %object = call ptr @make()
  call void @llvm.gcwrite(ptr %object, ptr @kept, ptr @kept)
  store ptr %object, ptr %error
  ret void
}
