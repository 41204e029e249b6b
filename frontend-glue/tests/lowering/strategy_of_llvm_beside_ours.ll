; scenario 169
; ERROR-DAG: in @g: gc "shadow-stack" stands beside gc "refcount" in one module; one module has one strategy
define void @f() gc "refcount" {
  ret void
}
define void @g() gc "shadow-stack" {
  ret void
}
