; ERROR-DAG: situation.ll: in @f: the call has a "deopt" bundle already; bundles with the tag "deopt" are how Tally names roots
declare void @g()
define void @f() gc "refcount" {
  call void @g() [ "deopt"(i32 1) ]
  ret void
}
