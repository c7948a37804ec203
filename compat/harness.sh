# What the run scripts share: the broker under test, the count of checks, the cleaning up. Sourced by them.
#
# With --bootstrap HOST:PORT they run against that broker, otherwise against target/release/ottla (or $OTTLA).

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ottla/compat
bootstrap=
passed=0 failed=0 broker_pid=
work=$(mktemp -d -t ottla-compat.XXXXXX)
trap clean_up EXIT
trap 'exit 130' INT TERM

# A name no other run has used.
unique=$(date +%s)-$$

clean_up() {
  stop_broker KILL
  rm -rf "$work"
}

# need TOOL HOW-TO-GET-IT
need() {
  command -v "$1" >/dev/null || { echo "$0: $1 is missing: $2" >&2; echo "0 passed, 1 failed"; exit 1; }
}

# start_broker [ARGUMENT...]: an Ottla of our own on a free port; sets bootstrap.
start_broker() {
  local ottla=${OTTLA:-$top/target/release/ottla}
  [ -x "$ottla" ] || { echo "$0: no $ottla: cargo build --release, or name a broker with --bootstrap" >&2; echo "0 passed, 1 failed"; exit 1; }
  : > "$work/ready"
  "$ottla" "$@" --listen "${listen:-127.0.0.1:0}" > "$work/ready" 2>> "$work/broker.log" < /dev/null &
  broker_pid=$!
  for _ in $(seq 200); do
    bootstrap=$(sed -n 's/^ottla ready //p' "$work/ready")
    [ -z "$bootstrap" ] || return 0
    kill -0 "$broker_pid" 2>/dev/null || break
    sleep 0.05
  done
  fail "ottla starts: $*"
  finish
}

# stop_broker [SIGNAL]: ends the one we started, and only that.
stop_broker() {
  [ -n "$broker_pid" ] || return 0
  kill -s "${1:-TERM}" "$broker_pid" 2>/dev/null
  wait "$broker_pid" 2>/dev/null
  broker_pid=
}

# lists_api KEY: the broker's ApiVersions has this key.
lists_api() {
  local size
  exec 8<> "/dev/tcp/${bootstrap%:*}/${bootstrap##*:}" || return
  # Version 0, correlation id 1, no client id. The answer is an error code and an array of key, min, max.
  printf '\0\0\0\12\0\22\0\0\0\0\0\1\377\377' >&8
  size=$((16#$(head -c 4 <&8 | od -An -v -tx1 | tr -d ' \n')))
  head -c "$size" <&8 | tail -c +11 | od -An -v -tx1 -w6 | grep -q "^ $(printf '%04x' "$1" | sed 's/../& /')"
  local status=$?
  exec 8>&-
  return $status
}

# The first of two ports in a row on which nobody listens.
free_ports() {
  local first
  while first=$((20000 + RANDOM % 10000)); do
    (: < "/dev/tcp/127.0.0.1/$first") 2> /dev/null || (: < "/dev/tcp/127.0.0.1/$((first + 1))") 2> /dev/null || break
  done
  echo "$first"
}

pass() { passed=$((passed + 1)); echo "ok    $1"; }
fail() { failed=$((failed + 1)); echo "FAIL  $1"; shift; [ $# = 0 ] || printf '%s\n' "$*" | head -30 | sed 's/^/      /'; }

# same WHAT EXPECTED ACTUAL
same() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "expected: $2
got:      $3"; fi; }

# has WHAT PATTERN TEXT
has() { if grep -qE -- "$2" <<< "$3"; then pass "$1"; else fail "$1" "no match for /$2/ in:
$3"; fi; }

# counted COMMAND...: runs it and adds the counts of its last line, "N passed, N failed", to ours.
counted() {
  local out=$work/counted last
  "$@" 2>&1 | tee "$out" | sed '/^[0-9]* passed, [0-9]* failed$/d'
  last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$out" | tail -1)
  if [ -z "$last" ]; then fail "$* said nothing" "$(tail -5 "$out")"; return; fi
  passed=$((passed + ${last%% *}))
  last=${last#*, }
  failed=$((failed + ${last%% *}))
}

finish() {
  [ "$failed" = 0 ] || { [ -f "$work/broker.log" ] && tail -20 "$work/broker.log" >&2; }
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}
