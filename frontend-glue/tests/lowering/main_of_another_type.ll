; ERROR-DAG: situation.ll: in @main: the runtime cannot call a main of this type; declare it as i32 (), i32 (i32, ptr)
define double @main(i64 %n) gc "refcount" {
  ret double 0.0
}
