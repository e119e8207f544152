#!/usr/bin/env bash
# Asks isoscope in CI, and leaves what services show: a page, JUnit XML, SARIF, annotations and a summary. Settings come
# from the environment; docs/ci.md has them. It ends as isoscope does: 0 holds, 1 violated, 2 unasked, 3 unknown.
set -euo pipefail

isoscope=${ISOSCOPE:-isoscope}
reports=${ISOSCOPE_REPORTS:-isoscope-reports}
mkdir -p "$reports"

levels=()
if [ -n "${ISOSCOPE_LEVEL:-}" ]; then levels=(--level "$ISOSCOPE_LEVEL"); fi
# Lists in one variable are words.
read -r -a histories <<<"${ISOSCOPE_HISTORY:-}"
read -r -a programs <<<"${ISOSCOPE_PROGRAM:-}"
read -r -a arguments <<<"${ISOSCOPE_ARGUMENTS:-}"
read -r -a command <<<"${ISOSCOPE_RUN:-}"

if [ ${#histories[@]} -eq 0 ] && [ ${#programs[@]} -eq 0 ] && [ ${#command[@]} -eq 0 ]; then
    echo "isoscope: there is nothing to ask; set ISOSCOPE_HISTORY, ISOSCOPE_PROGRAM or ISOSCOPE_RUN" >&2
    exit 2
fi

worst=0
# Violated weighs more than unknown, and unasked more than both.
weigh() { case $1 in 0) echo 0 ;; 3) echo 1 ;; 1) echo 2 ;; *) echo 3 ;; esac; }
note() { if [ "$(weigh "$1")" -gt "$(weigh "$worst")" ]; then worst=$1; fi; }

# ask VERB INPUT NAME OPTIONS...: the verb with all reports, and annotations where GitHub reads them.
ask() {
    local verb=$1 input=$2 name=$3 code=0
    shift 3
    "$isoscope" "$verb" "$input" "$@" --timeout "${ISOSCOPE_TIMEOUT:-5m}" \
        --report "$reports/$name.html" --report "$reports/$name.xml" --report "$reports/$name.sarif" \
        --report "$reports/$name.json" --report "$reports/$name.txt" || code=$?
    if [ "${GITHUB_ACTIONS:-}" = true ] && [ -s "$reports/$name.json" ]; then
        "$isoscope" report "$reports/$name.json" --github
    fi
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -s "$reports/$name.txt" ]; then
        { echo "### isoscope $verb $input"; echo '```'; cat "$reports/$name.txt"; echo '```'; } >>"$GITHUB_STEP_SUMMARY"
    fi
    note "$code"
}

if [ ${#command[@]} -gt 0 ]; then
    recorded=$reports/served.jsonl
    schema=()
    if [ -n "${ISOSCOPE_SCHEMA:-}" ]; then schema=(--schema "$ISOSCOPE_SCHEMA"); fi
    code=0
    "$isoscope" serve --level "${ISOSCOPE_SERVE_LEVEL:-rc}" "${schema[@]}" -o "$recorded" --force -- "${command[@]}" || code=$?
    note "$code"
    # What the tests were shown, whether they failed or not.
    if [ -s "$recorded" ]; then histories+=("$recorded"); fi
fi
for history in "${histories[@]}"; do
    ask check "$history" "check-$(basename "$history")" "${levels[@]}" "${arguments[@]}"
done
for program in "${programs[@]}"; do
    ask verify "$program" "verify-$(basename "$program")" "${levels[@]}" "${arguments[@]}"
done

case $worst in 0) verdict=holds ;; 1) verdict=violated ;; 3) verdict=unknown ;; *) verdict=unasked ;; esac
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    { echo "verdict=$verdict"; echo "reports=$reports"; } >>"$GITHUB_OUTPUT"
fi
echo "isoscope: $verdict; the reports are in $reports"
exit "$worst"
