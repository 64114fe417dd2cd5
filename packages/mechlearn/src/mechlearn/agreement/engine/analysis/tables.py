"""From the name of an autograd node to the rule by which ownership passes through it."""

import re
from collections.abc import Callable, Mapping

from torch.autograd.graph import Node

from mechlearn.agreement.engine import hooks
from mechlearn.agreement.engine.analysis import elementwise, indexing, products, shapes, trials
from mechlearn.agreement.engine.analysis.owners import Batch, Known, Own, Shape

Rule = Callable[[Batch, Node, int, Known, Shape, Shape], Own]
"""From the batch, a node, one of its inputs, and the ownership and shape of its incoming gradient, to that input's ownership.

May raise `Conflict` where environments meet."""

JoiningRule = Callable[[Batch, Node, dict[int, Known], Shape], Own]
"""The same for a node with several outputs and one input that holds rows: ownerships by output."""

_BATCH_NORMS = ("NativeBatchNorm", "CudnnBatchNorm", "MiopenBatchNorm")

_RULES: dict[str, Rule] = {
    **dict.fromkeys(elementwise.UNARY | elementwise.BROADCASTING | elementwise.TWICE, elementwise.broadcast),
    **dict.fromkeys(elementwise.MASKED, elementwise.masked),
    **dict.fromkeys(elementwise.LOSSES, elementwise.loss),
    **dict.fromkeys(elementwise.MIXING_ALONG, elementwise.mixing),
    "Softmax": elementwise.softmax,
    **dict.fromkeys(elementwise.REDUCTIONS, elementwise.reduction),
    **{name: elementwise.leading(count) for name, count in elementwise.KEEP_BUT_LAST.items()},
    **{f"{name}Backward": elementwise.leading(count) for name, count in elementwise.KEEP_BUT_LAST.items()},
    **{name: elementwise.first(count) for name, count in elementwise.FIRST_ONLY.items()},
    **dict.fromkeys(("View", "UnsafeView", "ReshapeAlias", "Unsqueeze", "Squeeze", "Flatten"), shapes.view),
    **dict.fromkeys(("T", "Numpy_T"), shapes.matrix_transpose),
    "AsStrided": shapes.as_strided,
    "Transpose": shapes.transpose,
    "Permute": shapes.permute,
    "Select": shapes.select,
    "Slice": shapes.cut,
    "ConstantPadNd": shapes.pad,
    "Cat": shapes.cat,
    "Stack": shapes.stack,
    "Repeat": shapes.repeat,
    "Flip": shapes.flip,
    "Roll": shapes.roll,
    "Diagonal": shapes.diagonal,
    "Unfold": shapes.unfold,
    "ChannelShuffle": products.channel_shuffle,
    **dict.fromkeys(("ViewAsComplex", "ViewAsReal"), products.complex_view),
    "Index": indexing.index,
    "IndexPut": indexing.index_put,
    "IndexSelect": indexing.index_select,
    **dict.fromkeys(("Gather", "Sort", "Topk", "Kthvalue"), indexing.gather),
    **dict.fromkeys(("Scatter", "ScatterAdd", "ScatterReduce"), indexing.scatter),
    **dict.fromkeys(("IndexAdd", "IndexCopy", "IndexReduce"), indexing.index_add),
    "MaskedSelect": indexing.masked_select,
    "MaskedScatter": indexing.masked_scatter,
    "Take": indexing.take,
    "SegmentReduce": indexing.segment_reduce,
    "PackPaddedSequence": indexing.packed,
    "Mm": products.mm,
    "Addmm": products.addmm,
    "Bmm": products.bmm,
    "Baddbmm": products.baddbmm,
    "GroupedMm": products.grouped,
    "Mv": products.mv,
    "Addmv": products.addmv,
    **dict.fromkeys(("Dot", "Vdot"), products.dot),
    "Addr": products.addr,
    **dict.fromkeys(("Linear", "MkldnnLinear"), products.linear),
    "Cdist": products.cdist,
    "Trilinear": products.trilinear,
    **dict.fromkeys(
        (
            "ScaledDotProductFlashAttentionForCpu",
            "ScaledDotProductFlashAttention",
            "ScaledDotProductEfficientAttention",
            "ScaledDotProductCudnnAttention",
        ),
        products.attention,
    ),
    **dict.fromkeys(("NativeLayerNorm", "FusedRmsNorm"), products.layer_norm),
    **dict.fromkeys(_BATCH_NORMS, products.batch_norm),
    **dict.fromkeys(("Embedding", "EmbeddingBag"), products.look_up),
    "NllLoss2D": products.nll_2d,
    "CtcLoss": products.ctc,
}

_IN_PLACE: dict[str, Rule] = {"torch::autograd::CopyBackwards": elementwise.broadcast, trials.CHANGED_VIEW: trials.tried}

_JOINING: dict[str, JoiningRule] = {
    **dict.fromkeys(("Split", "UnsafeSplit", "SplitWithSizes", "UnsafeSplitWithSizes"), shapes.split),
    "Unbind": shapes.unbind,
    "MkldnnRnnLayer": products.recurrent,
}

_NAME = re.compile(r"(\w+)Backward(\d+)")


COMPILED = "CompiledFunctionBackward"
"""The name of the nodes of what torch.compile has compiled."""


class Kind:
    """What is known of the nodes of one name.

    Attributes:
        alike: True where several outputs of one shape are made index by index alike, as a mean and a variance.
        batch_norm: True for BatchNorm, and InstanceNorm which calls it.
        name: the node's.
        rule: how ownership passes to each input, or None.
        looks_up: True where rows of a table are read by indices.
        joining: the same for several outputs.
        hooked: True for what torch puts around a module with a backward hook, if it is torch's.
        wrapper: True for what torch puts into a model that it distributes, if it is torch's.
        same: True where ownership passes to a single input of the same shape as it is.
        chain: True for torch's own operations, through which a parameter may pass before it is read: their backward is a
            linear map, which each environment's gradient can be taken through by itself.
    """

    __slots__ = ("alike", "batch_norm", "chain", "hooked", "joining", "looks_up", "name", "rule", "same", "wrapper")

    def __init__(self, name: str) -> None:
        self.name = name
        # A custom autograd.Function's node has no number, whatever the function is called.
        match = _NAME.fullmatch(name)
        base, number = (match[1], match[2]) if match else ("", "")
        self.rule = _IN_PLACE.get(name) or _RULES.get(base)
        self.joining = _JOINING.get(base)
        self.hooked = name == hooks.NAME
        self.wrapper = name in hooks.WRAPPERS
        self.alike = base in ("VarMean", "StdMean")
        self.batch_norm = base in _BATCH_NORMS
        self.looks_up = base in ("Embedding", "EmbeddingBag", "Gather", "Index", "IndexSelect")
        self.same = base in elementwise.UNARY or f"{base}{number}" in ("Add1", "Sub1", "Mul1", "Div1", "Rsub1", "Pow0", "Pow2")
        self.chain = match is not None or name in _IN_PLACE


_KINDS: dict[str, Kind] = {}


def kind_of(name: str) -> Kind:
    """Return what is known of nodes of a name."""
    kind = _KINDS.get(name)
    if kind is None:
        kind = _KINDS[name] = Kind(name)
    return kind


def known() -> Mapping[str, str]:
    """Return the names in the tables, without "Backward" and number, and what the rule of each says."""
    return {name: (rule.__doc__ or "").partition("\n")[0] for name, rule in {**_RULES, **_JOINING}.items()}
