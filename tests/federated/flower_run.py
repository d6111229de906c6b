"""A real SuperLink with three SuperNodes on loopback, one of which is killed in mid-run.

Flower pins many packages, so this runs in an environment of its own:

    python tests/federated/flower_run.py --required       # makes one, installs polymeans[federated]
    python tests/federated/flower_run.py --python PATH    # takes one that has both

Without --required it is skipped, with a message, where Flower cannot be installed. It takes three
to five minutes, most of them waiting: Flower polls, and notices a lost node after half a minute.

The template under examples/flower is run as it is. The run must go on without the killed node, its
history must say so, and the model's inertia must be that of the rows of the other two.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "examples" / "flower"
N_NODES, KILLED = 3, 2
PATIENCE = 1200  # seconds for the whole run; it takes about 150 on two idle cores


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="of an environment with flwr and polymeans")
    parser.add_argument(
        "--required", action="store_true", help="fail where Flower is not to be had"
    )
    options = parser.parse_args()
    # Ended from outside, it still has to end what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="flower-") as folder:
        python = options.python or make_environment(Path(folder) / "venv")
        if python is None:
            print("SKIPPED: Flower cannot be installed here; no real run was made", flush=True)
            return 1 if options.required else 0
        tests = [str(python), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
        if subprocess.run([*tests, "tests/federated/test_flower.py"], cwd=ROOT).returncode:
            return 1
        return run(python.parent, Path(folder))


def make_environment(folder: Path) -> Path | None:
    """A new environment; None where Flower cannot be installed."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    wanted = [f"{ROOT}[federated]", "hypothesis", "pytest", "pytest-xdist"]
    done = subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted])
    return None if done.returncode else python


def run(programs: Path, folder: Path) -> int:
    app, home, output = folder / "app", folder / "home", folder / "model.npz"
    shutil.copytree(APP, app)
    home.mkdir()
    config = '[superlink]\ndefault = "here"\n\n[superlink.here]\n'
    config += 'address = "127.0.0.1:8000"\ninsecure = true\n'
    (home / "config.toml").write_text(config)
    environment = dict(os.environ, FLWR_HOME=str(home), FLWR_TELEMETRY_ENABLED="0")
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    processes: list[subprocess.Popen] = []

    def start(name: str, *arguments: str) -> subprocess.Popen:
        log = (folder / f"{name}-{len(processes)}.log").open("w")
        process = subprocess.Popen(
            [str(programs / name), *arguments],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        processes.append(process)
        return process

    try:
        start("flower-superlink", "--insecure", "--disable-runtime-dependency-installation")
        wait_for(8000)
        nodes = [
            start(
                "flower-supernode",
                "--insecure",
                "--superlink",
                "127.0.0.1:8000",
                "--port",
                str(9094 + number),
                "--node-config",
                f"partition-id={number} num-partitions={N_NODES}",
            )
            for number in range(N_NODES)
        ]
        time.sleep(5)
        given = f'output="{output}" min-sites=2 rounds=3 timeout=300.0'
        client = start("flwr", "run", str(app), "here", "--stream", "--run-config", given)
        watch(client, folder, output, nodes[KILLED])
        return judge(programs, output)
    finally:
        for process in processes:
            end(process)
        for log in sorted(folder.glob("*.log")):
            tail = log.read_text(errors="replace")[-1500:]
            print(f"--- {log.name}\n{tail}", flush=True)


def watch(client: subprocess.Popen, folder: Path, output: Path, node: subprocess.Popen) -> None:
    """Kill the node as soon as a step has been made with all nodes; wait for the outcome."""
    until, killed = time.monotonic() + PATIENCE, False
    while time.monotonic() < until and not output.exists():
        text = "".join(log.read_text(errors="replace") for log in folder.glob("*.log"))
        if not killed and f"(step): {N_NODES} of {N_NODES} sites" in text:
            print("killing one node", flush=True)
            end(node, signal.SIGKILL)
            killed = True
        if client.poll() not in (None, 0):
            raise SystemExit("flwr run has failed")
        time.sleep(0.5)
    if not killed:
        raise SystemExit("no step with all nodes was seen")
    time.sleep(2)


def judge(programs: Path, output: Path) -> int:
    """Check the outcome where polymeans is installed."""
    code = f"""
import numpy as np
from polymeans import KhatriRaoKMeans
from polymeans.datasets import make_stick_figures
found = np.load({str(output)!r})
history = found["history"]
for record, present in zip(history, found["present"]):
    print(*record, present)
steps = history["n_sites"][history["kind"] == "step"]
assert steps[0] == 3 and steps[-1] == 2, steps
images, _ = make_stick_figures(600, random_state=0)
rows = np.concatenate([images[i::3].astype(np.float32) for i in range(3) if i != {KILLED}])
sets = [found["set_0"], found["set_1"]]
model = KhatriRaoKMeans((3, 3), init=sets).fit(rows[:50])
model.protocentroids_ = sets
print("inertia", found["inertia"], "of the remaining rows", -model.score(rows))
assert np.isclose(found["inertia"], -model.score(rows), rtol=1e-6)
print("a node was killed, and the run went on")
"""
    return subprocess.run([str(programs / "python"), "-W", "ignore", "-c", code]).returncode


def wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise SystemExit(f"nothing listens on port {port}")


def end(process: subprocess.Popen, how: int = signal.SIGTERM) -> None:
    """End a process and what it has started, which is in its session."""
    try:
        os.killpg(process.pid, how)
        process.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
