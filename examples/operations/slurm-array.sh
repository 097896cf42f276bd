#!/bin/bash
# A batch on Slurm: each task of a job array runs one part of the tasks, in a folder of its own.
#
#   sbatch --array=1-8 slurm-array.sh tasks.jsonl runs --workspace copy   # eight parts; --array=1-8%4: four at a time
#   zot batch status runs/part-*-of-8                                     # all parts as one batch, also while they run
#   zot batch results runs/part-*-of-8 > results.jsonl
#   zot report runs/part-*-of-8 -o report.html
#
# The first index is 1. There are at most as many parts as tasks: a part without tasks ends with exit status 2. After
# the first two words come flags of `zot batch`. One part alone once more: PARTS=8 sbatch --array=3 ...
#
# Three minutes before --time Slurm sends SIGUSR1 to this shell, which stops the batch: tasks under way are interrupted,
# and the requeued job runs them again from their beginning. So that few are, no task starts after --deadline: keep it
# below --time by as long as a task takes. A job that Slurm requeues (a lost or preempted node) resumes, too.
# `runs` is a folder that all nodes have; each node's key is in ANTHROPIC_API_KEY, which sbatch passes on, or in the
# file of `zot login` in a shared home.
#
# Tried: as a plain script under bash 5.2 by a test, with the variables of Slurm and a stand-in for `scontrol`: three
# parts, SIGUSR1 to one, and its second start; SIGTERM to all processes of a batch at once, by hand; shellcheck 0.11.
# Not tried: Slurm itself.
#SBATCH --job-name=zot-batch
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=zot-%A_%a.log
tasks=${1:?usage: sbatch --array=1-N slurm-array.sh TASKS RUNS [FLAGS of zot batch]}
runs=${2:?usage: sbatch --array=1-N slurm-array.sh TASKS RUNS [FLAGS of zot batch]}
shift 2
part=${SLURM_ARRAY_TASK_ID:?this script is for sbatch --array}
parts=${PARTS:-$SLURM_ARRAY_TASK_COUNT}
rundir=$runs/part-$part-of-$parts

is_near_limit='' has_signal=''
trap 'has_signal=1 is_near_limit=1; [ -z "$!" ] || kill -TERM "$!"' USR1
trap 'has_signal=1' TERM  # scancel or preemption: Slurm sends it to the batch as well, and a second one would kill runs
zot batch "$tasks" -o "$rundir" --shard "$part/$parts" --deadline 3h30m "$@" </dev/null &
while :; do
    has_signal=''
    wait "$!"
    status=$?
    [ "$has_signal" ] || break  # a signal ends `wait`, not the batch
done

# 130 and 143: the batch was stopped. A batch that --deadline has ended says so; other limits need another number.
if { [ "$is_near_limit" ] && { [ "$status" = 130 ] || [ "$status" = 143 ]; }; } ||
    zot batch status "$rundir" --json | grep -q '"state":"deadline"'; then
    if [ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]; then
        scontrol requeue "$SLURM_JOB_ID"
    else
        echo "requeued ten times: is a task longer than --time? zot batch status $rundir" >&2
    fi
fi
exit "$status"
