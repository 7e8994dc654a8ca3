"""eole: its model, loss, optimiser, trainer and translator, over the given batches."""

from typing import Any

import torch
from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.family import Family
from benchmarks.speed.peers.hand import PAD, Rectangles

_NOWHERE: dict[str, list[int]] = {"cid": [], "cid_line_number": []}
"""Position of a sentence in its corpus, which only quality estimators use."""


class Peer(Family):
    """eole's Trainer and Translator."""

    packages = ("eole", "torch")

    def build(self, message: dict[str, Any]) -> None:
        """Make the model."""
        from eole.inputters.inputter import build_vocab
        from eole.models.model import get_model_class

        self.settings = configuration(message)
        self.vocabularies = build_vocab(self.settings, {"src": [], "tgt": []})
        kind = get_model_class(self.settings.model)
        self.model = kind.for_training(self.settings.model, self.vocabularies, self.settings.training, device_id=-1)

    def prepare(self) -> None:
        """Make optimiser and trainer."""
        from eole.trainer import build_trainer
        from eole.utils.optimizers import Optimizer

        self.optimizer = Optimizer.from_config(self.model, self.settings)
        self.trainer = build_trainer(self.settings, -1, self.model, self.vocabularies, self.optimizer)

    def given(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make a batch as eole's reader does."""
        made = Rectangles(batch)
        target = torch.cat([made.inputs[:, :1], made.labels], 1)
        lengths = {"srclen": (made.source != PAD).sum(1), "tgtlen": (target != PAD).sum(1)}
        return {"src": made.source, "tgt": target, **lengths, "images": None, "prefix_len": None, **_NOWHERE}

    def translator(self, *, beam: int, least: int, longest: int) -> Any:
        """Make eole's Translator."""
        from eole.config.run import PredictConfig
        from eole.predict import GNMTGlobalScorer, Translator

        settings = PredictConfig.model_construct(
            model_path=[],
            src="",
            beam_size=beam,
            top_k=1 if beam == 1 else 0,
            min_length=least,
            max_length=longest,
            max_length_ratio=0,
        )
        return Translator(
            self.model,
            self.vocabularies,
            settings,
            self.settings.model,
            device_id=-1,
            global_scorer=GNMTGlobalScorer(0.0, 0.0, "none" if beam == 1 else "avg", "none"),
            report_score=False,
        )

    def search(self, translator: Any, source: torch.Tensor, lengths: torch.Tensor) -> dict[str, Any]:
        """Let it translate."""
        return translator.predict_batch({"src": source, "srclen": lengths}, False)


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
        model=recurrent(sizes) if "hidden" in sizes else transformer(sizes),
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


def transformer(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a Transformer."""
    return {
        "architecture": "transformer",
        "layers": sizes["layers"],
        "hidden_size": sizes["width"],
        "transformer_ff": sizes["feed_forward"],
        "heads": sizes["heads"],
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {"word_vec_size": sizes["width"], "position_encoding_type": "SinusoidalInterleaved"},
    }


def recurrent(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of Luong's translator, its encoder in both directions; input feeding is the default."""
    return {
        "architecture": "rnn",
        "layers": sizes["layers"],
        "hidden_size": sizes["hidden"],
        "rnn_type": "LSTM",
        "encoder": {"encoder_type": "brnn"},
        "decoder": {"decoder_type": "rnn", "global_attention": "general"},
        "embeddings": {"word_vec_size": sizes["hidden"]},
    }


if __name__ == "__main__":
    serve(Peer())
