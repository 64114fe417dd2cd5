"""The subspace mask: of a layer's inputs, remove the directions in which environments differ by more than they have in common.

They are those of `mechlearn_zoo.experiments.conflict.shortcuts.directions`; they are taken out of the step, and the weights
decay along them.
"""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import Row
from mechlearn_zoo.experiments.conflict.shortcuts.directions import SIGNIFICANCE, apart, backward, forward
from mechlearn_zoo.experiments.conflict.shortcuts.looks import Looks, outcome
from mechlearn_zoo.experiments.conflict.shortcuts.training import Board, Training, batches, make_data, make_model


def differing(
    inputs: Float[Tensor, "e n i"], deltas: Float[Tensor, "e n o"], significance: float = SIGNIFICANCE
) -> Float[Tensor, "i k"]:
    """Return orthonormal directions of a linear layer's inputs in which the environments differ.

    Args:
        inputs: of the layer, n examples of each environment.
        deltas: each example's gradient at the layer's output.
        significance: standard deviations above noise that a direction needs.
    """
    count, n = inputs.shape[:2]
    gradients = torch.einsum("eno,eni->eoi", deltas, inputs) / n
    weighted = deltas.square().sum(-1, keepdim=True) * inputs
    second = torch.einsum("eni,enj->ij", weighted, inputs) / n - torch.einsum("eoi,eoj->ij", gradients, gradients)
    return apart(gradients, second / (n - 1) / count, significance)


def train_subspace(config: Training, board: Board, decay: float, layers: str) -> Row:
    """Train with the subspace mask on the first linear layer or on all of them; elsewhere this is averaging."""
    data, model = make_data(config, board), make_model(config, board)
    linear = [module for module in model if isinstance(module, nn.Linear)]
    masked = linear[:1] if layers == "first" else linear
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    shares, loss, looks = 0.0, float("nan"), Looks(config.every, config.steps, data)
    for step, (x, y, _) in enumerate(batches(config, data.train), start=1):
        optimizer.zero_grad()
        seen = forward(model, x, masked)
        losses = cross_entropy(seen.pop(), y)
        directions = [differing(inputs, deltas) for inputs, deltas in backward(losses, seen, config.environments)]
        for layer, basis in zip(masked, directions, strict=True):
            gradient = cast("Tensor", layer.weight.grad)
            layer.weight.grad = gradient - gradient @ basis @ basis.T
        before = [layer.weight.detach().clone() for layer in masked]
        optimizer.step()
        rate = scheduler.get_last_lr()[0]
        with torch.no_grad():
            for layer, basis, old in zip(masked, directions, before, strict=True):
                # Adam turns a projected gradient back into all directions: the step is projected too, then the rest decays.
                step_taken = layer.weight - old
                kept = old + step_taken - step_taken @ basis @ basis.T
                layer.weight.copy_(kept - rate * decay * kept @ basis @ basis.T)
        scheduler.step()
        shares += 1 - sum(b.shape[1] for b in directions) / sum(b.shape[0] for b in directions)
        loss = float(losses.detach())
        looks.after(step, model)
    return outcome(looks, kept=shares / config.steps, train_loss=loss)
