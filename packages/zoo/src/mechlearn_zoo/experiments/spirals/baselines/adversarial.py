"""Networks that are trained against a part of themselves."""

from torch import Generator, Tensor, nn
from torch.autograd import Function
from torch.nn.functional import cross_entropy

from mechlearn.nn.perceptrons import mlp


class Reverse(Function):
    """The identity, whose gradient is turned round: what follows is trained against what precedes (Ganin et al., 2016)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the input."""
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx: object, inputs: object, output: object) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(ctx: object, *grad_outputs: Tensor) -> Tensor:
        """Return the gradient with its sign changed."""
        return -grad_outputs[0]


class Adversarial(nn.Module):
    """DANN: an embedding, a classifier on it, and a discriminator of environments that the embedding is trained against."""

    def __init__(self, inputs: int, environments: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.embedding = nn.Sequential(mlp(inputs, hidden, generator, hidden, layers=1), nn.LeakyReLU())
        self.classifier = mlp(hidden, 1, generator, hidden, layers=1)
        self.discriminator = mlp(hidden, environments, generator, hidden, layers=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the classifier's logits."""
        return self.classifier(self.embedding(x))

    def domain_loss(self, x: Tensor, environments: Tensor) -> Tensor:
        """Return the discriminator's loss, whose gradient reaches the embedding reversed."""
        return cross_entropy(self.discriminator(Reverse.apply(self.embedding(x))), environments)
