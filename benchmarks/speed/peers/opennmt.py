"""OpenNMT-py: its model, loss, optimiser and trainer, over the given batches."""

import time
from typing import Any

import torch
from benchmarks.speed.peers.child import serve, versions
from benchmarks.speed.peers.hand import PAD, Rectangles, parameters, read_batches, read_pieces


class Peer:
    """onmt's Trainer, fed batch by batch."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make all that `onmt_train` makes, but the reader of files."""
        from onmt.inputters.inputter import dict_to_vocabs
        from onmt.model_builder import build_model
        from onmt.trainer import build_trainer
        from onmt.utils.optimizers import Optimizer

        torch.manual_seed(1)
        self.batches = read_batches(message["batches"])
        pieces = ["<blank>", "<s>", "</s>", "<unk>", *read_pieces(message["vocabulary"])[4:]]
        vocabularies = dict_to_vocabs({"src": pieces, "tgt": pieces, "data_task": "seq2seq"})
        settings = options(message)
        self.model = build_model(settings, settings, vocabularies, None, -1)
        self.optimizer = Optimizer.from_opt(self.model, settings)
        self.trainer = build_trainer(settings, -1, self.model, vocabularies, self.optimizer)
        self.model.train()
        return {
            "parameters": parameters(self.model),
            "threads": torch.get_num_threads(),
            "versions": versions("OpenNMT-py", "torch"),
        }

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named."""
        begin = time.perf_counter()
        statistics = self.trainer.train(
            ((self.given(self.batches[number]), 0) for number in message["batches"]), train_steps=0
        )
        return {"seconds": time.perf_counter() - begin, "loss": statistics.xent()}

    def given(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make a batch as onmt's reader does."""
        made = Rectangles(batch)
        target = torch.cat([made.inputs[:, :1], made.labels], 1)
        return {"src": made.source[..., None], "srclen": (made.source != PAD).sum(1), "tgt": target[..., None]}


def options(message: dict[str, Any]) -> Any:
    """Return the options of `onmt_train`."""
    from onmt.bin.train import _get_parser
    from onmt.utils.parse import ArgumentParser

    sizes = message["model"]
    given = {
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": sizes["layers"],
        "hidden_size": sizes["width"],
        "word_vec_size": sizes["width"],
        "transformer_ff": sizes["feed_forward"],
        "heads": sizes["heads"],
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
    flags = [
        "-position_encoding",
        "-share_embeddings",
        "-share_decoder_embeddings",
        "-share_vocab",
        "-param_init_glorot",
    ]
    words = [word for name, value in (given | {"param_init": 0}).items() for word in (f"-{name}", str(value))]
    settings, _ = _get_parser().parse_known_args([*words, *flags, "-data", "{}"])
    settings.data = {}
    ArgumentParser.update_model_opts(settings)
    ArgumentParser.validate_model_opts(settings)
    return settings


if __name__ == "__main__":
    serve(Peer())
