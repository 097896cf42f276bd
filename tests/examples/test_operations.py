"""The files of `examples/operations`: their words run with the variables that Slurm, Kubernetes and Actions set."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.patience import PATIENCE_S
from tests.support.zot_fixtures import zot
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until

__all__ = ["zot"]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "operations"
SLURM = FOLDER / "slurm-array.sh"
RAY = FOLDER / "ray-cluster.sh"
BASH_OF_ACTIONS = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]


def objects(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def workflow_steps(job):
    (workflow,) = objects("github-workflow.yml")
    return {step.get("name", step.get("uses")): step for step in workflow["jobs"][job]["steps"]}


def program(place, name, text):
    """Puts a shell script in front of the PATH of the place."""
    path = place / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def environment(place, **variables):
    path = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "HOME": str(place), **variables}


# --- Slurm, with a batch that does as it is told ---


STAND_IN = """
case $1$2 in
batchstatus) echo "{\\"state\\":\\"${STATE:-done}\\"}"; exit ;;
esac
printf '%s\\n' "$@" > args
trap 'echo TERM >> signals; exit 130' TERM
: > began
[ -z "${HOLD-}" ] || while [ ! -e let-go ]; do sleep 0.01; done
exit "${STATUS:-0}"
"""


@pytest.fixture
def slurm(tmp_path):
    program(tmp_path, "zot", STAND_IN)
    program(tmp_path, "scontrol", 'echo "$@" >> scontrol-said')

    def start(**variables):
        of_slurm = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_JOB_ID": "71"}
        env = environment(tmp_path, **of_slurm, **variables)
        command = ["bash", SLURM, "tasks.jsonl", "runs", "--jobs", "3"]
        return subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)

    start.place = tmp_path
    start.requeued = lambda: (tmp_path / "scontrol-said").read_text() if (tmp_path / "scontrol-said").exists() else None
    return start


def end(process):
    errors = process.communicate(timeout=PATIENCE_S)[1]
    return process.returncode, errors


@pytest.mark.parametrize("status", [0, 1, 2, 10])
def test_a_part_that_ends_is_not_requeued_and_its_status_is_that_of_the_job(slurm, status):
    assert end(slurm(STATUS=str(status)))[0] == status
    assert slurm.requeued() is None
    said = (slurm.place / "args").read_text().split()
    shown = ["batch", "tasks.jsonl", "-o", "runs/part-2-of-3", "--shard", "2/3", "--deadline", "3h30m", "--jobs", "3"]
    assert said == shown


def test_one_part_alone_has_the_number_of_parts_from_its_caller(slurm):
    assert end(slurm(PARTS="8"))[0] == 0
    assert "runs/part-2-of-8\n--shard\n2/8\n" in (slurm.place / "args").read_text()


def test_near_the_time_limit_the_batch_is_stopped_once_and_the_job_requeued(slurm):
    process = slurm(HOLD="1")
    wait_until((slurm.place / "began").exists)
    process.send_signal(signal.SIGUSR1)
    assert end(process)[0] == 130
    assert (slurm.place / "signals").read_text() == "TERM\n"
    assert slurm.requeued() == "requeue 71\n"


def test_a_batch_that_ends_well_all_the_same_is_not_requeued(slurm):
    program(slurm.place, "zot", STAND_IN.replace("exit 130", "exit 0"))
    process = slurm(HOLD="1")
    wait_until((slurm.place / "began").exists)
    process.send_signal(signal.SIGUSR1)
    assert end(process)[0] == 0
    assert slurm.requeued() is None


def test_a_cancelled_job_waits_for_its_batch_which_slurm_has_told_itself(slurm):
    process = slurm(HOLD="1", STATUS="130")
    wait_until((slurm.place / "began").exists)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    (slurm.place / "let-go").touch()
    assert end(process)[0] == 130
    assert not (slurm.place / "signals").exists(), "a second SIGTERM would kill the runs"
    assert slurm.requeued() is None


def test_what_the_deadline_has_left_is_for_the_next_start(slurm):
    assert end(slurm(STATE="deadline", STATUS="10"))[0] == 10
    assert slurm.requeued() == "requeue 71\n"


def test_a_part_is_requeued_ten_times_at_most(slurm):
    status, errors = end(slurm(STATE="deadline", STATUS="10", SLURM_RESTART_COUNT="10"))
    assert (status, slurm.requeued()) == (10, None)
    assert errors == "requeued ten times: is a task longer than --time? zot batch status runs/part-2-of-3\n"


def test_a_forgotten_word_is_told():
    found = subprocess.run(["bash", SLURM, "tasks.jsonl"], capture_output=True, text=True)
    assert found.returncode != 0
    assert "usage: sbatch --array=1-N slurm-array.sh TASKS RUNS" in found.stderr


# --- fields that have to agree ---


@pytest.mark.parametrize("path", [path for path in sorted(FOLDER.iterdir()) if path.suffix in (".sh", ".yaml", ".yml")])
def test_each_file_can_be_read_and_says_first_what_was_tried_and_what_was_not(path):
    comment = path.read_text().partition("\n\n")[0] if path.suffix == ".sh" else path.read_text()
    assert "# Tried: " in comment
    assert "Not tried: " in comment
    if path.suffix == ".sh":
        shell = path.read_text().splitlines()[0].rpartition("/")[2]
        assert subprocess.run([shell, "-n", path]).returncode == 0
    else:
        assert all(objects(path.name))


def test_the_pods_are_as_many_as_the_parts_and_the_policy_knows_each_exit_status():
    volume, job = objects("kubernetes-job.yaml")
    assert volume["spec"]["accessModes"] == ["ReadWriteMany"]
    spec = job["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    env = {each["name"]: each for each in container["env"]}
    assert env["PARTS"]["value"] == str(spec["completions"])
    assert spec["completionMode"] == "Indexed"
    assert pod["restartPolicy"] == "Never", "podFailurePolicy needs it"
    actions = {
        code: rule["action"]
        for rule in spec["podFailurePolicy"]["rules"]
        if "onExitCodes" in rule
        for code in rule["onExitCodes"]["values"]
    }
    assert actions == {2: "FailJob", 10: "FailIndex", 130: "Ignore", 143: "Ignore"}
    assert {
        rule["onExitCodes"]["containerName"] for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule
    } == {container["name"]}
    (results,) = objects("kubernetes-results.yaml")
    claims = [
        each["persistentVolumeClaim"]["claimName"]
        for one in (job, results)
        for each in one["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in each
    ]
    assert claims == [volume["metadata"]["name"]] * 2


def test_the_matrix_has_all_parts():
    (workflow,) = objects("github-workflow.yml")
    job = workflow["jobs"]["part"]
    assert job["strategy"]["matrix"]["part"] == [*range(1, workflow["env"]["PARTS"] + 1)]
    assert job["strategy"]["fail-fast"] is False
    assert workflow["defaults"]["run"]["shell"] == "bash"


# --- Ray, with a program that says how it was called ---


def ray(place, *words, **variables):
    program(place, "ray", 'echo "$RAY_AUTH_MODE $*"; [ "$1" != get-auth-token ] || echo secret > "$HOME/made"')
    found = subprocess.run(["sh", RAY, *words], env=environment(place, **variables), capture_output=True, text=True)
    return found.returncode, found.stdout, found.stderr


def test_a_head_makes_a_token_and_stays_in_the_foreground(tmp_path):
    status, said, _ = ray(tmp_path, "head", "10.0.0.1")
    assert (status, (tmp_path / "made").exists()) == (0, True)
    assert said == (
        "token start --head --node-ip-address=10.0.0.1 --port=6379"
        " --include-dashboard=false --disable-usage-stats --block\n"
    )


def test_a_worker_needs_the_token_of_the_head(tmp_path):
    status, said, errors = ray(tmp_path, "worker", "10.0.0.1")
    assert (status, said) == (2, "")
    assert errors == f"no token in {tmp_path}/.ray/auth_token: copy that of the head, with mode 600\n"
    (tmp_path / "token").write_text("secret")
    status, said, _ = ray(tmp_path, "worker", "10.0.0.1", RAY_AUTH_TOKEN_PATH=str(tmp_path / "token"), RAY_PORT="7000")
    assert (status, said) == (0, "token start --address=10.0.0.1:7000 --disable-usage-stats --block\n")


@pytest.mark.parametrize("words", [[], ["head"], ["boss", "10.0.0.1"]])
def test_other_words_are_told(tmp_path, words):
    status, said, errors = ray(tmp_path, *words)
    assert (status != 0, said) == (True, "")
    assert "usage: ray-cluster.sh head|worker ADDRESS-OF-THE-HEAD" in errors


# --- whole batches ---

PARTS = 3


@pytest.fixture
def place(zot, tmp_path):
    """The example of a batch with six tasks for three parts. The last task of the first part waits in its `setup` for a
    file, which the second start finds."""
    here = tmp_path / "data"
    shutil.copytree(ROOT / "examples" / "batch", here)
    first = {(task := json.loads(line))["id"]: task for line in (here / "tasks.jsonl").read_text().splitlines()}
    tasks = [{**first[name], "id": f"{name}-{turn}"} for turn in "12" for name in ("total", "docstrings", "vat")]
    tasks[3]["setup"] = f"[ -e {tmp_path}/go ] || {{ touch {tmp_path}/waits; sleep 1000; }}"
    (here / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    program(tmp_path, "zot", f'exec {sys.executable} -m pyzot "$@"')
    program(tmp_path, "scontrol", 'echo "$@" >> scontrol-said')
    return here


class SlurmPlace:
    folders = "runs/part-*-of-3"

    def command(self, part):
        variables = {"SLURM_ARRAY_TASK_ID": part, "SLURM_ARRAY_TASK_COUNT": PARTS, "SLURM_JOB_ID": 70 + part}
        return ["bash", SLURM, "tasks.jsonl", "runs", "--workspace", "copy"], variables

    def stop(self, process, here):
        process.send_signal(signal.SIGUSR1)
        assert process.wait(PATIENCE_S) == 130
        assert (here / "scontrol-said").read_text() == "requeue 71\n"

    def results(self, call):
        assert call(["sh", "-c", f"zot report {self.folders} -o report.html"]).returncode == 0
        return call(["sh", "-c", f"zot batch results {self.folders}"])


class KubernetesPlace:
    def command(self, part):
        (container,) = objects("kubernetes-job.yaml")[1]["spec"]["template"]["spec"]["containers"]
        return [*container["command"], *container["args"]], {"JOB_COMPLETION_INDEX": part - 1, "PARTS": PARTS}

    def stop(self, process, here):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 130

    def results(self, call):
        (container,) = objects("kubernetes-results.yaml")[0]["spec"]["template"]["spec"]["containers"]
        return call([*container["command"], *container["args"]])


class ActionsPlace:
    attempt = 1

    def command(self, part):
        words = workflow_steps("part")["Run the tasks"]["run"]
        redo = "--redo failed" if self.attempt > 1 else ""
        return [*BASH_OF_ACTIONS, words], {"PART": part, "PARTS": PARTS, "REDO": redo}

    def stop(self, process, here):
        process.send_signal(signal.SIGINT)
        wait_until(lambda: "drain" in (here / "runs/part-1/batch.log").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 130
        for path in (here / "runs" / "part-1").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # as artefacts come back
        shutil.rmtree(here / "runs" / "part-1" / "workspaces")
        self.attempt = 2

    def results(self, call):
        steps = workflow_steps("results")
        read = call([*BASH_OF_ACTIONS, steps["Read all parts as one batch"]["run"]])
        assert read.returncode == 0, read.stderr
        check = [*BASH_OF_ACTIONS, steps["Check that all parts are there and all tasks are ok"]["run"]]
        assert call(check, PARTS=PARTS, GITHUB_STEP_SUMMARY="summary").returncode == 10
        assert call(check, PARTS=PARTS + 1, GITHUB_STEP_SUMMARY="/dev/null").returncode == 1
        return call(["cat", "results.jsonl"])


@pytest.mark.slow  # ten programs one after the other, each started anew
@pytest.mark.parametrize("kind", [SlurmPlace, KubernetesPlace, ActionsPlace])
def test_three_parts_of_which_one_is_stopped_and_started_again_are_one_batch(zot, place, tmp_path, kind):
    it = kind()
    env = {**zot.env, "PATH": environment(tmp_path)["PATH"]}

    def begin(part):
        command, variables = it.command(part)
        return subprocess.Popen(
            command, cwd=place, env={**env, **{name: str(each) for name, each in variables.items()}}
        )

    def call(command, **variables):
        more = {name: str(each) for name, each in variables.items()}
        return subprocess.run(command, cwd=place, env={**env, **more}, capture_output=True, text=True)

    with begin(1) as stopped:
        wait_until((tmp_path / "waits").exists)
        it.stop(stopped, place)
    (tmp_path / "go").touch()
    for part in (2, 3, 1):
        with begin(part) as process:
            assert process.wait(PATIENCE_S) == (10 if part == 3 else 0), "the check of vat fails, as in the example"

    found = it.results(call)
    results = {one["id"]: one for one in map(json.loads, found.stdout.splitlines())}
    assert {name: one["status"] for name, one in results.items()} == {
        "total-1": "ok", "docstrings-1": "ok", "vat-1": "check_failed",
        "total-2": "ok", "docstrings-2": "ok", "vat-2": "check_failed",
    }, found.stderr  # fmt: skip
    assert len(found.stdout.splitlines()) == len(results), "no task twice"
    assert results["total-2"]["attempt"] == 2
    assert (place / "report.html").stat().st_size > 0
    status = run(zot, "batch", "status", *sorted((place / "runs").iterdir()), "--json", cwd=place)
    (record,) = status.json_lines
    assert (record["tasks"], record["left"], record["starts"]) == (6, 0, 4)
