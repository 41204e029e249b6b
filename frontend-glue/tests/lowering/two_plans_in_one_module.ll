; scenario 169
; ERROR-DAG: in @g: this function asks for gc "refcount-prompt", and @f for gc "refcount"; a heap has one plan: give all functions of the program the same
define void @f() gc "refcount" {
  ret void
}

define void @g() gc "refcount-prompt" {
  ret void
}
