#!/usr/bin/env bash
# Asks isoscope in CI, and leaves what services show: a page, JUnit XML, SARIF, annotations and a summary. Settings come
# from the environment; docs/ci.md has them. It ends as isoscope does: 0 holds, 1 violated, 2 unasked, 3 unknown.
set -euo pipefail

isoscope=${ISOSCOPE:-isoscope}
reports=${ISOSCOPE_REPORTS:-isoscope-reports}
mkdir -p "$reports"

levels=()
if [ -n "${ISOSCOPE_LEVEL:-}" ]; then levels=(--level "$ISOSCOPE_LEVEL"); fi
# Lists in one variable are words, on as many lines as there are. An old bash takes an empty list for one that is not set.
histories=() programs=() arguments=()
while read -r -a words; do histories+=(${words[@]+"${words[@]}"}); done <<<"${ISOSCOPE_HISTORY:-}"
while read -r -a words; do programs+=(${words[@]+"${words[@]}"}); done <<<"${ISOSCOPE_PROGRAM:-}"
while read -r -a words; do arguments+=(${words[@]+"${words[@]}"}); done <<<"${ISOSCOPE_ARGUMENTS:-}"

if [ ${#histories[@]} -eq 0 ] && [ ${#programs[@]} -eq 0 ] && [ -z "${ISOSCOPE_RUN:-}" ]; then
    echo "isoscope: there is nothing to ask; set ISOSCOPE_HISTORY, ISOSCOPE_PROGRAM or ISOSCOPE_RUN" >&2
    exit 2
fi

worst=0
# Violated weighs more than unknown, and unasked more than both.
weigh() { case $1 in 0) echo 0 ;; 3) echo 1 ;; 1) echo 2 ;; *) echo 3 ;; esac; }
note() { if [ "$(weigh "$1")" -gt "$(weigh "$worst")" ]; then worst=$1; fi; }

# Jepsen calls every history history.edn: each input has reports of its own.
taken=" "
unlike() {
    name=$1
    local n=2
    while [[ "$taken" == *" $name "* ]]; do name=$1-$n; n=$((n + 1)); done
    taken+="$name "
}

# ask VERB INPUT OPTIONS...: the verb with all reports, and annotations where GitHub reads them.
ask() {
    local verb=$1 input=$2 name code=0
    shift 2
    unlike "$verb-$(basename "$input")"
    "$isoscope" "$verb" "$input" "$@" --timeout "${ISOSCOPE_TIMEOUT:-5m}" \
        --report "$reports/$name.html" --report "$reports/$name.xml" --report "$reports/$name.sarif" \
        --report "$reports/$name.json" --report "$reports/$name.txt" || code=$?
    if [ "${GITHUB_ACTIONS:-}" = true ] && [ -s "$reports/$name.json" ]; then
        "$isoscope" report "$reports/$name.json" --github
    fi
    if [ "${GITHUB_ACTIONS:-}" = true ] && [ "$code" -ne 0 ] && ! [ -s "$reports/$name.json" ]; then
        echo "::error file=$input,title=isoscope $verb $input::the question could not be asked; the log says why"
    fi
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -s "$reports/$name.txt" ]; then
        { echo "### isoscope $verb $input"; echo '```'; cat "$reports/$name.txt"; echo '```'; } >>"$GITHUB_STEP_SUMMARY"
    fi
    note "$code"
}

if [ -n "${ISOSCOPE_RUN:-}" ]; then
    recorded=$reports/served.jsonl
    schema=()
    if [ -n "${ISOSCOPE_SCHEMA:-}" ]; then schema=(--schema "$ISOSCOPE_SCHEMA"); fi
    code=0
    # A shell reads the command, as that of any other step: quotes, && and lines are what they are there.
    "$isoscope" serve --level "${ISOSCOPE_SERVE_LEVEL:-rc}" ${schema[@]+"${schema[@]}"} -o "$recorded" --force \
        -- bash -e -o pipefail -c "$ISOSCOPE_RUN" || code=$?
    note "$code"
    # What the tests were shown, whether they failed or not.
    if [ -s "$recorded" ]; then histories+=("$recorded"); fi
fi
# Bash before 4.4, which macOS has, takes an empty list for one that is not set.
options=(${levels[@]+"${levels[@]}"} ${arguments[@]+"${arguments[@]}"})
for history in ${histories[@]+"${histories[@]}"}; do
    ask check "$history" ${options[@]+"${options[@]}"}
done
for program in ${programs[@]+"${programs[@]}"}; do
    ask verify "$program" ${options[@]+"${options[@]}"}
done

case $worst in 0) verdict=holds ;; 1) verdict=violated ;; 3) verdict=unknown ;; *) verdict=unasked ;; esac
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    { echo "verdict=$verdict"; echo "reports=$reports"; } >>"$GITHUB_OUTPUT"
fi
echo "isoscope: $verdict; the reports are in $reports"
exit "$worst"
