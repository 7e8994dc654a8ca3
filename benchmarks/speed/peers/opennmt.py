"""OpenNMT-py: its model, loss, optimiser, trainer and translator, over the given batches."""

from typing import Any

import torch
from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.family import Family
from benchmarks.speed.peers.hand import PAD, Rectangles, read_pieces


class Peer(Family):
    """onmt's Trainer and Translator."""

    packages = ("OpenNMT-py", "torch")

    def build(self, message: dict[str, Any]) -> None:
        """Make the model."""
        from onmt.inputters.inputter import dict_to_vocabs
        from onmt.model_builder import build_model

        pieces = ["<blank>", "<s>", "</s>", "<unk>", *read_pieces(message["vocabulary"])[4:]]
        self.vocabularies = dict_to_vocabs({"src": pieces, "tgt": pieces, "data_task": "seq2seq"})
        self.settings = options(message)
        self.model = build_model(self.settings, self.settings, self.vocabularies, None, -1)

    def prepare(self) -> None:
        """Make optimiser and trainer."""
        from onmt.trainer import build_trainer
        from onmt.utils.optimizers import Optimizer

        self.optimizer = Optimizer.from_opt(self.model, self.settings)
        self.trainer = build_trainer(self.settings, -1, self.model, self.vocabularies, self.optimizer)

    def given(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make a batch as onmt's reader does."""
        made = Rectangles(batch)
        target = torch.cat([made.inputs[:, :1], made.labels], 1)
        return {"src": made.source[..., None], "srclen": (made.source != PAD).sum(1), "tgt": target[..., None]}

    def translator(self, *, beam: int, least: int, longest: int) -> Any:
        """Make onmt's Translator."""
        from onmt.translate import GNMTGlobalScorer, Translator

        return Translator(
            self.model,
            self.vocabularies,
            beam_size=beam,
            random_sampling_topk=1 if beam == 1 else 0,
            min_length=least,
            max_length=longest,
            max_length_ratio=0,
            global_scorer=GNMTGlobalScorer(0.0, 0.0, "none" if beam == 1 else "avg", "none"),
            dump_beam="",
        )

    def search(self, translator: Any, source: torch.Tensor, lengths: torch.Tensor) -> dict[str, Any]:
        """Let it translate."""
        return translator.translate_batch({"src": source[..., None], "srclen": lengths}, False)


def options(message: dict[str, Any]) -> Any:
    """Return the options of `onmt_train`."""
    from onmt.bin.train import _get_parser
    from onmt.utils.parse import ArgumentParser

    sizes = message["model"]
    given = {
        **(recurrent(sizes) if "hidden" in sizes else transformer(sizes)),
        "layers": sizes["layers"],
        "dropout": sizes["dropout"],
        "attention_dropout": 0.0,
        "label_smoothing": message["label_smoothing"],
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": message["learning_rate"],
        "max_grad_norm": 1.0,
        "normalization": "tokens",
        "report_every": 1_000_000,
        "save_model": "unused",
        "src_vocab": message["vocabulary"],
    }
    tied = ["-position_encoding", "-share_embeddings", "-share_decoder_embeddings"]
    flags = [*([] if "hidden" in sizes else tied), "-share_vocab", "-param_init_glorot"]
    words = [word for name, value in (given | {"param_init": 0}).items() for word in (f"-{name}", str(value))]
    settings, _ = _get_parser().parse_known_args([*words, *flags, "-data", "{}"])
    settings.data = {}
    ArgumentParser.update_model_opts(settings)
    ArgumentParser.validate_model_opts(settings)
    return settings


def transformer(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a Transformer."""
    kinds = {"encoder_type": "transformer", "decoder_type": "transformer"}
    widths = {"hidden_size": sizes["width"], "word_vec_size": sizes["width"]}
    return kinds | widths | {"transformer_ff": sizes["feed_forward"], "heads": sizes["heads"]}


def recurrent(sizes: dict[str, Any]) -> dict[str, Any]:
    """Return the options of Luong's translator, its encoder in both directions; input feeding is the default."""
    kinds = {"encoder_type": "brnn", "decoder_type": "rnn", "rnn_type": "LSTM", "global_attention": "general"}
    return kinds | {"hidden_size": sizes["hidden"], "word_vec_size": sizes["hidden"]}


if __name__ == "__main__":
    serve(Peer())
