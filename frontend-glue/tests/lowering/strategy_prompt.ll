; ERROR: in @f: gc "refcount-prompt" asks for the prompt plan, which this build does not offer; use gc "refcount"
define void @f() gc "refcount-prompt" {
  ret void
}
