"""Doors of `mechlearn_zoo.methods.vision`."""

import torch
from torch import nn

from mechlearn_zoo.methods.vision import decoding, generating, matching, reconstructing
from wrong_kinds import Door, g


def of_captions() -> list[Door]:
    """Captions and pictures, matched and made."""
    captions = {
        "words": torch.randn(2, 4, 3, generator=g()),
        "mask": torch.ones(2, 3, dtype=torch.bool),
        "sentences": torch.randn(2, 4, generator=g()),
    }
    pictures = {"regions": torch.randn(2, 4, 5, generator=g()), "whole": torch.randn(2, 4, generator=g())}
    both, ids = captions | pictures, torch.tensor([0, 1])
    painter = generating.TwoStages(2, 4, 3, g())
    judge = generating.StageDiscriminator(8, 4, 3, g())
    logits = {name: torch.zeros(2) for name in ("real", "real_captioned", "made", "made_captioned", "wrong")}

    def joined(words, mask, sentences, regions, whole):
        return matching.Captions(words, mask, sentences), matching.Pictures(regions, whole)

    def attend(gamma1, **parts):
        return matching.attend(*joined(**parts), gamma1)

    def losses(classes, gammas, **parts):
        return matching.matching_losses(*joined(**parts), classes, gammas)

    def stage(real, real_captioned, made, made_captioned, wrong):
        return generating.stage_discriminator_loss(
            generating.Judged(real, real_captioned), generating.Judged(made, made_captioned), wrong
        )

    own = {"hidden": captions["words"], "words": captions["words"], "mask": captions["mask"]}
    seen = {"pictures": torch.zeros(2, 3, 8, 8), "sentences": captions["sentences"]}
    anywhere = ("too large", "negative")
    unread, wide = ("with NaN",), ("a column more",)
    return [
        Door("matching.attend", attend, both | {"gamma1": 5.0}, {"sentences": unread, "whole": unread, "regions": wide}),
        Door(
            "matching_losses",
            losses,
            both | {"classes": ids, "gammas": (5.0, 5.0, 10.0)},
            {"classes": ("None", *anywhere), "regions": wide},
        ),
        Door("word_context", generating.word_context, own, {"hidden": (*wide, *unread), "words": unread}),
        Door(
            "augmentation_divergence",
            lambda mean, log_var: generating.augmentation_divergence(generating.Augmented(mean, mean, log_var)),
            {"mean": torch.zeros(2, 4), "log_var": torch.zeros(2, 4)},
        ),
        Door("stage_discriminator_loss", stage, logits, {"wrong": ("None", "a column more", "doubles")}),
        Door(
            "stage_generator_loss",
            lambda a, b: generating.stage_generator_loss(generating.Judged(a, b)),
            {"a": torch.zeros(2), "b": torch.zeros(2)},
        ),
        Door(
            "TwoStages",
            generating.TwoStages,
            {"noise": 2, "sentence": 4, "channels": 3, "generator": g(), "condition": 4, "attention": True},
        ),
        Door("TwoStages()", painter, {name: captions[name] for name in ("sentences", "words", "mask")} | {"generator": g()}),
        Door("StageDiscriminator", generating.StageDiscriminator, {"size": 8, "sentence": 4, "channels": 3, "generator": g()}),
        Door("StageDiscriminator()", judge, seen, {"pictures": unread, "sentences": unread}),
    ]


def of_decoding() -> list[Door]:
    """Recordings to features, features to pictures."""
    recordings, features = torch.randn(6, 3, generator=g()), torch.randn(6, 2, generator=g())
    decoder = decoding.FeatureDecoder(1.0)
    decoded = decoder.fit(recordings, features)
    start, network = torch.rand(2, 1, 4, 4, generator=g()), nn.Sequential(nn.Linear(3, 16), nn.Unflatten(1, (1, 4, 4)))
    images = torch.rand(2, 1, 4, 4, generator=g())
    layer = nn.Conv2d(1, 2, 3)

    def extractor(pictures):
        return {"layer": layer(pictures)}

    def reconstruct(target, weights, extractor):
        return reconstructing.reconstruct(extractor, {"layer": target}, reconstructing.Pixels(start, 2), weights)

    def loss(found, target, weights):
        return reconstructing.feature_loss({"layer": found}, {"layer": target}, weights)

    moving = {
        "network": network, "start": torch.zeros(2, 3), "highest": torch.ones(3), "steps": 2, "rate": 2.0, "momentum": 0.9,
        "decay": 0.01,
    }  # fmt: skip
    wide, any_shape = ("a column more", "doubles"), ("an axis more", "an axis less", "a column more", "doubles")
    target = torch.zeros(2, 2, 2, 2)
    return [
        Door("FeatureDecoder", decoding.FeatureDecoder, {"alpha": 1.0, "voxels": 2}, {"voxels": ("None",)}),
        Door(
            "FeatureDecoder.fit",
            decoder.fit,
            {"recordings": recordings, "features": features},
            {"recordings": ("a column more",), "features": ("a column more",)},
        ),
        Door("Decoded.predict", decoded.predict, {"recordings": recordings}),
        Door(
            "lagged",
            decoding.lagged,
            {"recordings": recordings, "lags": [0, 1]},
            {"recordings": (*wide, "with NaN"), "lags": ("a list",)},
        ),
        Door("match_spread", decoding.match_spread, {"decoded": features, "spread": 1.0}, {"decoded": wide}),
        Door(
            "correlations",
            decoding.correlations,
            {"found": features, "truths": features},
            {"found": ("doubles",), "truths": ("doubles",)},
        ),
        Door(
            "pairwise_identification",
            decoding.pairwise_identification,
            {"found": features, "truths": features},
            {"found": ("doubles",), "truths": ("doubles",)},
        ),
        Door("Pixels", reconstructing.Pixels, {"start": start, "steps": 2, "rate": 0.1}, {"start": wide}),
        Door("Prior", reconstructing.Prior, moving),
        Door(
            "feature_loss",
            loss,
            {"found": target, "target": target, "weights": "equal"},
            {"found": ("doubles",), "target": ("doubles",)},
        ),
        Door("feature_loss everywhere", lambda both: loss(both, both, "equal"), {"both": target}, {"both": any_shape}),
        Door(
            "reconstruct",
            reconstruct,
            {"target": images.new_zeros(2, 2, 2, 2), "weights": "equal", "extractor": extractor},
            {"target": ("doubles",)},
        ),
    ]
