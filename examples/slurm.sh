#!/bin/bash
# A Slurm job that may need more time than it gets: sbatch slurm.sh PROGRAM [ARGUMENTS]
# Each run continues where the last one stopped, and the job returns to the queue until the program has ended.
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --no-kill

# A folder on a file system that all nodes see. It keeps events and images between two runs.
directory=${FTMPI_JOB_DIR:-$SLURM_SUBMIT_DIR/ftmpi-job-$SLURM_JOB_ID}

# Hosts and the number of ranks come from Slurm. The same command begins the job and continues it.
ftmpiexec --job-dir "$directory" --auto-restart --grace 120s "$@" &
child=$!

# Slurm sends SIGTERM 180 s before the limit: ftmpiexec writes a last image of every rank and ends
# with code 75.
trap 'kill -TERM $child' TERM
wait $child
code=$?
# A signal interrupts `wait` while the job still runs.
while kill -0 $child 2>/dev/null; do
    wait $child
    code=$?
done

if [ $code -eq 75 ]; then
    # A job that was cancelled does not come back.
    if [ "$(squeue -h -j "$SLURM_JOB_ID" -o %T)" = RUNNING ]; then
        scontrol requeue "$SLURM_JOB_ID"
    fi
elif [ $code -eq 0 ] && [ -z "$FTMPI_JOB_DIR" ]; then
    # A directory that you have named stays.
    rm -rf "$directory"
fi
exit $code
