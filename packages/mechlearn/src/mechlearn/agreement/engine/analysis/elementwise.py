"""Operations that treat elements, rows or matrices alike one by one: tables of names, and what each keeps apart.

Names are those of torch's autograd nodes without "Backward" and a number. A name that is in no table is unknown, and nothing is
said about what lies below it.
"""

from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.owners import Batch, Known, Lost, Own, Rows, Shape, project, read_here
from mechlearn.agreement.engine.analysis.saved import dimensions, saved


def names(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


UNARY = names(
    """
    Abs Acos Acosh AddScalar Alias Asin Asinh Atan Atanh Bernoulli Ceil Celu Clone Cos Cosh Deg2Rad Detach Digamma Elu Erf
    Erfc Erfinv Exp Exp2 Expm1 Floor Frac Gelu Hardshrink Hardsigmoid Hardswish Hardtanh I0 LeakyRelu Lgamma Log Log10
    Log1P Log2 LogSigmoid Logit Mish NanToNum NativeDropout FusedDropout Neg Rad2Deg Reciprocal Relu Relu6 Round Rrelu
    RreluWithNoise Rsqrt Sgn Sigmoid Sign Silu Sin Sinc Sinh Softplus Softshrink SpecialEntr SpecialErfcx SpecialNdtri
    Sqrt Tan Tanh Threshold ToCopy Tril Triu Trunc Real Imag ViewAsRealCopy Conj ConjPhysical LiftFresh Lift
    """
)
"""One input of the output's shape, element by element."""

BROADCASTING = names(
    """
    Add Addcdiv Addcmul Atan2 Clamp ClampMax ClampMin Copysign Div Expand FloorDivide Fmax Fmin Fmod Hypot Lerp Logaddexp
    Logaddexp2 Maximum Max2 Minimum Mvlgamma Pow PreluKernel Remainder Rsub SpecialXlog1Py Sub Xlogy
    Fill Zero IndexFill Polar Complex Ldexp
    """
)
"""Any number of inputs that broadcast to the output's shape, element by element."""

MASKED = names("MaskedFill Mul Where")
"""The same, with a factor or a mask by which some elements get no gradient."""

TWICE = names(
    """
    BinaryCrossEntropyBackward EluBackward GeluBackward HardshrinkBackward HardswishBackward HardtanhBackward HuberLossBackward
    LeakyReluBackward LogSigmoidBackward MseLossBackward NativeDropoutBackward RreluWithNoiseBackward SigmoidBackward
    SmoothL1LossBackward SoftMarginLossBackward SoftplusBackward SoftshrinkBackward TanhBackward ThresholdBackward
    """
)
"""Backward passes of such operations that are differentiated again: the incoming gradient and the input, element by element."""

LOSSES = names(
    """
    BinaryCrossEntropy BinaryCrossEntropyWithLogits HuberLoss KlDiv L1Loss MseLoss SmoothL1Loss SoftMarginLoss
    """
)
"""Element by element, unless they reduce to one number, which then is one environment's or no one's."""

MIXING_ALONG = names(
    """
    Cumsum Cumprod Logcumsumexp LogSoftmax LogSoftmaxBackwardData SafeSoftmax SoftmaxBackwardData Glu FftC2C FftR2C
    FftC2R
    """
)
"""All dimensions but the saved ones are treated index by index; along those, elements meet."""

REDUCTIONS = names(
    """
    Amax Amin All Any LinalgVectorNorm Logsumexp Mean Median Max Min Nanmean Nansum Norm Prod Std StdMean Sum Var VarMean
    Cummax Cummin
    """
)
"""The saved dimensions are reduced; all others are treated index by index."""

KEEP_BUT_LAST = {
    **dict.fromkeys(names("""ReflectionPad1D ReplicationPad1D UpsampleLinear1D UpsampleNearest1D UpsampleNearestExact1D"""), 1),
    **dict.fromkeys(
        names(
            """
            AdaptiveAvgPool2D AdaptiveMaxPool2D AvgPool2D FractionalMaxPool2D LinalgCholeskyEx LinalgInvEx LinalgMatrixExp
            MaxPool2DWithIndices MaxUnpool2D MkldnnAdaptiveAvgPool2D MkldnnMaxPool2D ReflectionPad2D ReplicationPad2D
            UpsampleBicubic2D UpsampleBicubic2DAa UpsampleBilinear2D UpsampleBilinear2DAa UpsampleNearest2D
            UpsampleNearestExact2D
            """
        ),
        2,
    ),
    **dict.fromkeys(
        names(
            """
            AdaptiveAvgPool3D AdaptiveMaxPool3D AvgPool3D FractionalMaxPool3D MaxPool3DWithIndices PixelShuffle PixelUnshuffle
            ReflectionPad3D ReplicationPad3D UpsampleNearest3D UpsampleNearestExact3D UpsampleTrilinear3D
            """
        ),
        3,
    ),
}
"""How many of the last dimensions meet; those before are treated index by index."""

FIRST_ONLY = {
    "Convolution": 1, "MkldnnConvolution": 1, "CudnnConvolution": 1, "MiopenConvolution": 1, "SlowConv2D": 1, "Im2Col": 1,
    "Col2Im": 1, "GridSampler2D": 2, "GridSampler3D": 2, "AffineGridGenerator": 1, "NativeGroupNorm": 1, "MultiMarginLoss": 1,
    "MultilabelMarginLoss": 1, "LinalgDet": 1, "LinalgSlogdet": 1, "NllLoss": 1, "NllLossBackward": 1, "ConvolutionBackward": 2,
}  # fmt: skip
"""How many of the inputs have the batch first, as the output has; all else meets."""


def broadcast(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through an elementwise operation to an input that was broadcast, or to one that a loss had reduced."""
    if out == into:
        return own
    shift = len(into) - len(out)
    return project(batch, own, [(o, o + shift) for o in range(len(out)) if o + shift >= 0], out, into)


def masked(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through `broadcast`; of rows by rows nothing arrives where a mask, or a factor of 0, stops it."""
    if batch.precise and _by_rows(own, out):
        name = node.name().partition("Backward")[0]
        if name == "Mul":
            own = batch.without(own, out, saved(node, "other" if slot == 0 else "self"), False)
        else:
            mask = saved(node, "condition" if name == "Where" else "mask")
            own = batch.without(own, out, mask, (slot == 0) != (name == "Where"))
    return broadcast(batch, node, slot, own, out, into)


def softmax(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through `mixing`; of rows by rows nothing arrives where a result is 0, as where -inf was added."""
    found = mixing(batch, node, slot, own, out, into)
    known = batch.precise and not isinstance(found, Lost) and _by_rows(found, into)
    return batch.without(found, into, saved(node, "result"), False) if known else found  # pyright: ignore[reportArgumentType]


def _by_rows(own: Known, shape: Shape) -> bool:
    """Tell whether there may be a row of one example's for each of all examples, as in products of all pairs."""
    wide = (own.dim,) if isinstance(own, Rows) else [d for d in range(own.ndim) if own.shape[d] > 1]
    return any(shape.count(shape[d]) > 1 for d in wide)


def loss(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through a loss that is one element's, or a sum or mean over all of them."""
    return own if out == into else project(batch, own, (), out, into)


def mixing(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through an operation along saved dimensions."""
    along = dimensions(node, len(into))
    return project(batch, own, [(d, d) for d in range(len(into)) if d not in along], out, into)


def reduction(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
    """Pass ownership through a reduction, whether the reduced dimensions were kept or not."""
    gone = dimensions(node, len(into)) if hasattr(node, "_saved_dim") else frozenset(range(len(into)))
    stay = [d for d in range(len(into)) if d not in gone]
    pairs = [(d, d) for d in stay] if len(out) == len(into) else list(enumerate(stay))
    return project(batch, own, pairs, out, into)


def leading(count: int):  # noqa: ANN201  # a rule
    """Return the rule of operations that mix the last ``count`` dimensions."""

    def rule(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
        return project(batch, own, [(d, d) for d in range(min(len(out), len(into)) - count)], out, into)

    return rule


def first(count: int):  # noqa: ANN201  # a rule
    """Return the rule of operations on a batch of anything whose first ``count`` inputs have the batch first, too."""

    def rule(batch: Batch, node: Node, slot: int, own: Known, out: Shape, into: Shape) -> Own:
        if slot >= count:
            return read_here(own, out, range(1, len(out)))
        return project(batch, own, ((0, 0),) if out else (), out, into)

    return rule
