"""Examples of different environments that meet, as in BatchNorm: what is refused unless ``statistics`` asks for it."""


def check_batch_norm(name: str, statistics: str | None, environments: int) -> None:
    """Refuse BatchNorm in train mode unless the choice of statistics fits the call."""
    if statistics is None:
        raise ValueError(
            "BatchNorm in train mode normalises with the statistics of the whole batch, which couples the environments. "
            f"Found {name!r} in train mode. Pass statistics='pooled' to differentiate through them (exact, one backward pass "
            "for each environment) or 'per-environment' (one accumulate call for each), put the layer in eval mode, or use "
            "GroupNorm."
        )
    if statistics == "per-environment" and environments > 1:
        raise ValueError(
            "With statistics='per-environment' each call should hold one environment, so that BatchNorm's statistics are its "
            f"own. Found {environments} environments in one batch. Run the model and `accumulate` for one environment at a "
            "time, and `backward` for the last."
        )


def check_uncoupled(layer: str | None, statistics: str | None) -> None:
    """Refuse losses that couple the examples of different environments unless that was asked for."""
    if layer is not None and statistics != "pooled":
        raise ValueError(
            "Each example's loss should depend on examples of its own environment only. Found losses in which examples of "
            f"different environments meet, after layer {layer!r}. Compute the loss for each example by itself, or pass "
            "statistics='pooled' to differentiate through the coupling (exact, one backward pass for each environment)."
        )
