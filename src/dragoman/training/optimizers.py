"""Optimisers with their parameter groups."""

from torch import nn
from torch.optim import Adam, AdamW, Optimizer

from dragoman.layers.embedding import TokenEmbedding
from dragoman.training.settings import TrainingSettings


def build_optimizer(model: nn.Module, settings: TrainingSettings) -> Optimizer:
    """Make the optimiser, in its fused form; weight decay pulls matrices of linear and recurrent layers alone."""
    embeddings = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding | TokenEmbedding)
        for parameter in module.parameters(recurse=False)
    }
    decayed = [p for p in model.parameters() if p.dim() > 1 and id(p) not in embeddings]
    others = [p for p in model.parameters() if p.dim() <= 1 or id(p) in embeddings]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    kind = Adam if settings.optimizer == "adam" else AdamW
    return kind(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True)
