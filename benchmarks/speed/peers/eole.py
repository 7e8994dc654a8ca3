"""eole: its model, loss, optimiser and trainer, over the given batches."""

import time
from typing import Any

import torch
from benchmarks.speed.peers.child import serve, versions
from benchmarks.speed.peers.hand import PAD, Rectangles, parameters, read_batches

_NOWHERE: dict[str, list[int]] = {"cid": [], "cid_line_number": []}
"""Where a sentence stands in its corpus, which only estimators of quality ask."""


class Peer:
    """eole's Trainer, fed batch by batch."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make all that `eole train` makes, but the reader of files."""
        from eole.inputters.inputter import build_vocab
        from eole.models.model import get_model_class
        from eole.trainer import build_trainer
        from eole.utils.optimizers import Optimizer

        torch.manual_seed(1)
        self.batches = read_batches(message["batches"])
        settings = configuration(message)
        vocabularies = build_vocab(settings, {"src": [], "tgt": []})
        kind = get_model_class(settings.model)
        self.model = kind.for_training(settings.model, vocabularies, settings.training, device_id=-1)
        self.optimizer = Optimizer.from_config(self.model, settings)
        self.trainer = build_trainer(settings, -1, self.model, vocabularies, self.optimizer)
        self.model.train()
        return {
            "parameters": parameters(self.model),
            "threads": torch.get_num_threads(),
            "versions": versions("eole", "torch"),
        }

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named."""
        begin = time.perf_counter()
        statistics = self.trainer.train(
            ((self.given(self.batches[number]), 0) for number in message["batches"]), train_steps=0
        )
        return {"seconds": time.perf_counter() - begin, "loss": statistics.xent()}

    def given(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make a batch as eole's reader does."""
        made = Rectangles(batch)
        target = torch.cat([made.inputs[:, :1], made.labels], 1)
        lengths = {"srclen": (made.source != PAD).sum(1), "tgtlen": (target != PAD).sum(1)}
        return {"src": made.source, "tgt": target, **lengths, "images": None, "prefix_len": None, **_NOWHERE}


def configuration(message: dict[str, Any]) -> Any:
    """Return the configuration of `eole train`."""
    from eole.config.run import TrainConfig

    sizes = message["model"]
    return TrainConfig(
        src_vocab=message["vocabulary"],
        tgt_vocab=message["vocabulary"],
        share_vocab=True,
        vocab_size_multiple=1,
        pad_token="<pad>",
        report_every=1_000_000,
        data={},
        model={
            "architecture": "transformer",
            "layers": sizes["layers"],
            "hidden_size": sizes["width"],
            "transformer_ff": sizes["feed_forward"],
            "heads": sizes["heads"],
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {"word_vec_size": sizes["width"], "position_encoding_type": "SinusoidalInterleaved"},
        },
        training={
            "model_path": "unused",
            "world_size": 1,
            "gpu_ranks": [],
            "dropout": [sizes["dropout"]],
            "attention_dropout": [0.0],
            "label_smoothing": message["label_smoothing"],
            "optim": "adam",
            "adam_beta2": 0.98,
            "learning_rate": message["learning_rate"],
            "max_grad_norm": 1.0,
            "normalization": "tokens",
            "compute_dtype": "fp32",
            "batch_type": "tokens",
            "param_init_method": "xavier_uniform",
        },
    )


if __name__ == "__main__":
    serve(Peer())
