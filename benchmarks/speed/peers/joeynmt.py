"""JoeyNMT: its model, loss and batches in the loop of its trainer, and its search."""

from types import SimpleNamespace
from typing import Any

import torch
from benchmarks.speed.peers.child import serve, versions
from benchmarks.speed.peers.hand import PAD, HandLoop, Rectangles, read_pieces
from torch import Tensor, nn


class Peer(HandLoop):
    """JoeyNMT's step, as its TrainManager takes it."""

    def build(self, message: dict[str, Any]) -> nn.Module:
        """Make vocabulary and model."""
        from joeynmt.model import build_model
        from joeynmt.vocabulary import Vocabulary

        names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
        special = {f"{name}_token": piece for name, piece in names.items()}
        numbers = {f"{name}_id": at for at, name in enumerate(names)}
        about = SimpleNamespace(**special, **numbers, lang_tags=[], sep_token=None, sep_id=None)
        vocabulary = Vocabulary(read_pieces(message["vocabulary"])[4:], about)
        model = build_model(configuration(message["model"]), vocabulary, vocabulary)
        model.loss_function = ("crossentropy", self.smoothing)
        return model

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take JoeyNMT's optimiser, and say also which version it is."""
        from joeynmt.builders import build_optimizer

        answer = super().load(message)
        settings = {"optimizer": "adam", "learning_rate": message["learning_rate"], "adam_betas": [0.9, 0.98]}
        self.optimizer = build_optimizer(settings, self.model.parameters())
        return answer | {"versions": versions("joeynmt", "torch")}

    def step(self, batch: Rectangles) -> float:
        """Take one step."""
        made = batch_of(batch.source, torch.cat([batch.inputs[:, :1], batch.labels], 1))
        made.sort_by_src_length()
        total, _, _, _ = self.model(return_type="loss", **vars(made))
        loss = made.normalize(total, normalization="tokens")
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.model.zero_grad()
        return loss.item()

    def search(self, source: Tensor, length: int, beam: int) -> list[list[int]]:
        """Let JoeyNMT search; the score of a hypothesis in a beam is divided by its length, to the power 1."""
        from joeynmt.search import search

        hypotheses, _, _ = search(self.model, batch_of(source), length, beam, 1.0)
        return of_dragoman(torch.from_numpy(hypotheses)).tolist()


def batch_of(source: Tensor, target: Tensor | None = None) -> Any:
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
        "layer_norm": sizes.get("layer_norm", "post"),
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
