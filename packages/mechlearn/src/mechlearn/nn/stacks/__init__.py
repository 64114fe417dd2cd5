"""Many small networks of one architecture as one: a leading axis of members on every parameter.

Configurations, folds and seeds train side by side in one batched run, each member exactly as it would alone: its own rows,
learning rate, weight decay and step count; a member that has stopped stays where it is. Index convention: m a member of M.

>>> import torch
>>> from mechlearn.nn.perceptrons import relu_mlp
>>> stack = Stack([relu_mlp((3, 8, 2), torch.Generator().manual_seed(seed)) for seed in range(4)])
>>> optimizer = StackedAdam(stack.parameters(), rates=[0.1, 0.03, 0.01, 0.003])
>>> x, y = torch.randn(4, 16, 3), torch.randint(2, (4, 16))
>>> losses = torch.nn.functional.cross_entropy(stack(x).movedim(-1, 1), y, reduction="none").mean(1)  # one for each member
>>> losses.sum().backward()  # a member's parameters see its own loss only
>>> optimizer.step(running=losses > 0.1)
"""

from mechlearn.nn.stacks.adam import StackedAdam as StackedAdam
from mechlearn.nn.stacks.stack import Stack as Stack
from mechlearn.nn.stacks.stack import dense_layers as dense_layers
from mechlearn.nn.stacks.stack import through as through
