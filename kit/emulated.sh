#!/bin/sh
# `tally` for suites whose programs an emulator runs: what it would run it builds for the machine EMULATED (aarch64 or riscv64) and
# has qemu run, and the executables that it builds are scripts that do so.
#
# TALLY_COMMAND names this script to the suites (kit/src/tally_command.rs); EMULATED_TALLY is the real command. Options of a
# run become the variables that executables read.
set -f
tally=${EMULATED_TALLY:?the command tally of the host}
machine=${EMULATED:?the machine: aarch64 or riscv64}
case $machine in
riscv64) target=riscv64gc-unknown-linux-gnu ;;
*) target=$machine-unknown-linux-gnu ;;
esac
qemu="qemu-$machine-static -L ${EMULATED_ROOT:-/usr/$machine-linux-gnu}"

# A script in the place of an executable, which is beside it.
wrap() {
    [ -f "$1" ] || return 0
    mv "$1" "$1.emulated"
    printf '#!/bin/sh\nexec %s -0 "$0" "$0.emulated" "$@"\n' "$qemu" >"$1"
    chmod +x "$1"
}

verb=$1
case $verb in
build)
    shift
    "$tally" build --target $target "$@"
    status=$?
    output=
    while [ $# -gt 0 ]; do
        case $1 in
        -o | --output) output=$2 && shift ;;
        -o*) output=${1#-o} ;;
        --output=*) output=${1#--output=} ;;
        esac
        shift
    done
    [ $status -ne 0 ] || wrap "$output"
    exit $status
    ;;
lower | verify | maps)
    shift
    exec "$tally" "$verb" --target $target "$@"
    ;;
run) shift ;;
*) exec "$tally" "$@" ;;
esac

# run: each word is one of the build, one of the run, or behind `--` one of the program.
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
first=
count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
    --) break ;;
    --stats) export TALLY_STATS=1 ;;
    --stats=*) export "TALLY_STATS=${word#*=}" ;;
    --leak-check) export TALLY_LEAK_CHECK=1 ;;
    --heap-limit=*) export "TALLY_HEAP_LIMIT=${word#*=}" ;;
    --epoch-bytes=*) export "TALLY_EPOCH_BYTES=${word#*=}" ;;
    --pause-goal=*) export "TALLY_PAUSE_GOAL=${word#*=}" ;;
    --log=*) export "TALLY_LOG=${word#*=}" ;;
    --why=*) export "TALLY_WHY=${word#*=}" ;;
    --alloc-sites=*) export "TALLY_ALLOC_SITES=${word#*=}" ;;
    --fail-allocation=*) export "TALLY_FAIL_ALLOCATION=${word#*=}" ;;
    --heap-limit | --epoch-bytes | --pause-goal | --log | --why | --fail-allocation)
        name=TALLY_$(echo "${word#--}" | tr a-z- A-Z_)
        export "$name=$1"
        shift
        count=$((count - 1))
        ;;
    --zeal)
        export TALLY_ZEAL=1
        set -- "$@" --zeal
        ;;
    *)
        case $word in *.ll | *.bc | *.c | *.o) [ -n "$first" ] || first=$word ;; esac
        set -- "$@" "$word"
        ;;
    esac
done
# The words of the program come first now, those of the build behind them.
program=$count
build=$(($# - count))
index=0
arguments=$folder/arguments
: >"$arguments"
quote() { printf "'%s' " "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
words_of_program='' words_of_build=''
for word in "$@"; do
    index=$((index + 1))
    if [ $index -le "$program" ]; then
        words_of_program="$words_of_program$(quote "$word")"
    else
        words_of_build="$words_of_build$(quote "$word")"
    fi
done
[ $build -gt 0 ] || exec "$tally" run
eval "\"\$tally\" build --target $target $words_of_build -o \"\$folder/program\"" || exit $?
eval "$qemu -0 \"\$first\" \"\$folder/program\" $words_of_program"
status=$?
# It ended by a signal, and so does this.
if [ $status -gt 128 ] && [ $status -lt 160 ]; then
    rm -rf "$folder"
    trap - EXIT
    ulimit -c 0
    kill -$((status - 128)) $$
fi
exit $status
