"""Doors of `mechlearn_zoo.methods.worlds` on several agents, and of the particles' world."""

import torch

from mechlearn_zoo.experiments.worlds.particle_language import particle_world
from mechlearn_zoo.methods.worlds import forward_models, influence, symbols
from mechlearn_zoo.nn.graphs import Graph, Widths
from wrong_kinds import Door, g


def of_influence() -> list[Door]:
    """Forward models, influence, models of others."""
    widths = Widths(3, 2, 1)
    model = forward_models.RelationalForwardModel(widths, 5, 4, g())
    graph = {"nodes": torch.ones(2, 4, 3, 2), "edges": torch.ones(2, 4, 2, 3), "top": torch.ones(2, 4, 1)}
    graph |= {"senders": torch.tensor([1, 2]), "receivers": torch.tensor([0, 0])}
    actions = torch.zeros(2, 4, 1, dtype=torch.long)
    logits = torch.zeros(2, 4, 1, 5)
    logs = {"counterfactual": torch.zeros(2, 3, 4).log_softmax(-1), "policy": torch.zeros(2, 3).log_softmax(-1)}
    taken, doubles = torch.tensor([0, 2]), ("doubles",)
    others = influence.ModelOfOthers(3, 2, 4, 8, g())
    seen = {"features": torch.zeros(2, 5, 3), "actions": torch.zeros(2, 5, 2, dtype=torch.long)}
    return [
        Door(
            "RelationalForwardModel",
            forward_models.RelationalForwardModel,
            {"inputs": widths, "actions": 5, "hidden": 4, "generator": g(), "recurrent": True},
        ),
        Door("RelationalForwardModel()", lambda agents, **parts: model(Graph(*parts.values()), agents), graph | {"agents": 1}),
        Door(
            "relative_places",
            forward_models.relative_places,
            {"places": torch.ones(2, 3, 2), "senders": taken, "receivers": taken},
            {"places": ("an axis more", "an axis less", "doubles", "with NaN")},
        ),
        Door(
            "next_action_losses",
            forward_models.next_action_losses,
            {"logits": logits, "actions": actions},
            {"logits": ("a column more", "doubles")},
        ),
        Door(
            "perfect_steps",
            forward_models.perfect_steps,
            {"logits": logits, "actions": actions},
            {"logits": ("a column more", "doubles")},
        ),
        Door(
            "causal_influence",
            influence.causal_influence,
            logs | {"taken": taken, "divergence": "kl"},
            dict.fromkeys(logs, doubles),
        ),
        Door("mutual_information", influence.mutual_information, logs, dict.fromkeys(logs, doubles)),
        Door(
            "influence_rewards",
            influence.influence_rewards,
            {"influence": torch.zeros(3, 2), "seen": torch.ones(3, 2, dtype=torch.bool), "clip": 10.0},
            {"seen": ("None",), "influence": doubles},
        ),
        Door(
            "influence_rewards everywhere",
            influence.influence_rewards,
            {"influence": torch.zeros(3, 2)},
            {"influence": ("an axis more", "a column more", *doubles)},
        ),
        Door(
            "ModelOfOthers", influence.ModelOfOthers, {"features": 3, "agents": 2, "actions": 4, "hidden": 8, "generator": g()}
        ),
        Door("ModelOfOthers()", others, seen),
        Door("ModelOfOthers.counterfactuals", others.counterfactuals, seen),
        Door(
            "others_losses",
            influence.others_losses,
            {"predicted": torch.zeros(2, 5, 1, 4), "actions": seen["actions"]},
            {"predicted": ("a column more", *doubles)},
        ),
    ]


def of_symbols() -> list[Door]:
    """Symbols and what they mean."""
    ids, many = torch.tensor([0, 1, 1, 2]), torch.tensor([[0, 1], [1, 1], [2, 0], [2, 1]])
    anywhere = ("too large", "negative")
    longer = ("a column more", *anywhere)
    return [
        Door(
            "vocabulary_reward",
            symbols.vocabulary_reward,
            {"utterances": torch.eye(3), "counts": torch.zeros(3), "alpha": 1.0},
            {"utterances": ("an axis more", "an axis less", "doubles"), "counts": ("doubles", "whole numbers")},
        ),
        Door(
            "grounding",
            symbols.grounding,
            {"symbols": ids, "meanings": ids, "generator": g(), "permutations": 2},
            {"symbols": anywhere, "meanings": anywhere},
        ),
        Door(
            "topographic_similarity",
            symbols.topographic_similarity,
            {"messages": many, "meanings": many, "distance": "hamming"},
            {"messages": longer, "meanings": longer},
        ),
    ]


def of_particles() -> list[Door]:
    """Particles that walk."""
    world = particle_world.begin(2, 3, 4, g())
    return [
        Door("begin", particle_world.begin, {"worlds": 2, "agents": 3, "landmarks": 4, "generator": g()}),
        Door(
            "step",
            lambda **given: particle_world.step(world, **given),
            {"forces": torch.zeros(2, 3, 2), "time": 0.1, "damping": 0.5},
        ),
        Door("distances", lambda goals: particle_world.distances(world, goals), {"goals": torch.zeros(2, 3, dtype=torch.long)}),
    ]
