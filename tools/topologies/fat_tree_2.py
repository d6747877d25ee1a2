"""Two-layer fat trees, one a plane: card i of every node is in plane i mod PLANES. With as many planes as cards this
is a multi-plane network; with one, all cards of a node stand at one leaf switch. Cards of different planes have no
route."""

from . import elements, parts

OPTIONS = ("nvlink_bandwidth", "nvlink_latency", "leaf_size", "leaf_latency", "spine_latency", "oversubscription",
           "planes", "leaf_cables")


def plane(o, number):
    indices = range(number, o.nics_per_node, o.planes)
    leaves = {
        f"leaf_p{number}_{k}": parts.cards_of(o, nodes, indices)
        for k, nodes in enumerate(parts.leaf_groups(o.nodes, o.leaf_size))
    }
    lines = parts.two_layers(o, leaves, f"spine_p{number}", o.leaf_size * len(indices))
    return elements.zone(f"plane{number}", "Floyd", lines)


def build(o):
    lines = [parts.nvswitch(o)]
    for number in range(o.planes):
        lines += plane(o, number)
    return lines


def about(o):
    planes = "one plane" if o.planes == 1 else f"{o.planes} planes"
    return [
        parts.nvlink_words(o),
        f"{parts.cards_words(o)}, {planes} of two-layer fat tree, {parts.leaf_words(o)}; "
        f"{o.leaf_latency} between two cards of a leaf, {o.spine_latency} across leaves.",
    ]


def problems(o):
    if o.nics_per_node % o.planes:
        yield f"--planes {o.planes} does not divide --nics-per-node {o.nics_per_node}"
    yield from parts.latency_problems(o)
    yield from parts.card_problems(o)


def tiers(o):
    return {"nvlink": "nv*", o.network: "nic*, leaf*"}


def defaults(o):
    return {"leaf_cables": parts.cables(o.leaf_size * o.nics_per_node / o.planes, o.oversubscription)}


def cables(o):
    return {"leaf*": o.leaf_cables}


hosts = parts.nvlink_hosts
