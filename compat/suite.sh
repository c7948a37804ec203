# What the suites share: other people's tests, one process each, judged against expected.tsv. Sourced by their run scripts.
#
#   run [--bootstrap HOST:PORT] [--kafka [--record]] [--results FILE [--resume]] [--logs DIR] [ci | TEST...]
#
# Against an Ottla of its own, the broker at HOST:PORT, or (--kafka) a real Kafka 4.1.1 started for it. `ci` takes the
# tests marked so; a test that is named runs even if it is skipped otherwise. --record writes Kafka's results into
# expected.tsv; --results FILE gets `# date commit`, then a line a test: name, result, seconds, cause; with --resume what is
# in it is not run again. --logs DIR keeps what the tests and the broker printed.
#
# expected.tsv, tab-separated: test, what Kafka 4.1.1 does (pass, fail or skip), what Ottla does, when it runs (`all`, `ci`,
# `flaky`: the best of three; `ci,flaky`: both), and why if that is not `pass pass`. A row that says `skip` for both is not
# run. What Kafka passes and Ottla fails is a gap and stands in FINDINGS.md. Any other result than the expected one fails the
# run: an unexpected pass too.
#
# The suite sets `suite`, may set `ottla` and `kafka` (arguments for starting each), `port` and `time_limit` (seconds), and
# defines
#   prepare          installs the pinned version into $cache
#   run_test TEST    runs it against $bootstrap; what it prints is shown if it fails; exit code 0: pass, 3: skipped,
#                    anything else: fail. Lives in a subshell, under the time limit.
#   before TEST      (optional) what has to be so, e.g. `fresh_broker`
# and calls `suite_main "$@"` at its end.

source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

here=$(cd "$(dirname "$0")" && pwd)
expected=$here/expected.tsv
ottla=() kafka=() port='' time_limit=300
given='' judge=ottla record='' results='' resume='' logs=$work/logs wanted=()
declare -A was_judged

suite_main() {
  while [ $# -gt 0 ]; do
    case $1 in
      --bootstrap) given=$2; shift 2 ;;
      --kafka) judge=kafka; shift ;;
      --record) record=yes; shift ;;
      --results) results=$2; shift 2 ;;
      --resume) resume=yes; shift ;;
      --logs) logs=$(realpath -m "$2"); shift 2 ;;
      -*) echo "$suite/run: what is '$1'?" >&2; exit 2 ;;
      *) wanted+=("$1"); shift ;;
    esac
  done
  [ -n "$results" ] || results=$work/results.tsv
  [ -n "$resume" ] && [ -s "$results" ] ||
    echo "# $(date +%F) $(git -C "$top" rev-parse --short HEAD 2> /dev/null)" > "$results"
  mkdir -p "$cache" "$logs"
  findings_are_complete
  prepare > "$work/prepare.log" 2>&1 || { fail "$suite: it could not be installed" "$(tail -20 "$work/prepare.log")"; finish; }
  bootstrap=$given
  [ -n "$given" ] || fresh_broker
  local test tests
  mapfile -t tests < <(selected)
  for test in "${tests[@]}"; do
    cut -f 1 "$results" | grep -qxF -- "$test" || one_test "$test"
  done
  judged
  stop_suite_broker
  [ -z "$record" ] || record_results
  finish
}

# column TEST N
column() { awk -F '\t' -v test="$1" -v n="$2" '$1 == test { print $n }' "$expected"; }

selected() {
  case "${wanted[*]}" in
    '') awk -F '\t' '!/^#/ && NF && !($2 == "skip" && $3 == "skip") { print $1 }' "$expected" ;;
    ci) awk -F '\t' '!/^#/ && $4 ~ /^ci/ { print $1 }' "$expected" ;;
    *) printf '%s\n' "${wanted[@]}" ;;
  esac
}

# Every gap has its cause in FINDINGS.md.
findings_are_complete() {
  local test
  while read -r test; do
    grep -qF -- "$test" "$here/FINDINGS.md" || fail "$suite: $test is a gap and not in FINDINGS.md"
  done < <(awk -F '\t' '!/^#/ && $2 == "pass" && $3 != "pass" { print $1 }' "$expected")
}

# Ends the broker of this run and starts a new one, empty.
fresh_broker() {
  [ -z "$given" ] || return 0
  stop_suite_broker
  broker_number=$((${broker_number:-0} + 1))
  if [ "$judge" = kafka ]; then
    local started
    started=$("$top/compat/kafka/start" --port "${port:-$(free_ports)}" --dir "$work/kafka-$broker_number" "${kafka[@]}") ||
      { fail "$suite: Kafka starts"; finish; }
    bootstrap=$(sed 's/^bootstrap=\([^ ]*\) .*/\1/' <<< "$started")
    kafka_stop=$(sed 's/.* stop=//' <<< "$started")
  else
    listen=127.0.0.1:${port:-0}
    start_broker --log-dir "$work/data-$broker_number" "${ottla[@]}"
  fi
}

stop_suite_broker() {
  [ -z "${kafka_stop:-}" ] || "$kafka_stop"
  kafka_stop=
  stop_broker
}

# Names of tests have brackets and slashes.
log_of() { echo "$logs/${1//[^A-Za-z0-9._-]/_}"; }

trap 'stop_suite_broker; [ ! -f "$work/broker.log" ] || cp "$work/broker.log" "$logs"; clean_up' EXIT

one_test() {
  local test=$1 tries=1 try result start=$SECONDS status log
  log=$(log_of "$test")
  [[ $(column "$test" 4) != *flaky ]] || tries=3
  for try in $(seq "$tries"); do
    [ "$(type -t before)" != function ] || before "$test"
    (run_limited "$test") > "$log" 2>&1 < /dev/null
    status=$?
    case $status in 0) result=pass ;; 3) result=skip ;; *) result=fail ;; esac
    [ "$result" = fail ] || break
    [ "$judge" = ottla ] && [ -n "$broker_pid" ] && ! kill -0 "$broker_pid" 2> /dev/null && break
  done
  printf '%s\t%s\t%s\t%s\n' "$test" "$result" $((SECONDS - start)) "$(cause "$status" "$log")" >> "$results"
  judge_one "$test" "$result"
  was_judged[$test]=yes
}

# The test in a process group of its own, so that nothing of it outlives its time.
run_limited() {
  set -m
  run_test "$1" &
  local pid=$!
  (sleep "$time_limit"; kill -TERM -- -$pid; sleep 5; kill -KILL -- -$pid) > /dev/null 2>&1 &
  local guard=$!
  wait $pid
  local status=$?
  kill -KILL -- -$guard 2> /dev/null
  return $status
}

cause() {
  case $1 in
    0 | 3) ;;
    143 | 137) echo "took longer than $time_limit s" ;;
    *) grep -aE 'FAIL|rror|assert|panicked' "$2" | tail -1 | tr '\t' ' ' | cut -c 1-200 ;;
  esac
}

judge_one() {
  local test=$1 result=$2 wants
  wants=$(column "$test" "$([ "$judge" = kafka ] && echo 2 || echo 3)")
  if [ -n "$record" ]; then
    echo "$result  $test"
  elif [ "$result" = "${wants:-pass}" ]; then
    if [ "$result" = pass ]; then pass "$test"; else echo "known $test: $result, $(column "$test" 5)"; fi
  elif [ "$result" = pass ]; then
    fail "$test passes, and expected.tsv says $wants: correct it"
  else
    fail "$test: $result" "$(tail -15 "$(log_of "$test")")"
  fi
}

# Those of an earlier run, when it is resumed, have not been judged here.
judged() {
  [ -n "$resume" ] || return 0
  local test result
  while IFS=$'\t' read -r test result _; do
    [[ $test = '#'* ]] || [ -n "${was_judged[$test]:-}" ] || judge_one "$test" "$result"
  done < "$results"
}

# Kafka's column from this run; a test that is new gets a row.
record_results() {
  [ "$judge" = kafka ] || { echo "$suite/run: --record goes with --kafka" >&2; exit 2; }
  awk -F '\t' -v OFS='\t' '
    NR == FNR  { if (!/^#/) result[$1] = $2; next }
    /^#/       { print; next }
    $1 in result { $2 = result[$1]; delete result[$1] }
               { print }
    END        { for (test in result) print test, result[test], "pass", "all", "" }' "$results" "$expected" > "$work/expected.tsv"
  cat "$work/expected.tsv" > "$expected"
}
