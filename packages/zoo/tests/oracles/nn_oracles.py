"""Coordinates, graph blocks and attention as their papers write them: loops over everything, nothing of mechlearn."""

import math

import torch


def coordinates(height, width, radius):
    """The channels of CoordConv (section 3), pixel by pixel: x along the width, y along the height, radius."""
    channels = torch.zeros(3 if radius else 2, height, width, dtype=torch.float64)
    for i in range(height):
        for j in range(width):
            x = 2 * j / (width - 1) - 1 if width > 1 else 0.0
            y = 2 * i / (height - 1) - 1 if height > 1 else 0.0
            channels[0, i, j], channels[1, i, j] = x, y
            if radius:
                channels[2, i, j] = math.sqrt(x * x + y * y)
    return channels


def perceptron(x, first, last):
    """One hidden layer of ReLU units; layers are (weight, bias)."""
    hidden = [max(0.0, float(first[0][k] @ x + first[1][k])) for k in range(len(first[1]))]
    return last[0] @ torch.tensor(hidden, dtype=x.dtype) + last[1]


def graph_block(nodes, edges, top, senders, receivers, layers):
    """Battaglia et al., algorithm 1, for one graph; layers by "edges", "nodes", "globals": ((weight, bias), (weight, bias))."""
    new_edges = []
    for k in range(len(edges)):
        new_edges.append(perceptron(torch.cat([edges[k], nodes[receivers[k]], nodes[senders[k]], top]), *layers["edges"]))
    new_nodes = []
    for i in range(len(nodes)):
        heard = torch.zeros_like(new_edges[0])
        for k in range(len(edges)):
            if int(receivers[k]) == i:
                heard = heard + new_edges[k]
        new_nodes.append(perceptron(torch.cat([heard, nodes[i], top]), *layers["nodes"]))
    all_edges, all_nodes = sum(new_edges), sum(new_nodes)
    new_top = perceptron(torch.cat([all_edges, all_nodes, top]), *layers["globals"])
    return torch.stack(new_nodes), torch.stack(new_edges), new_top


def equation_layer(x: list[float], weight: list[list[float]], bias: list[float], units: tuple[int, int, int]) -> list[float]:
    """Martius and Lampert (2016), equations (2) and (3), one unit at a time: identities, sines, products of two."""
    z = [sum(w * number for w, number in zip(row, x, strict=True)) + shift for row, shift in zip(weight, bias, strict=True)]
    identities, sines, products = units
    found = [z[k] for k in range(identities)]
    found += [math.sin(z[identities + k]) for k in range(sines)]
    first, second = identities + sines, identities + sines + products
    return found + [z[first + k] * z[second + k] for k in range(products)]
