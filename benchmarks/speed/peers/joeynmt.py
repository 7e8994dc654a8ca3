"""JoeyNMT: its model, loss and batches in the loop of its trainer, and its search."""

import time
from types import SimpleNamespace
from typing import Any

import torch
from benchmarks.speed.peers.child import serve, versions
from benchmarks.speed.peers.hand import (
    EOS,
    PAD,
    Fitting,
    Rectangles,
    ended,
    most,
    parameters,
    read_batches,
    read_pieces,
    rectangle,
)
from torch import Tensor, nn


class Peer:
    """JoeyNMT's step, as its TrainManager takes it."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make vocabulary, model and optimiser."""
        from joeynmt.builders import build_optimizer
        from joeynmt.model import build_model
        from joeynmt.vocabulary import Vocabulary

        torch.manual_seed(1)
        self.batches = read_batches(message["batches"])
        names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
        special = {f"{name}_token": piece for name, piece in names.items()}
        numbers = {f"{name}_id": at for at, name in enumerate(names)}
        about = SimpleNamespace(**special, **numbers, lang_tags=[], sep_token=None, sep_id=None)
        vocabulary = Vocabulary(read_pieces(message["vocabulary"])[4:], about)
        self.model = build_model(configuration(message["model"]), vocabulary, vocabulary)
        self.model.loss_function = ("crossentropy", message["label_smoothing"])
        settings = {"optimizer": "adam", "learning_rate": message["learning_rate"], "adam_betas": [0.9, 0.98]}
        self.optimizer = build_optimizer(settings, self.model.parameters())
        self.model.train()
        return {
            "parameters": parameters(self.model),
            "threads": torch.get_num_threads(),
            "versions": versions("joeynmt", "torch"),
        }

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named."""
        begin = time.perf_counter()
        for number in message["batches"]:
            last = self.step(self.batches[number])
        return {"seconds": time.perf_counter() - begin, "loss": last}

    def fit(self, message: dict[str, Any]) -> dict[str, Any]:
        """Train for so many seconds."""
        fitting = Fitting(self.batches, message)
        for batch in fitting:
            for group in self.optimizer.param_groups:
                group["lr"] = fitting.rate
            loss = self.step(batch)
        return {"loss": loss, **fitting.numbers()}

    def step(self, given: dict[str, Any]) -> float:
        """Take one step."""
        made = Rectangles(given)
        batch = self.batch(made.source, torch.cat([made.inputs[:, :1], made.labels], 1))
        batch.sort_by_src_length()
        total, _, _, _ = self.model(return_type="loss", **vars(batch))
        loss = batch.normalize(total, normalization="tokens")
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.model.zero_grad()
        return loss.item()

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate batch by batch; the score of a hypothesis in a beam is divided by its length, to the power 1."""
        from joeynmt.search import search

        given, seconds, found = message["sentences"], [], list[list[int]]()
        self.model.eval()
        for first in range(0, len(given), message["batch"]):
            begin = time.perf_counter()
            source = rectangle([[*ids, EOS] for ids in given[first : first + message["batch"]]])
            hypotheses, _, _ = search(self.model, self.batch(source), most(source), message["beam"], 1.0)
            found += [ended(ids) for ids in of_dragoman(torch.from_numpy(hypotheses)).tolist()]
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds, "hypotheses": found}

    def batch(self, source: Tensor, target: Tensor | None = None) -> Any:
        """Make a batch as JoeyNMT's reader does; `target` begins with BOS."""
        from joeynmt.batch import Batch

        return Batch(
            src=own(source),
            src_length=(source != PAD).sum(1),
            src_prompt_mask=None,
            trg=None if target is None else own(target),
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=torch.device("cpu"),
            pad_index=1,
            eos_index=3,
        )


def own(ids: Tensor) -> Tensor:
    """Return ids as JoeyNMT numbers them, whose first four are <unk>, <pad>, <s> and </s>."""
    return torch.where(ids < 4, (ids + 1) % 4, ids)


def of_dragoman(ids: Tensor) -> Tensor:
    """Return JoeyNMT's ids as Dragoman numbers them."""
    return torch.where(ids < 4, (ids - 1) % 4, ids)


def configuration(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of the model."""
    side = {
        "type": "transformer",
        "num_layers": sizes["layers"],
        "num_heads": sizes["heads"],
        "embeddings": {"embedding_dim": sizes["width"], "scale": True, "dropout": sizes["dropout"]},
        "hidden_size": sizes["width"],
        "ff_size": sizes["feed_forward"],
        "dropout": sizes["dropout"],
        "layer_norm": "post",
    }
    return {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": side,
        "decoder": {**side, "embeddings": dict(side["embeddings"])},
    }


if __name__ == "__main__":
    serve(Peer())
