#!/bin/sh
# clang for tests that run one C program in many ways: what it made of a file once it does not make again.
#
# `tally` turns a C file into the same bitcode whatever the level and the plan, and the suites run each program in about twenty
# ways. `TALLY_CLANG` names this script for them (kit/src/tally_command.rs); CLANG_ONCE is the folder of what was made, which
# `cargo xtask test` empties before it begins. A compilation is the same if arguments, place, source and headers beside it and in
# the folders of -I are the same, but for the names of folders that `tally` makes for one run. Only what was made without a word
# is kept; everything else goes to clang as it is.
#
# Links are made once as far as they are alike: which command of lld they are is asked of clang once, and libtally.a loses its
# debug information once, which is most of its bytes. lld then takes half the time, and clang need not start.
clang=clang-22
command -v "$clang" >/dev/null || clang=/usr/lib/llvm-22/bin/clang

# The link of these words; `output` is its output.
link() {
    objects='' library='' flags=''
    for word in "$@"; do
        case $word in
        *.o) objects="$objects $word" ;;
        */libtally.a) library=$word ;;
        "$output" | -o) ;;
        *) flags="$flags $word" ;;
        esac
    done
    case "$objects$library$output" in *[!A-Za-z0-9._/\ -]*) exec "$clang" "$@" ;; esac
    [ -n "$objects" ] && [ -f "$library" ] && [ -n "$output" ] || exec "$clang" "$@"
    stripped=$CLANG_ONCE/$(echo "$library" | tr / _)
    [ -f "$stripped" ] || { objcopy --strip-debug "$library" "$stripped.$$" && mv "$stripped.$$" "$stripped"; } || exec "$clang" "$@"
    # Some symbols' names are longer than a file's may be.
    key=$(echo "$flags" | sha256sum)
    command=$CLANG_ONCE/link-${key%% *}
    if [ ! -f "$command" ]; then
        # Words that stand where objects, library and output do.
        : >"$CLANG_ONCE/INPUTS.o"
        before_inputs=${flags%% -lgcc_s*} after_inputs=${flags#"$before_inputs"}
        # shellcheck disable=SC2086 # words, without blanks in them
        "$clang" -### $before_inputs "$CLANG_ONCE/INPUTS.o" $after_inputs -o OUTPUT 2>&1 | grep ld.lld >"$command.$$" || exec "$clang" "$@"
        mv "$command.$$" "$command"
    fi
    line=$(sed "s|\"$CLANG_ONCE/INPUTS.o\"|$objects $stripped|; s|\"OUTPUT\"|$output|" "$command")
    eval "exec $line"
}

output='' include='' source='' before='' same=''
for word in "$@"; do
    case $before in
    -o) output=$word ;;
    -I) include=$word ;;
    *)
        case $word in
        -ffile-prefix-map=*) ;;
        *.c) source=$word same="$same $word" ;;
        *) same="$same $word" ;;
        esac
        ;;
    esac
    before=$word
done

case " $* " in
" --version ") exit 0 ;;
" -print-prog-name="*)
    made=$CLANG_ONCE/$(echo "$*" | tr / _)
    [ -f "$made" ] || { "$clang" "$@" >"$made.$$" && mv "$made.$$" "$made"; } || exit 1
    exec cat "$made"
    ;;
*" -fuse-ld=lld "*" -lgcc_s "*) link "$@" ;;
*" -emit-llvm "*) [ -f "$source" ] && [ -n "$include" ] && [ -n "$output" ] || exec "$clang" "$@" ;;
*) exec "$clang" "$@" ;;
esac

key=$({ echo "$PWD $same" && cat "$source" "$include"/*.h && cat "$(dirname "$source")"/*.h 2>/dev/null; } | sha256sum)
made=$CLANG_ONCE/${key%% *}.bc
if [ -f "$made" ]; then
    exec cp "$made" "$output"
fi
said=$("$clang" "$@" 2>&1)
status=$?
if [ -n "$said" ]; then
    printf '%s\n' "$said" >&2
elif [ "$status" = 0 ] && [ -f "$output" ]; then
    # Another process may make the same: who is last puts equal bytes in place of equal bytes.
    cp "$output" "$made.$$" && mv "$made.$$" "$made"
fi
exit "$status"
