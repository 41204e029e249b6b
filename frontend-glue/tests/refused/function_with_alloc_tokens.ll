; REFUSED: in @plain: attribute sanitize_alloc_token: LLVM replaces allocation functions by others, in calls that carry no roots; compile without -fsanitize=alloc-token
define void @plain(ptr %function) sanitize_alloc_token {
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
