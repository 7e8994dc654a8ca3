"""Dragoman, through its own Trainer: what it does around a step is timed too."""

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.hand import parameters, read_batches

from dragoman.data.collate import collate
from dragoman.interfaces import Batch
from dragoman.jobs.parts import replica_count
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.machine.precision import choose_training_precision, width_of
from dragoman.machine.provenance import versions
from dragoman.models.build import ModelSettings, build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.training.files import RunFiles
from dragoman.training.native import choose_loss, choose_recurrence, native_loops, native_loss
from dragoman.training.objectives import build_objective
from dragoman.training.reports import Silent
from dragoman.training.threads import probe_threads
from dragoman.training.trainer import Trainer


class Given:
    """The stream of a training whose batches are named beforehand."""

    def __init__(self, batches: list[dict[str, Any]]) -> None:
        self.batches = batches
        self.numbers: list[int] = []
        self.epochs_done = 0.0
        self.position: dict[str, int] = {"epoch": 0, "index": 0, "pool": 0, "batch": 0}

    def __next__(self) -> Batch:
        batch = self.batches[self.numbers.pop(0)]
        return collate(list(zip(batch["source"], batch["target"], strict=True)))

    def seek(self, position: dict[str, Any]) -> None:
        """Stay."""

    def close(self) -> None:
        """Do nothing."""


class Stopping(Silent):
    """Notes when the last batch's step is over, and asks the trainer to stop."""

    trainer: Trainer
    stream: Given

    def progress(self, record: Mapping[str, Any]) -> None:
        """Hear of a step."""
        if not self.stream.numbers:
            self.ended, self.loss = time.perf_counter(), record["loss"]
            self.trainer.stop_requested = True


class Peer:
    """Dragoman's model, objective, optimiser and trainer."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make the model and the trainer as a recipe does."""
        recipe = parse(Recipe, message["recipe"])
        settings: ModelSettings = recipe.model
        size = message["model"]["vocabulary"]
        torch.manual_seed(recipe.seed)
        torch.set_num_threads(recipe.training.threads or torch.get_num_threads())
        model = build_model(settings, Vocabularies(size, size, shared=message["shared"]))
        precision = choose_training_precision(recipe.training.precision, torch.device("cpu"), width_of(model))
        device = torch.device("cpu")
        recurrence = choose_recurrence(recipe.training.recurrence, device, self._say)
        loss = choose_loss(device, self._say)
        plan = ComputePlan(
            native=native_loops(recurrence, device, self._say),
            native_loss=native_loss(loss, recurrence=recurrence, device=device, say=self._say),
        )
        adopt(model, plan)
        self.listener = Stopping()
        self.listener.stream = Given(read_batches(message["batches"]))
        self.listener.trainer = Trainer(
            model,
            build_objective,
            self.listener.stream,
            settings=recipe.training,
            precision=precision,
            files=RunFiles(Path(tempfile.mkdtemp(prefix="dragoman-speed-"))),
            validate=lambda _: {"dev_loss": 0.0},
            listener=self.listener,
        )
        replicas = replica_count(recipe, torch.device("cpu"))
        if replicas > 1:
            self.listener.trainer.use_replicas(replicas)
        elif recipe.training.threads is None:
            self.listener.stream.numbers = [0, 1]
            torch.set_num_threads(probe_threads(self.listener.trainer))
        return {
            "parameters": parameters(model),
            "threads": torch.get_num_threads(),
            "precision": precision,
            "replicas": replicas,
            "recurrence": recurrence,
            "versions": versions(),
        }

    def _say(self, text: str) -> None:
        """Print something in addition to the answers."""
        print(text, file=sys.stderr)

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named; the checkpoint that stopping writes is not timed."""
        self.listener.stream.numbers = list(message["batches"])
        self.listener.trainer.stop_requested = False
        begin = time.perf_counter()
        self.listener.trainer.run()
        return {"seconds": self.listener.ended - begin, "loss": self.listener.loss}


if __name__ == "__main__":
    serve(Peer())
